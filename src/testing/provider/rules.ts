// The order of a request: everything that is judged looking at several messages.

import { type Message, refuse } from "./read.ts";

/** Pairing of calls and results, place of system messages, role of the last message. */
export function checkOrder(messages: readonly Message[], prefill: boolean): void {
  const known = new Set<string>();
  // Calls of the assistant message right before: id -> answered.
  let open = new Map<string, boolean>();
  let front = true;
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    if (message.role === "tool") {
      settle(message.resultFor ?? "", open, known, at);
      continue;
    }
    checkAllSettled(open, at);
    open = new Map();
    if (message.role === "system" && !front) {
      refuse("system_not_first", at, "System messages must come before all others.");
    }
    front = message.role === "system";
    for (const id of message.callIds) {
      if (known.has(id)) refuse("duplicate_tool_call_id", at, `Duplicate tool_call id '${id}'.`);
      known.add(id);
      open.set(id, false);
    }
  }
  checkAllSettled(open, "messages");
  if (!prefill && messages.at(-1)?.role === "assistant") {
    refuse(
      "last_assistant",
      "messages",
      "This model does not support prefill: the last message must not be assistant.",
    );
  }
}

function settle(id: string, open: Map<string, boolean>, known: ReadonlySet<string>, at: string): void {
  const answered = open.get(id);
  if (answered === true) refuse("duplicate_tool_result", at, `Tool call '${id}' has two results.`);
  if (answered === undefined && known.has(id)) {
    refuse("misplaced_tool_result", at, `The result of '${id}' must directly follow the message with that call.`);
  }
  if (answered === undefined) refuse("orphan_tool_result", at, `No tool call '${id}' precedes this result.`);
  open.set(id, true);
}

function checkAllSettled(open: ReadonlyMap<string, boolean>, at: string): void {
  const missing = [...open].filter(([, answered]) => !answered).map(([id]) => id);
  if (missing.length > 0) {
    refuse("missing_tool_result", at, `These tool_call_ids did not have response messages: ${missing.join(", ")}`);
  }
}
