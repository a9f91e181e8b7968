// What an interrupted step calls for: over the whole product of what can be durable of it (R3).
import { describe, expect, test } from "vitest";
import { continuation, type Mode, modeOf, type Plan } from "../../src/core/continuation.ts";
import type { Evidence, SeenCall } from "../../src/core/evidence.ts";
import { profileOf } from "../../src/core/profile.ts";

type Text = Evidence["text"];
type CallState = SeenCall["state"];

const texts = { none: true, blank: true, some: true } as const satisfies Record<Text, true>;
const callStates = { cut: true, invalid: true, complete: true, settled: true } as const satisfies Record<
  CallState,
  true
>;

/** Calls > text > reasoning > nothing. */
const table: Record<"calls" | "no calls", Record<Text, Record<"reasoning" | "no reasoning", Plan>>> = {
  calls: {
    none: { reasoning: "calls", "no reasoning": "calls" },
    blank: { reasoning: "calls", "no reasoning": "calls" },
    some: { reasoning: "calls", "no reasoning": "calls" },
  },
  "no calls": {
    none: { reasoning: "rerun", "no reasoning": "rerun" },
    blank: { reasoning: "rerun", "no reasoning": "rerun" },
    some: { reasoning: "continue", "no reasoning": "continue" },
  },
};

const bools = [false, true] as const;
const states = Object.keys(callStates) as CallState[];

function call(state: CallState, index: number): SeenCall {
  return { label: `c${index}`, tool: "pay", state };
}

/** None, one of each state, and every pair in every order. */
const callSets: readonly (readonly SeenCall[])[] = [
  [],
  ...states.map((state) => [call(state, 0)]),
  ...states.flatMap((first) => states.map((second) => [call(first, 0), call(second, 1)])),
];

const product: Evidence[] = callSets.flatMap((calls) =>
  (Object.keys(texts) as Text[]).flatMap((text) =>
    bools.flatMap((reasoning) =>
      bools.flatMap((other) => bools.map((opened) => ({ calls, text, reasoning, other, opened }))),
    ),
  ),
);

describe("the plan", () => {
  test("[R3] the product is whole", () => {
    expect(product.length).toBe((1 + 4 + 16) * 3 * 2 * 2 * 2);
  });

  test.each(["calls", "no calls"] as const)("[R3] is total, with its precedence: %s", (has) => {
    for (const evidence of product.filter(({ calls }) => calls.length > 0 === (has === "calls"))) {
      const expected = table[has][evidence.text][evidence.reasoning ? "reasoning" : "no reasoning"];
      expect(continuation(evidence), JSON.stringify(evidence)).toBe(expected);
    }
  });

  test("[R3] whether a stream was opened plays no part, nor what a model cannot go on from", () => {
    for (const evidence of product) {
      for (const opened of bools) {
        for (const other of bools) expect(continuation({ ...evidence, opened, other })).toBe(continuation(evidence));
      }
    }
  });
});

describe("the mode", () => {
  const modes: Record<Plan, Record<"prefill" | "no prefill", Mode>> = {
    rerun: { prefill: "fresh", "no prefill": "fresh" },
    continue: { prefill: "prefill", "no prefill": "ask" },
    calls: { prefill: "fresh", "no prefill": "fresh" },
  };

  test.each(Object.keys(modes) as Plan[])("[R3][P1] is asked of the profile: %s", (plan) => {
    expect(modeOf(plan, { prefill: true })).toBe(modes[plan].prefill);
    expect(modeOf(plan, { prefill: false })).toBe(modes[plan]["no prefill"]);
  });

  test("[P1] an unknown model allows no prefill", () => {
    expect(modeOf("continue", profileOf("somebody.chat", "some-model"))).toBe("ask");
  });
});
