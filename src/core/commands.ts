/**
 * Commands. Consuming never waits (C2): the effect of a submit is a turn that runs or is queued, of a stop a stop or
 * nothing, of a clear a wiped conversation. The tombstone lands in the commit of the effect (C3).
 */
import { unreachable } from "./assert.ts";
import type { Draft } from "./draft.ts";
import type { AgentEvent, CommandEvent } from "./events.ts";
import { messageIdOf } from "./ids.ts";
import type { EndReason } from "./records.ts";
import type { Queued } from "./state.ts";
import { endTurn, next } from "./turn.ts";

type Of<T extends CommandEvent["type"]> = Extract<AgentEvent, { type: T }>;

export function onCommand(draft: Draft, event: Extract<AgentEvent, CommandEvent>): void {
  draft.writes.push({ op: "done", tombstone: event.done });
  switch (event.type) {
    case "submit":
      return accept(draft, event, event.inputs);
    case "continue":
      return accept(draft, event, []);
    case "append":
      draft.state = { ...draft.state, queue: [...draft.state.queue, { kind: "append", messages: event.messages }] };
      return next(draft);
    case "stop":
      return onStop(draft, event);
    case "clear":
      return onClear(draft);
    default:
      return unreachable(event);
  }
}

function accept(draft: Draft, event: Of<"submit"> | Of<"continue">, inputs: readonly string[]): void {
  const createdAt = draft.at.now;
  const body = event.body === undefined ? {} : { body: event.body };
  const messageId = messageIdOf(event.turn);
  const row = { id: event.turn, status: "queued", kind: event.type, messageId, inputs, createdAt, ...body } as const;
  draft.writes.push({ op: "turn", id: event.turn, change: row });
  const queued: Queued = { kind: event.type, turn: event.turn, inputs, createdAt };
  draft.state = { ...draft.state, queue: [...draft.state.queue, queued] };
  next(draft);
}

function onStop(draft: Draft, event: Of<"stop">): void {
  const { turn, queue } = draft.state;
  if (turn && (event.turn === null || event.turn === turn.id)) return endTurn(draft, "stopped", { reason: "stopped" });
  const queued = queue.find((item) => item.kind !== "append" && item.turn === event.turn);
  if (queued) dequeue(draft, queued, "stopped");
}

/** A turn that never ran still ends, in its own log, where a reader may be waiting. */
function dequeue(draft: Draft, queued: Queued, reason: EndReason): void {
  draft.state = { ...draft.state, queue: draft.state.queue.filter((item) => item !== queued) };
  if (queued.kind === "append") {
    for (const { id } of queued.messages) draft.writes.push({ op: "drop", id });
    return;
  }
  const { turn } = queued;
  for (const id of queued.inputs) draft.writes.push({ op: "drop", id });
  draft.writes.push({ op: "chunk", turn, chunk: { type: "start", messageId: messageIdOf(turn) } });
  draft.writes.push({ op: "chunk", turn, chunk: { type: "abort", reason } });
  const change = { status: "settled", outcome: "stopped", reason, endedAt: draft.at.now } as const;
  draft.writes.push({ op: "turn", id: turn, change });
  draft.writes.push({ op: "notice", id: `${turn}/response`, notice: { kind: "response", turn } });
}

function onClear(draft: Draft): void {
  draft.writes.push({ op: "clear" });
  for (const queued of draft.state.queue) dequeue(draft, queued, "cleared");
  if (draft.state.turn) endTurn(draft, "stopped", { reason: "cleared" });
  draft.state = { ...draft.state, leaf: null };
}
