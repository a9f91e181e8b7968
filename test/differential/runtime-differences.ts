/** Where the log of a turn may differ from the SDK's chunks (F3). Each difference is made equal on both sides, and nothing else is. */
import type { Chunk } from "../../src/core/transcript.ts";
import { allowed, type Side } from "./differences.ts";

interface Allowed {
  readonly why: string;
  equal(chunks: readonly Chunk[], side: Side): Chunk[];
}

export type RuntimeDifference = keyof typeof allowedOfRuntime;

/** In every sequence: who mints ids. */
export const ids: Allowed = {
  why: "part ids are minted from the log, so that they are unique in the message over all attempts (T7); the message's is its turn's",
  equal: (chunks) =>
    allowed["remapped-ids"]
      .equal(chunks)
      .map((chunk) => (chunk.type === "start" ? { ...chunk, messageId: "m" } : chunk)),
};

export const allowedOfRuntime = {
  "parallel-order": allowed["parallel-order"],
  "sticky-metadata": allowed["sticky-metadata"],
  "orphan-error": allowed["orphan-error"],
  "orphan-part": {
    why: "a delta or an end without a start belongs to no part: the SDK's client drops it with an error, ours never shows it",
    equal: withStart,
  },
  "late-start": {
    why: "a text part begins with its first character (T10), and so behind a part that began earlier and spoke before it",
    equal: startedLate,
  },
  "empty-text": {
    why: "a text part without a character leaves no trace (T10)",
    equal: (chunks) => chunks.filter((chunk, at) => !isEmpty(chunks, chunk, at)),
  },
  "renamed-label": {
    why: "a label that the message holds already is another call's (T7); the SDK's client would show one call for two",
    equal: relabelled,
  },
  "bare-result": {
    why: "the SDK repeats on a result what the call before it said; the client has it from the call",
    equal: (chunks) => chunks.map((chunk) => (isResult(chunk) ? bare(chunk) : chunk)),
  },
  "error-text": {
    why: "a tool that threw is told of by its message; the SDK puts the error's class before it",
    equal: (chunks) =>
      chunks.map((chunk) =>
        chunk.type === "tool-output-error"
          ? { ...chunk, errorText: String(chunk["errorText"]).replace(/^\w*Error: /, "") }
          : chunk,
      ),
  },
  "newest-preliminary": {
    why: "of preliminary outputs that wait for the store only the newest is kept",
    equal: (chunks) => chunks.filter((chunk) => chunk["preliminary"] !== true),
  },
  "client-tool": {
    why: "there are no client tools yet: a call that nobody here can run ends with an error that says so",
    equal: (chunks, side) =>
      side === "ours" ? chunks.filter((chunk) => !/is not available/.test(String(chunk["errorText"]))) : [...chunks],
  },
  "call-undertaken": {
    why: "whole calls are undertaken whatever ended the answer (R5); the SDK runs them after `stop` and `tool-calls` only",
    equal: (chunks, side) => (side === "ours" ? chunks.filter((chunk) => !isResult(chunk)) : [...chunks]),
  },
  interrupted: {
    why: "an answer that broke off is an interruption, here of a turn that is not gone on with: what is open is closed, and the end says so",
    equal: (chunks, side) => (side === "sdk" ? allowed["broken-answer"].equal(chunks, side) : upToInterruption(chunks)),
  },
} as const satisfies Record<string, Allowed>;

/** By the names of sequences. Sequences that are not named here differ in nothing but ids. */
export const differsOfRuntime: Readonly<Record<string, readonly RuntimeDifference[]>> = {
  "text with metadata": ["sticky-metadata"],
  "interleaved blocks": ["late-start"],
  "an empty text, and one that says something": ["empty-text"],
  "a label that is used in two steps": ["renamed-label"],
  "two tools, one throws, then a step with the same ids": ["parallel-order", "bare-result", "error-text"],
  "a generator, an output of nothing, an empty input": ["parallel-order", "newest-preliminary"],
  "dynamic tools, known and unknown; provider-executed, known, unknown and failing": ["bare-result"],
  "a call without streamed input": ["client-tool"],
  "a client tool": ["client-tool"],
  "length, in the middle of a call that came out whole": ["call-undertaken"],
  "an approval for a call that nobody made": ["interrupted"],
  "an error part, then a finish": ["interrupted"],
  "an error part, and no more": ["interrupted"],
  "an error before anything": ["interrupted"],
  "the stream breaks": ["interrupted"],
  "the stream ends without a finish": ["interrupted"],
  "a package closes what was cut": ["interrupted"],
  "cut after a call that is whole": ["interrupted"],
  "an empty stream": ["interrupted"],
  "a delta and an end without a start": ["orphan-error", "orphan-part"],
};

function isResult(chunk: Chunk): boolean {
  return chunk.type.startsWith("tool-output-") && chunk["providerExecuted"] !== true;
}

function bare(chunk: Chunk): Chunk {
  const { type, toolCallId, output, errorText, preliminary } = chunk;
  return JSON.parse(JSON.stringify({ type, toolCallId, output, errorText, preliminary })) as Chunk;
}

function withStart(chunks: readonly Chunk[]): Chunk[] {
  const open = new Set<unknown>();
  return chunks.filter((chunk) => {
    if (!/^(text|reasoning)-(start|delta|end)$/.test(chunk.type)) return true;
    if (chunk.type.endsWith("-start")) open.add(chunk["id"]);
    return open.has(chunk["id"]);
  });
}

/** Both chunks of a text part that begins and ends, and nothing between. */
function isEmpty(chunks: readonly Chunk[], chunk: Chunk, at: number): boolean {
  const ends = (start: Chunk | undefined, end: Chunk | undefined): boolean =>
    start?.type === "text-start" && end?.type === "text-end" && start["id"] === end["id"];
  return ends(chunk, chunks[at + 1]) || ends(chunks[at - 1], chunk);
}

/** Calls by their number, in the order of their announcements. */
function relabelled(chunks: readonly Chunk[]): Chunk[] {
  const labels = new Map<unknown, string>();
  let count = 0;
  return chunks.map((chunk) => {
    if (chunk["toolCallId"] === undefined) return chunk;
    if (chunk.type === "tool-input-start") labels.set(chunk["toolCallId"], `call ${count++}`);
    return { ...chunk, toolCallId: labels.get(chunk["toolCallId"]) };
  });
}

/** Starts of text stand right before the first thing that the part says. */
function startedLate(chunks: readonly Chunk[]): Chunk[] {
  const waiting = new Map<unknown, Chunk>();
  return chunks.flatMap((chunk) => {
    if (chunk.type === "text-start" && chunk["providerMetadata"] === undefined) {
      waiting.set(chunk["id"], chunk);
      return [];
    }
    const start = chunk.type === "text-delta" ? waiting.get(chunk["id"]) : undefined;
    waiting.delete(start?.["id"]);
    return start ? [start, chunk] : [chunk];
  });
}

/** Without what closed the step, and how the turn ended. */
function upToInterruption(chunks: readonly Chunk[]): Chunk[] {
  const kept = chunks.slice(0, -1).filter((chunk) => !/turn ended first/.test(String(chunk["errorText"])));
  while (/-end$|^start-step$/.test(kept.at(-1)?.type ?? "")) kept.pop();
  return [...kept, { type: "fault" }];
}
