import { jsonSchema, tool } from "ai";
import { describe, expect, test } from "vitest";
import type { Chunk } from "../../src/core/transcript.ts";
import { call, calls, says } from "../think/model.ts";
import type { Side } from "./differences.ts";
import { chunksOfSdk } from "./paths.ts";
import { allowedOfRuntime, differsOfRuntime, ids, type RuntimeDifference } from "./runtime-differences.ts";
import { chunksOfRuntime } from "./runtime-path.ts";
import { type Sequence, sequences } from "./sequences.ts";

const differences = ({ name }: Sequence): readonly RuntimeDifference[] => differsOfRuntime[name] ?? [];
/** Which of two parallel tools is ready first is chance, and so is what the store was waited for. */
const certain = (difference: RuntimeDifference): boolean =>
  !["parallel-order", "newest-preliminary"].includes(difference);

const look = tool({ inputSchema: jsonSchema({ type: "object" }), execute: async () => "seen" });

/** What only a whole turn can show. */
const ours: readonly Sequence[] = [
  {
    name: "an empty text, and one that says something",
    steps: [[{ type: "text-start", id: "e" }, { type: "text-end", id: "e" }, ...says("Hello")]],
    tools: () => ({}),
    differs: [],
  },
  {
    name: "a label that is used in two steps",
    steps: [calls(call("look", {}, "call_0")), calls(call("look", {}, "call_0")), says("done")],
    tools: () => ({ look }),
    differs: [],
  },
];
const all = [...sequences, ...ours];

function equalled(chunks: readonly Chunk[], differs: readonly RuntimeDifference[], side: Side): Chunk[] {
  const made = differs.reduce<Chunk[]>(
    (some, difference) => allowedOfRuntime[difference].equal(some, side),
    [...chunks],
  );
  return ids.equal(made, side);
}

describe("[F3] the log of a turn equals the SDK's chunks but for the named differences", () => {
  test.each(all)("$name", async (sequence) => {
    const [sdk, log] = [await chunksOfSdk(sequence), await chunksOfRuntime(sequence)];
    const differs = differences(sequence);
    expect(equalled(log, differs, "ours")).toEqual(equalled(sdk, differs, "sdk"));
    for (const left of differs.filter(certain)) {
      const less = differs.filter((difference) => difference !== left);
      expect(equalled(log, less, "ours"), `${left} is not needed`).not.toEqual(equalled(sdk, less, "sdk"));
    }
  });

  test("every difference and every sequence that is named is there", () => {
    const named = new Set(Object.values(differsOfRuntime).flat());
    expect(
      (Object.keys(allowedOfRuntime) as RuntimeDifference[]).filter((difference) => !named.has(difference)),
    ).toEqual([]);
    const known = new Set(all.map(({ name }) => name));
    expect(Object.keys(differsOfRuntime).filter((name) => !known.has(name))).toEqual([]);
  });
});
