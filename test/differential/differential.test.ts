import { describe, expect, test } from "vitest";
import type { Chunk } from "../../src/core/transcript.ts";
import { allowed, type Difference, type Side } from "./differences.ts";
import { chunksOfOurs, chunksOfSdk } from "./paths.ts";
import { type Sequence, sequences } from "./sequences.ts";

const equalled = (chunks: readonly Chunk[], { differs }: Sequence, side: Side): Chunk[] =>
  differs.reduce<Chunk[]>((made, difference) => allowed[difference].equal(made, side), [...chunks]);

describe("[F3] our chunks equal the SDK's but for the named differences", () => {
  test.each(sequences)("$name", async (sequence) => {
    const [sdk, ours] = [await chunksOfSdk(sequence), await chunksOfOurs(sequence)];
    expect(equalled(ours, sequence, "ours")).toEqual(equalled(sdk, sequence, "sdk"));
  });

  test.each(sequences.filter((sequence) => sequence.differs.some((difference) => difference !== "parallel-order")))(
    "$name: needs the differences that it names",
    async (sequence) => {
      const [sdk, ours] = [await chunksOfSdk(sequence), await chunksOfOurs(sequence)];
      for (const left of sequence.differs.filter((difference) => difference !== "parallel-order")) {
        const less = { ...sequence, differs: sequence.differs.filter((difference) => difference !== left) };
        expect(equalled(ours, less, "ours"), left).not.toEqual(equalled(sdk, less, "sdk"));
      }
    },
  );

  test("every allowed difference is one that some sequence shows", () => {
    const shown = new Set(sequences.flatMap((sequence) => sequence.differs));
    expect((Object.keys(allowed) as Difference[]).filter((difference) => !shown.has(difference))).toEqual([]);
  });
});
