/** The order of turns and what each request was given of the conversation, from the provider's log. */
import { isObject } from "../../../src/core/json.ts";
import { messageOf, textOf } from "./message.ts";
import type { Acknowledged, Evidence } from "./run.ts";

interface Sent {
  readonly role: string;
  readonly content: string;
}

export function historyFaults(evidence: Evidence): string[] {
  const turns = [...evidence.acknowledged].sort((a, b) => a.message.id.localeCompare(b.message.id));
  const faults: string[] = [];
  let latest = 0;
  for (const record of evidence.requests) {
    const index = turns.findIndex(({ text }) => text === record.userText);
    if (index < 0) continue;
    if (index < latest)
      faults.push(`request ${record.index} of ${turns[index]?.message.id} came after one of a later turn`);
    latest = Math.max(latest, index);
    const fault = requestFault(evidence, turns.slice(0, index + 1), sentIn(record.body));
    if (fault) faults.push(`request ${record.index}: ${fault}`);
  }
  const users = (evidence.look?.messages ?? []).map(({ id }) => id);
  const due = turns.flatMap((one) => [one.message.id, messageOf(evidence, one)?.id ?? "no message"]);
  return users.join() === due.join()
    ? faults
    : [...faults, `the conversation is ${users.join()}, due is ${due.join()}`];
}

/** The turns before are there whole and in order, each under its user message. */
function requestFault(evidence: Evidence, turns: readonly Acknowledged[], sent: readonly Sent[]): string | null {
  const places = turns.map(({ text }) =>
    sent.flatMap((one, at) => (one.role === "user" && one.content === text ? [at] : [])),
  );
  for (const [index, found] of places.entries()) {
    if (found.length !== 1) return `${turns[index]?.message.id} is in it ${found.length} times`;
  }
  const at = places.map(([first]) => first as number);
  for (const [index, one] of turns.slice(0, -1).entries()) {
    const from = at[index] as number;
    const to = at[index + 1] as number;
    if (from >= to) return `${one.message.id} stands behind the message after it`;
    const between = sent.slice(from + 1, to);
    if (between.some(({ role }) => role === "user")) return `a user message stands in the answer to ${one.message.id}`;
    const said = between.map(({ role, content }) => (role === "assistant" ? content : "")).join("");
    const stored = textOf(messageOf(evidence, one)?.parts ?? []);
    if (said !== stored)
      return `the answer to ${one.message.id} is ${JSON.stringify(said)}, stored is ${JSON.stringify(stored)}`;
  }
  return null;
}

function sentIn(body: unknown): Sent[] {
  const messages = isObject(body) && Array.isArray(body["messages"]) ? body["messages"] : [];
  return messages.map((message: unknown) => {
    const { role, content } = message as { role: unknown; content: unknown };
    return { role: String(role), content: contentOf(content) };
  });
}

function contentOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: unknown) => (isObject(part) ? String(part["text"] ?? "") : "")).join("");
}
