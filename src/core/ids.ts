/**
 * Derivations of ids. They are persisted contracts (E1): a change here breaks exactly-once across a deploy,
 * so each has a frozen fixture in test/cutover.
 */
import { limits } from "./limits.ts";

/** `<class>/<id>`. The class is kebab-case and holds no slash; the id may hold anything that `idFault` lets pass. */
export type AgentKey = string;

export function agentKey(agent: string, id: string): AgentKey {
  return `${agent}/${id}`;
}

export function splitKey(key: AgentKey): { readonly agent: string; readonly id: string } {
  const slash = key.indexOf("/");
  return { agent: key.slice(0, slash), id: key.slice(slash + 1) };
}

/** The assistant message that a turn writes. Minted with the turn, so that a reader has its id from the first chunk. */
export function messageIdOf(turn: string): string {
  return `msg_${turn.replace(/^turn_/, "")}`;
}

/** One run of a turn in one process. */
export function attemptId(turn: string, attempt: number): string {
  return `${turn}/${attempt}`;
}

/** The key that a tool hands to the world outside: the same for every run of one call. */
export function idempotencyKey(turn: string, ordinal: number): string {
  return `${turn}-${ordinal}`;
}

/** The id under which an incident is known to hooks and events. */
export function incidentId(turn: string, latestUserMessage: string): string {
  return `${turn}:${latestUserMessage}`;
}

/**
 * Ids that come from outside: any printable text may be one. Refused is what cannot be a path segment (`.` and `..` are
 * normalised away by every URL parser), what cannot be percent-encoded (lone surrogates), what cannot be seen.
 * Returns what is wrong, as the end of a sentence; null when nothing is.
 */
export function idFault(id: unknown): string | null {
  if (typeof id !== "string") return "is not a string";
  if (id === "") return "is empty";
  if (id.length > limits.idCharsMax) return `is longer than ${limits.idCharsMax} characters`;
  if (id === "." || id === "..") return "is a path segment with a meaning of its own";
  if (/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(id)) return "holds a control character or half a surrogate pair";
  return null;
}
