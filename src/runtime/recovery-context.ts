/** What onChatRecovery is told of an interruption. */

import { storedParts } from "../core/assembly.ts";
import { incidentId } from "../core/ids.ts";
import type { Turn } from "../core/state.ts";
import { uiMessage } from "../core/transcript.ts";
import type { RecoveryContext } from "../ports/behaviour.ts";
import type { Store } from "../ports/store.ts";
import type { Agent } from "./agent.ts";
import { Work } from "./work.ts";

export async function recoveryContext(agent: Agent, turn: Turn, store: Store): Promise<RecoveryContext | null> {
  const { log, rows } = agent.memory;
  const row = rows.get(turn.id);
  const incident = turn.incident;
  if (!log || !row || incident.kind === "none") return null;
  const tail = storedParts(log.assembly, turn.cuts.length, turn.origins);
  const partialParts = [...log.closed, ...tail].map(({ part }) => part).filter((part) => part.type !== "step-start");
  const partialText = partialParts.map((part) => (part.type === "text" ? String(part["text"]) : "")).join("");
  const history = await new Work(turn.id).history(agent, store);
  return {
    turn: row,
    incidentId: incidentId(turn.id, turn.inputs.at(-1) ?? ""),
    attempt: Math.max(1, incident.ledger.attempt),
    maxAttempts: incident.ledger.policy.maxAttempts,
    recoveryKind: partialParts.length === 0 ? "retry" : "continue",
    // A stream that showed nothing is none: what decides is what a reader has seen (R3).
    streamId: log.assembly.opened || log.closed.length > 0 ? `${turn.id}/${turn.attempt - 1}` : "",
    partialText,
    // Copies: users' code may do with them what it likes.
    partialParts: structuredClone(partialParts),
    recoveryData: structuredClone(turn.stash),
    messages: history.map(uiMessage),
    lastBody: row.body,
    createdAt: turn.startedAt,
  };
}
