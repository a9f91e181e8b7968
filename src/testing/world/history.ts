/** What a request holds of the conversation: everything settled before its user message, in order, and nothing else. */
import { textOf, type UiMessage } from "../../core/transcript.ts";
import type { Complaint } from "./grammar.ts";
import type { AgentMirror } from "./mirror.ts";

export function checkHistory(
  agent: AgentMirror,
  turn: string,
  messages: readonly UiMessage[],
  complain: Complaint,
): void {
  const sent = messages.filter((message) => message.id !== "perdure-request").map((message) => message.id);
  const current = agent.turns.get(turn);
  if (!current) return;
  const wanted = agent.placed.filter((id) => id !== current.row.messageId && isSpoken(agent, id));
  const before = sent.filter((id) => id !== current.row.messageId);
  if (before.join() !== wanted.join()) {
    complain("T12", `the request of ${turn} holds ${before.join(" ")}; the conversation is ${wanted.join(" ")}`);
  }
  if (current.row.kind === "submit" && current.row.inputs.at(-1) !== before.at(-1))
    complain("T12", `the request of ${turn} does not end in its own message`);
  for (const message of messages) if (message.id !== current.row.messageId) checkTexts(agent, message, complain);
}

/** Messages of white space, of broken reasoning, or of nothing, are not sent. */
function isSpoken(agent: AgentMirror, id: string): boolean {
  return (agent.messages.get(id)?.parts ?? []).some(({ part }) => {
    if (part.type === "text") return String(part["text"]).trim() !== "";
    return part.type.startsWith("tool-");
  });
}

function checkTexts(agent: AgentMirror, message: UiMessage, complain: Complaint): void {
  const known = agent.messages.get(message.id);
  if (!known || known.depth === null) return;
  const texts = known.parts
    .map(({ part }) => part)
    .filter((part) => part.type === "text" && String(part["text"]).trim() !== "");
  const stored = texts.map((part) => String(part["text"])).join("");
  if (textOf(message) !== stored)
    complain("T12", `message ${message.id} is sent as ${JSON.stringify(textOf(message))}`);
}
