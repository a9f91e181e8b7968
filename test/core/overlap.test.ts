import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { limits } from "../../src/core/limits.ts";
import { type Overlap, overlap } from "../../src/core/overlap.ts";
import type { Chunk } from "../../src/core/transcript.ts";
import { answered, begin, rest, shown, take, text } from "./stream.ts";

const open: Overlap = { kind: "open" };
const trim = (n: number): Overlap => ({ kind: "decided", trim: n });
const { overlapCharsMin: min, overlapCharsMax: max } = limits;

/** 26 different characters, so that nothing repeats by chance. */
const letters = "abcdefghijklmnopqrstuvwxyz";
const long = Array.from({ length: 500 }, (_, at) => String.fromCharCode(0x100 + at)).join("");

describe("the decision", () => {
  const rows: readonly [string, string, string, boolean, Overlap][] = [
    ["[V1] a repeat of 16 characters is trimmed", letters, `${letters.slice(-16)}!`, false, trim(16)],
    ["[V1] one of 15 stays", letters, `${letters.slice(-15)}!`, false, trim(0)],
    ["[V1] one of all that was seen is trimmed", letters, `${letters}!`, false, trim(26)],
    ["[V1] what repeats the middle stays", letters, `${letters.slice(2, 22)}!`, false, trim(0)],
    ["[V1] almost a repeat stays", letters, `${letters.slice(-16, -1)}Z!`, false, trim(0)],
    ["[V1] case counts", letters, `${letters.slice(-16).toUpperCase()}!`, false, trim(0)],
    [
      "[V1] less than 16 characters seen: nothing is looked for",
      letters.slice(-15),
      letters.slice(-15),
      false,
      trim(0),
    ],
    ["[V1] of two repeats, the longer one is trimmed", "ab".repeat(20), `${"ab".repeat(20)}c`, false, trim(40)],
    ["[V2] nothing said yet: it may become one", letters, "", false, open],
    ["[V2] the first characters of one: it may become one", letters, letters.slice(-16, -4), false, open],
    ["[V2] the beginning of the middle too: a longer suffix begins so", letters, letters.slice(2, 12), false, open],
    ["[V2] a whole repeat that may become a longer one waits", "ab".repeat(20), "ab".repeat(10), false, open],
    ["[V2] silence decides: a whole repeat is trimmed", "ab".repeat(20), "ab".repeat(10), true, trim(20)],
    ["[V2] silence decides: the beginning of one stays", letters, letters.slice(-16, -4), true, trim(0)],
    ["[V1] repeats longer than the window are not looked for", long, long, false, trim(0)],
    ["[V1] one as long as the window is", long, `${long.slice(-max)}!`, false, trim(max)],
  ];

  test.each(rows)("%s", (_, seen, held, closed, expected) => {
    expect(overlap(seen, held, closed)).toEqual(expected);
  });
});

/** The rule in one line: the longest exact repeat, within the bounds. */
function expectedTrim(seen: string, answer: string): number {
  for (let n = Math.min(seen.length, max); n >= min; n--) if (answer.startsWith(seen.slice(seen.length - n))) return n;
  return 0;
}

/** Few characters, so that repeats and near repeats are common. */
const unit = fc.constantFrom("a", "b", " ");
const seenText = fc.string({ unit, minLength: 1, maxLength: 60 }).filter((seen) => seen.trim() !== "");
const cases = fc
  .record({
    seen: fc.oneof(seenText, fc.string({ minLength: 16, maxLength: 600 })),
    back: fc.nat(max + 50),
    more: fc.string({ unit, maxLength: 30 }),
    cuts: fc.array(fc.nat(700), { maxLength: 12 }),
  })
  .map(({ seen, back, more, cuts }) => ({ seen, answer: seen.slice(Math.max(0, seen.length - back)) + more, cuts }));

