/**
 * The UI message stream as server-sent events. Each logged chunk has a line `id: <turnId>:<offset>`; what is not in the
 * log (snapshots, transient chunks) has none, so that a client's `Last-Event-ID` is always a place in the log.
 *
 * Total functions. Chunks stay the JSON texts that the store gave: JSON text holds no raw line break, so one `data:`
 * line is always enough.
 */

import { idFault } from "../core/ids.ts";
import type { Chunk } from "../core/transcript.ts";

/** Sent after the last chunk. The SDK's client does not need it; others end their parse on it. */
export const doneEvent = "data: [DONE]\n\n";

/** Keeps proxies from closing a silent stream. Every SSE parser ignores it. */
export const commentEvent = ": keep-alive\n\n";

/** A place in a turn's log. */
export interface EventId {
  readonly turn: string;
  readonly offset: number;
}

/** Consecutive logged chunks as one text: one write for a whole slice is what makes streaming cheap. */
export function encodeSlice(turn: string, first: number, texts: readonly string[]): string {
  let events = "";
  let offset = first;
  for (const text of texts) {
    events += `id: ${turn}:${offset}\ndata: ${text}\n\n`;
    offset += 1;
  }
  return events;
}

/** Chunks that are not in the log: no offsets. */
export function encodeUnlogged(chunks: readonly Chunk[]): string {
  return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
}

/** `<turnId>:<offset>`. The turn id may hold colons itself: the last one counts. Null: not an event id. */
export function parseEventId(text: string): EventId | null {
  const colon = text.lastIndexOf(":");
  if (colon < 0) return null;
  const turn = text.slice(0, colon);
  const offset = parseOffset(text.slice(colon + 1));
  return offset === null || idFault(turn) !== null ? null : { turn, offset };
}

/** A whole number from 0 in its one spelling; null for anything else. */
export function parseOffset(text: string): number | null {
  return /^(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : null;
}

/** Whether a chunk's JSON text ends a log (T: the last chunk is one of these three, and nothing follows it). */
export function endsLog(text: string): boolean {
  try {
    const chunk: unknown = JSON.parse(text);
    const type = typeof chunk === "object" && chunk !== null && "type" in chunk ? chunk.type : undefined;
    return type === "finish" || type === "abort" || type === "error";
  } catch {
    return false;
  }
}
