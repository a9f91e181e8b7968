/**
 * A batch of commits. Each group of about a megabyte is one transaction without savepoints (SQLite ends the whole
 * transaction on a full disk, savepoint or not).
 *
 *   B1. Nothing is answered as landed before its COMMIT has succeeded.
 *   B2. An item that can never land ends its transaction and is left out of the next try: only the guilty is refused.
 *   B3. What says "not now" (full disk, busy file, I/O) ends the batch: all that has not landed is unavailable, so that
 *       a later commit of an agent is never judged without the one before it.
 */
import { setImmediate as pause } from "node:timers/promises";
import type { AgentCommit, CommitResult } from "../../ports/store.ts";
import { applyItem } from "./apply.ts";
import { type EncodedCommit, encodeCommit } from "./encode.ts";
import { verdictOf } from "./errors.ts";
import type { Session } from "./session.ts";

const groupBytes = 1024 * 1024;

interface Entry {
  readonly encoded: EncodedCommit;
  result: CommitResult | null;
}

/** One answer for each item, in their order. Lets the event loop run between groups. */
export async function commitBatch(session: Session, batch: readonly AgentCommit[]): Promise<CommitResult[]> {
  const results: (CommitResult | null)[] = batch.map(() => null);
  const queue = batch.map((_, index) => index);
  while (queue.length > 0) {
    const group = takeGroup(batch, queue, results);
    const end = group.size === 0 ? null : commitGroup(session, [...group.values()]);
    for (const [index, entry] of group) results[index] = entry.result;
    if (end !== null) return results.map((result) => result ?? end);
    if (queue.length > 0) await pause();
  }
  return results.map((result) => result ?? { kind: "unavailable", code: "NO_ANSWER" });
}

/** Encodes items until there is a megabyte. Those that cannot be encoded are refused on the spot. */
function takeGroup(
  batch: readonly AgentCommit[],
  queue: number[],
  results: (CommitResult | null)[],
): Map<number, Entry> {
  const group = new Map<number, Entry>();
  let bytes = 0;
  while (queue.length > 0 && bytes < groupBytes) {
    const index = queue.shift() as number;
    try {
      const encoded = encodeCommit(batch[index] as AgentCommit);
      bytes += encoded.bytes;
      group.set(index, { encoded, result: null });
    } catch (error) {
      results[index] = { kind: "refused", code: verdictOf(error).code };
    }
  }
  return group;
}

/** Sets the result of every entry that has one. Not null: the answer for all others of the batch. */
function commitGroup(session: Session, group: readonly Entry[]): CommitResult | null {
  for (;;) {
    const left = group.filter((entry) => entry.result === null);
    const tried = tryGroup(session, left);
    if (tried.kind === "committed") {
      left.forEach((entry, i) => {
        entry.result = tried.results[i] ?? null;
      });
      return null;
    }
    if (tried.kind === "ended") return tried.result;
    tried.guilty.result = { kind: "refused", code: tried.code };
  }
}

type Tried =
  | { readonly kind: "committed"; readonly results: readonly CommitResult[] }
  | { readonly kind: "guilty"; readonly guilty: Entry; readonly code: string }
  | { readonly kind: "ended"; readonly result: CommitResult };

function tryGroup(session: Session, group: readonly Entry[]): Tried {
  let current: Entry | null = null;
  try {
    const results = session.write(() => {
      const answers = group.map((entry) => {
        current = entry;
        return applyItem(session.sql, entry.encoded);
      });
      // From here on an error is of the COMMIT, and nobody's fault.
      current = null;
      return answers;
    });
    return { kind: "committed", results };
  } catch (error) {
    const { kind, code } = verdictOf(error);
    if (session.closed) return { kind: "ended", result: { kind: "unavailable", code: "CLOSED" } };
    if (kind === "lost" || session.lost !== null) return { kind: "ended", result: { kind: "fenced" } };
    if (kind === "unavailable" || current === null) return { kind: "ended", result: { kind: "unavailable", code } };
    return { kind: "guilty", guilty: current, code };
  }
}