function pieces(answer: string, cuts: readonly number[]): string[] {
  const at = [...new Set(cuts.map((cut) => cut % (answer.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, index) => answer.slice(from, at[index] ?? answer.length));
}

const logOf = (seen: string): Chunk[] => [{ type: "start-step" }, ...text("0-0", seen)];

describe("a continuation, however it is cut into pieces", () => {
  test("[V1] gives what was seen and the rest, once", () => {
    fc.assert(
      fc.property(cases, ({ seen, answer, cuts }) => {
        const got = shown(answered(text("x", ...pieces(answer, cuts)), { log: logOf(seen), mode: "ask" }));
        expect(got).toBe(seen + answer.slice(expectedTrim(seen, answer)));
      }),
      { numRuns: 1_000 },
    );
  });

  test("[V1] of a repeat of n characters: trimmed from 16 on, kept below", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max }), fc.array(fc.nat(700), { maxLength: 12 }), (n, cuts) => {
        const answer = `${long.slice(-n)}. And more.`;
        const got = shown(answered(text("x", ...pieces(answer, cuts)), { log: logOf(long), mode: "ask" }));
        expect(got).toBe(n >= min ? `${long}. And more.` : long + answer);
      }),
    );
  });

  test("[V3] is never trimmed after a prefill", () => {
    const solid = cases.filter(({ seen }) => seen.trimEnd() === seen);
    fc.assert(
      fc.property(solid, ({ seen, answer, cuts }) => {
        const got = shown(answered(text("x", ...pieces(answer, cuts)), { log: logOf(seen), mode: "prefill" }));
        expect(got).toBe(seen + answer);
      }),
    );
  });

  test("[V3] is never trimmed in a step that runs again", () => {
    fc.assert(
      fc.property(cases, ({ seen, answer, cuts }) => {
        const got = shown(answered(text("x", ...pieces(answer, cuts)), { log: logOf(seen), mode: "fresh" }));
        expect(got).toBe(seen + answer);
      }),
    );
  });

  test("[V2] holds at most 400 characters, and only what may become a repeat", () => {
    fc.assert(
      fc.property(cases, ({ seen, answer, cuts }) => {
        const going = begin({ log: logOf(seen), mode: "ask" });
        take(going, [{ type: "text-start", id: "x" }]);
        for (const delta of pieces(answer, cuts)) {
          take(going, [{ type: "text-delta", id: "x", delta }]);
          const held = going.translation.held?.text ?? "";
          expect(held.length).toBeLessThan(max);
          if (held !== "") expect(seen.slice(-max)).toContain(held);
        }
      }),
    );
  });
});

describe("what is held", () => {
  const log = logOf(letters);
  const held = (): ReturnType<typeof begin> => {
    const going = begin({ log, mode: "ask" });
    expect(take(going, text("x", letters.slice(-20, -8)))).toEqual([]);
    return going;
  };
  const kept = letters + letters.slice(-20, -8);

  test("[V2] is let go at silence, and what comes then is not held again", () => {
    const going = held();
    rest(going);
    expect(shown(going)).toBe(kept);
    take(going, [{ type: "text-delta", id: "x", delta: letters.slice(-8) }]);
    expect(shown(going)).toBe(kept + letters.slice(-8));
  });

  test.each<[string, Chunk, string]>([
    ["the end of the text", { type: "text-end", id: "x" }, ""],
    ["another part", { type: "source-url", sourceId: "s", url: "https://a.example" }, ""],
    ["another text", { type: "text-delta", id: "y", delta: "?" }, "?"],
    ["a mark", { type: "text-delta", id: "x", delta: "?", providerMetadata: { mock: { a: 1 } } }, "?"],
  ])("[V2] is let go by %s", (_, next, more) => {
    const going = held();
    take(going, [{ type: "text-start", id: "y" }, next]);
    expect(shown(going)).toBe(kept + more);
  });

  test("[V2] was not shown before, and is part of the same text after", () => {
    const going = held();
    expect(shown(going)).toBe(letters);
    take(going, [{ type: "text-delta", id: "x", delta: "!" }]);
    expect(going.chunks).toEqual([{ type: "text-delta", id: "0-0", delta: `${letters.slice(-20, -8)}!` }]);
  });
});
