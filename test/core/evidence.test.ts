import { describe, expect, test } from "vitest";
import { closing, foldAll } from "../../src/core/assembly.ts";
import { type Evidence, evidenceOf, nothing } from "../../src/core/evidence.ts";
import type { Chunk } from "../../src/core/transcript.ts";
import { text } from "./stream.ts";

const step: Chunk = { type: "start-step" };
const thought: Chunk[] = [
  { type: "reasoning-start", id: "r" },
  { type: "reasoning-end", id: "r" },
];
const named = { toolCallId: "c", toolName: "pay" };
const half: Chunk = { type: "tool-input-start", ...named };
const whole: Chunk = { type: "tool-input-available", ...named, input: {} };
const output: Chunk = { type: "tool-output-available", toolCallId: "c", output: 1 };
const call = (state: Evidence["calls"][number]["state"]): Partial<Evidence> => ({
  calls: [{ label: "c", tool: "pay", state }],
});
const mark = { providerMetadata: { mock: { a: 1 } } };

describe("what is known of a step", () => {
  const rows: readonly [string, readonly Chunk[], Partial<Evidence>][] = [
    ["nothing", [], {}],
    ["an opened step", [step], { opened: true }],
    ["text", text("t", "x"), { text: "some" }],
    ["blank text", text("t", " \n"), { text: "blank" }],
    ["empty text", text("t"), {}],
    ["empty text with a mark of the provider", [{ type: "text-start", id: "t", ...mark }], { other: true }],
    ["blank text after text", [...text("t", "x"), ...text("u", " ")], { text: "some" }],
    ["text after blank text", [...text("t", " "), ...text("u", "x")], { text: "some" }],
    ["reasoning", thought, { reasoning: true }],
    ["a source", [{ type: "source-url", sourceId: "s", url: "https://a.example" }], { other: true }],
    ["a file", [{ type: "file", mediaType: "text/plain", url: "data:,a" }], { other: true }],
    ["half a call", [half], call("cut")],
    ["a whole call", [half, whole], call("complete")],
    ["a dynamic call", [{ ...whole, dynamic: true }], { calls: [{ ...call("complete").calls![0]!, dynamic: true }] }],
    ["a call with its output", [whole, output], call("settled")],
    [
      "a call with its error",
      [whole, { type: "tool-output-error", toolCallId: "c", errorText: "no" }],
      call("settled"),
    ],
    ["a call with a first output", [whole, { ...output, preliminary: true }], call("complete")],
    ["a call of the provider's", [{ ...whole, providerExecuted: true }], { other: true }],
  ];

  test.each(rows)("[R3] %s", (_, chunks, expected) => {
    expect(evidenceOf(foldAll(chunks, 0))).toEqual({ ...nothing, ...expected });
  });

  test("[C4] calls are in the order in which they were announced", () => {
    const labels = ["b", "a", "c"];
    const chunks = labels.map((toolCallId) => ({ type: "tool-input-start", toolCallId, toolName: "pay" }));
    expect(evidenceOf(foldAll(chunks, 0)).calls.map(({ label }) => label)).toEqual(labels);
  });

  test("[C5] a call whose input was refused, or that was closed, is never one that may run", () => {
    const refused: Chunk = { type: "tool-input-error", ...named, input: "{", errorText: "bad" };
    expect(evidenceOf(foldAll([refused], 0)).calls.map(({ state }) => state)).not.toContain("complete");
    const closed = foldAll([half], 0);
    foldAll(closing(closed, { keepText: false, callError: "cut" }), 1, closed);
    expect(evidenceOf(closed).calls.map(({ state }) => state)).not.toContain("complete");
  });
});
