/** Where our chunks may differ from the SDK's (F3). Each difference is made equal on both sides, and nothing else is. */
import type { Chunk } from "../../src/core/transcript.ts";

export type Side = "sdk" | "ours";

interface Allowed {
  readonly why: string;
  equal(chunks: readonly Chunk[], side: Side): Chunk[];
}

export type Difference = keyof typeof allowed;

export const allowed = {
  "parallel-order": {
    why: "outputs of tools that run in parallel come as they are ready: scheduling",
    equal: byCall,
  },
  "remapped-ids": {
    why: "the SDK gives new random ids to parts of a later step that reuse an id; ours are left to the runtime, which needs them from the log",
    equal: (chunks) => numbered(chunks),
  },
  "sticky-metadata": {
    why: "the SDK repeats the last metadata of a step's first text on each later delta; the client ends with the same",
    equal: (chunks) => unrepeated(chunks),
  },
  "broken-answer": {
    why: "an answer that broke off is an interruption to us: no `error`, no ends that only the package made, no empty step, no step end",
    equal: (chunks, side) => (side === "sdk" ? upToBreak(chunks) : [...chunks]),
  },
  "orphan-error": {
    why: "the SDK reports each part without a start as an error beside it; ours leaves it out of the message (A1), and the turn goes on",
    equal: (chunks) => chunks.filter((chunk) => chunk.type !== "error"),
  },
} as const satisfies Record<string, Allowed>;

function byCall(chunks: readonly Chunk[]): Chunk[] {
  const isOutput = (chunk: Chunk) => chunk.type.startsWith("tool-output-");
  const sorted = chunks.filter(isOutput).sort((a, b) => String(a["toolCallId"]).localeCompare(String(b["toolCallId"])));
  return chunks.map((chunk) => (isOutput(chunk) ? (sorted.shift() as Chunk) : chunk));
}

function numbered(chunks: readonly Chunk[]): Chunk[] {
  const names = new Map<string, string>();
  let count = 0;
  return chunks.map((chunk) => {
    const [space, what] = chunk.type.split("-") as [string, string];
    if (space !== "text" && space !== "reasoning") return chunk;
    const key = `${space}:${String(chunk["id"])}`;
    if (what === "start") names.set(key, `${space}-${count++}`);
    return { ...chunk, id: names.get(key) };
  });
}

function unrepeated(chunks: readonly Chunk[]): Chunk[] {
  let last = "";
  return chunks.map((chunk) => {
    if (chunk.type !== "text-delta" || chunk["providerMetadata"] === undefined) return chunk;
    const { providerMetadata, ...rest } = chunk;
    const repeated = JSON.stringify(providerMetadata) === last;
    last = JSON.stringify(providerMetadata);
    return repeated ? rest : chunk;
  });
}

/** The SDK's chunks as far as the provider meant them. */
function upToBreak(chunks: readonly Chunk[]): Chunk[] {
  const at = chunks.findIndex((chunk) => ["error", "rejected", "finish-step"].includes(chunk.type));
  const kept = chunks.slice(0, at).filter((chunk) => chunk.type !== "tool-input-error");
  while (/-end$|^start-step$/.test(kept.at(-1)?.type ?? "")) kept.pop();
  return [...kept, { type: "fault" }];
}
