import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonical, isObject } from "../../src/core/json.ts";

describe("the canonical text of a value", () => {
  const rows: readonly [string, unknown, string][] = [
    ["keys in order", { b: 1, a: 2 }, '{"a":2,"b":1}'],
    ["at every depth", [{ b: { d: 1, c: 2 } }], '[{"b":{"c":2,"d":1}}]'],
    ["lists as they are", [3, 1, 2], "[3,1,2]"],
    ["fields that are undefined are not there", { a: undefined, b: null }, '{"b":null}'],
    ["items that are undefined are null", [undefined, 1], "[null,1]"],
    ["nothing", undefined, "null"],
    ["text", 'a"\n\ud83d', JSON.stringify('a"\n\ud83d')],
    ["keys by code unit, not by language", { b: 1, B: 2, ä: 3 }, '{"B":2,"b":1,"ä":3}'],
    ["numbers", [1.0, -0, 1e21], "[1,0,1e+21]"],
    ["keys with a meaning", JSON.parse('{"__proto__":1,"constructor":2}'), '{"__proto__":1,"constructor":2}'],
  ];

  test.each(rows)("[E1][C3] %s", (_, value, expected) => {
    expect(canonical(value)).toBe(expected);
  });

  test("[E1][C3] does not depend on the order of keys, and says all", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonical(reversed(value))).toBe(canonical(value));
        expect(JSON.parse(canonical(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test("[C3] of what is stored is that of what was sent", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonical(JSON.parse(JSON.stringify(value)))).toBe(canonical(value));
      }),
    );
  });
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, item]) => [key, reversed(item)]),
  );
}
