/** The check before a call: its answer is durable before it is acted on, and silence means no. */
import { describe, expect, it } from "vitest";
import type { ToolCallContext } from "../../src/index.ts";
import { Gate, open, user } from "./kit.ts";
import { paying, told } from "./paying.ts";

describe("beforeToolCall", () => {
  const decisions: readonly {
    name: string;
    decide(asked: ToolCallContext): unknown;
    runs: unknown[];
    part: Record<string, unknown>;
    says: RegExp;
  }[] = [
    { name: "no answer allows", decide: () => undefined, runs: [{ n: 1 }], part: { output: "paid" }, says: /"paid"/ },
    {
      name: "allow",
      decide: async () => ({ action: "allow" }),
      runs: [{ n: 1 }],
      part: { output: "paid" },
      says: /"paid"/,
    },
    {
      name: "allow, with another input",
      decide: ({ input }) => ({ action: "allow", input: { n: (input as { n: number }).n + 1 } }),
      runs: [{ n: 2 }],
      part: { input: { n: 2 }, output: "paid" },
      says: /"paid"/,
    },
    {
      name: "block",
      decide: () => ({ action: "block", reason: "Too much." }),
      runs: [],
      part: { state: "output-available", output: "Too much." },
      says: /Too much\./,
    },
    {
      name: "block, without a reason",
      decide: () => ({ action: "block" }),
      runs: [],
      part: { state: "output-available" },
      says: /blocked and not executed/,
    },
    {
      name: "substitute",
      decide: () => ({ action: "substitute", output: { free: true } }),
      runs: [],
      part: { output: { free: true } },
      says: /\{"free":true\}/,
    },
    {
      name: "a throw",
      decide: () => Promise.reject(new Error("no rights")),
      runs: [],
      part: {},
      says: /not executed: no rights/,
    },
    { name: "an answer that is none", decide: () => ({ action: "perhaps" }), runs: [], part: {}, says: /not executed/ },
    {
      name: "a substitute that cannot be stored",
      decide: () => ({ action: "substitute", output: 1n }),
      runs: [],
      part: {},
      says: /not executed/,
    },
    {
      name: "an input that cannot be stored",
      decide: () => ({ action: "allow", input: { n: 1n } }),
      runs: [],
      part: {},
      says: /not executed/,
    },
  ];

  it.each(decisions)("[C9][H2] $name", async ({ decide, runs: expected, part, says }) => {
    const { Class, runs, model } = paying({ beforeToolCall: decide });
    const chat = await open(Class);
    expect(await chat.ask("u1")).toMatchObject({ status: "completed" });
    expect(runs.map(({ input }) => input)).toEqual(expected);
    expect(await chat.part()).toMatchObject(part);
    expect(told(model)).toMatch(says);
    expect(chat.told("agent:instance-died")).toEqual([]);
  });

  it("[C9] it is asked with the call, before anything of it runs", async () => {
    const seen: unknown[] = [];
    const { Class, runs } = paying({ beforeToolCall: (asked) => void seen.push([asked, runs.length]) });
    const chat = await open(Class);
    await chat.ask("u1");
    expect(seen).toEqual([
      [{ type: "tool-call", toolCallId: "c1", toolName: "pay", input: { n: 1 }, stepNumber: 0 }, 0],
    ]);
  });

  it("[C9][H2] silence past its deadline: not executed, and the late answer is ignored", async () => {
    const gate = new Gate();
    const { Class, runs, model } = paying({ beforeToolCall: () => gate.opened.then(() => ({ action: "allow" })) });
    const chat = await open(Class);
    const answer = chat.agent().saveMessages([user("u1")] as never);
    await chat.time.advance(29_999);
    expect(model.calls.length).toBe(1);
    await chat.time.advance(1);
    expect(await chat.time.of(answer)).toMatchObject({ status: "completed" });
    expect(told(model)).toMatch(/no answer in time/);
    gate.open();
    await chat.time.settle();
    expect(runs).toEqual([]);
  });

  it("[C9][C4] the rewritten input is durable with the start: a retry after a crash runs with it, under the first key", async () => {
    let asked = 0;
    const { Class, runs } = paying({
      recovery: "retry",
      beforeToolCall: () => ({ action: "allow", input: { n: 40 + ++asked } }),
      run: (_seen, n) => (n === 0 ? new Promise(() => {}) : "paid"),
    });
    const chat = await open(Class);
    const turn = await chat.submit("u1");
    await chat.time.until(() => runs.length > 0);
    await chat.restart();
    expect(await chat.ended(turn)).toMatchObject({ outcome: "completed" });
    expect(runs.map(({ input }) => input)).toEqual([{ n: 41 }, { n: 41 }]);
    expect([asked, new Set(runs.map(({ options }) => options.idempotencyKey)).size]).toEqual([1, 1]);
    expect(await chat.part()).toMatchObject({ input: { n: 41 }, output: "paid" });
  });

  it("[C9] a death while it is asked: it is asked again, and the call runs once", async () => {
    let asked = 0;
    const { Class, runs } = paying({ beforeToolCall: () => (asked++ === 0 ? new Promise(() => {}) : undefined) });
    const chat = await open(Class);
    const turn = await chat.submit("u1");
    await chat.time.until(() => asked > 0);
    await chat.restart();
    expect(await chat.ended(turn)).toMatchObject({ outcome: "completed" });
    expect([asked, runs.map(({ options }) => options.run)]).toEqual([2, [1]]);
  });
});
