import { expect, test } from "vitest";
import { between, pick, prng, seedOf } from "../../src/testing/prng.ts";

const throws = (seed: number, count: number) => {
  const dice = prng(seed);
  return Array.from({ length: count }, () => dice());
};

test("a seed fixes the sequence for ever: recorded seeds must keep their meaning", () => {
  expect(throws(42, 3).map((value) => Math.floor(value * 2 ** 32))).toMatchInlineSnapshot(`
    [
      551831576,
      144025891,
      322543647,
    ]
  `);
  expect(throws(1, 100)).not.toEqual(throws(2, 100));
});

test("throws are in [0, 1) and even", () => {
  const values = throws(5, 100_000);
  expect(values.every((value) => value >= 0 && value < 1)).toBe(true);
  const tenths = new Array<number>(10).fill(0);
  for (const value of values) tenths[Math.floor(value * 10)]! += 1;
  expect(Math.min(...tenths)).toBeGreaterThan(9_600);
  expect(Math.max(...tenths)).toBeLessThan(10_400);
});

test("between reaches both ends and no more; pick refuses an empty list", () => {
  const dice = prng(1);
  const seen = new Set(Array.from({ length: 200 }, () => between(dice, -1, 2)));
  expect([...seen].sort((a, b) => a - b)).toEqual([-1, 0, 1, 2]);
  expect(new Set(Array.from({ length: 200 }, () => pick(dice, ["a", "b", "c"])))).toEqual(new Set(["a", "b", "c"]));
  expect(() => pick(dice, [])).toThrow(RangeError);
});

test("seedOf tells its parts apart", () => {
  expect(seedOf("ab", "c")).not.toBe(seedOf("a", "bc"));
  expect(seedOf(1, "x")).toBe(seedOf("1", "x"));
});
