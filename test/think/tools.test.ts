/** Calls through the real engine: their checks, their recovery, and what the model and the client are told. */
import { jsonSchema, type LanguageModel, type ToolSet, tool } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type ChatRecoveryContext,
  durableTool,
  Think,
  type ToolCallContext,
  type ToolCallResultContext,
} from "../../src/index.ts";
import { type Chat, Gate, key, open, stores, types } from "./kit.ts";
import { asked, call, calls, hang, type Script, says, script } from "./model.ts";
import { input, type Paying, paying, type Recovery, type Seen, told } from "./paying.ts";

describe.each(stores)("a death while a tool runs, on $name", ({ parts }) => {
  let over = async (): Promise<void> => {};
  afterEach(() => over());
  const place = (): ReturnType<typeof parts>["parts"] => {
    const { parts: given, done } = parts();
    over = done;
    return given;
  };

  /** The first run never ends, and the process dies in it. */
  async function died(parts: Paying): Promise<{ chat: Chat<Think>; runs: Seen[]; model: Script; turn: string }> {
    const { Class, runs, model } = paying({
      ...parts,
      run: (seen, n) => (n === 0 ? new Promise(() => {}) : (parts.run?.(seen, n) ?? "paid")),
    });
    const chat = await open(Class, place());
    const turn = await chat.submit("u1");
    await chat.time.until(() => runs.length > 0);
    await chat.restart();
    expect(await chat.ended(turn)).toMatchObject({ outcome: "completed" });
    return { chat, runs, model, turn };
  }

  const reconciled: Recovery = {
    reconcile: ({ idempotencyKey, run }) => ({ outcome: "output", output: `found ${idempotencyKey} ${run}` }),
  };

  it.each([
    {
      name: "report, the default",
      recovery: undefined,
      runs: [1],
      says: /outcome of this tool call is unknown/,
      state: "unknown",
    },
    {
      name: "report",
      recovery: "report" as const,
      runs: [1],
      says: /outcome of this tool call is unknown/,
      state: "unknown",
    },
    { name: "retry", recovery: "retry" as const, runs: [1, 2], says: /"paid"/, state: "settled" },
    { name: "reconcile: it was done", recovery: reconciled, runs: [1], says: /"found turn_1-0 1"/, state: "settled" },
    {
      name: "reconcile: it failed",
      recovery: { reconcile: () => ({ outcome: "error" as const, error: "declined" }) },
      runs: [1],
      says: /declined/,
      state: "settled",
    },
    {
      name: "reconcile: it never happened",
      recovery: { reconcile: () => ({ outcome: "absent" as const }) },
      runs: [1, 2],
      says: /"paid"/,
      state: "settled",
    },
    {
      name: "reconcile: nobody knows",
      recovery: { reconcile: () => undefined },
      runs: [1],
      says: /outcome of this tool call is unknown/,
      state: "unknown",
    },
    {
      name: "reconcile: it throws",
      recovery: { reconcile: () => Promise.reject(new Error("down")) },
      runs: [1],
      says: /outcome of this tool call is unknown/,
      state: "unknown",
    },
  ])("[C6][C7] $name", async ({ recovery, runs: expected, says, state }) => {
    const { chat, runs, model, turn } = await died(recovery ? { recovery } : {});
    expect(runs.map(({ options }) => options.run)).toEqual(expected);
    expect(new Set(runs.map(({ options }) => options.idempotencyKey))).toEqual(new Set([`${turn}-0`]));
    expect(told(model)).toMatch(says);
    expect(await chat.store.ledger(key, turn)).toMatchObject([
      { ordinal: 0, tool: "pay", state, runs: expected.length },
    ]);
  });

  it("[C6][H2] a reconcile that gives no answer in time knows nothing", async () => {
    const { Class, runs, model } = paying({
      recovery: { reconcile: () => new Promise<never>(() => {}) },
      run: () => new Promise(() => {}),
    });
    const chat = await open(Class, place());
    const turn = await chat.submit("u1");
    await chat.time.until(() => runs.length > 0);
    await chat.restart();
    await chat.time.advance(30_000);
    expect(await chat.ended(turn)).toMatchObject({ outcome: "completed" });
    expect(told(model)).toMatch(/outcome of this tool call is unknown/);
  });

  it("[C6] the stricter of the stored and the current policy wins", async () => {
    const policies: Recovery[] = ["report", "retry"];
    const runs: number[] = [];
    class A extends Think {
      override getModel = (): LanguageModel => model;
      override getTools = (): ToolSet => ({
        pay: durableTool({
          inputSchema: input,
          recovery: policies[0] as never,
          execute: (_input, { run }) => (runs.push(run) === 1 ? new Promise(() => {}) : "paid"),
        }),
      });
    }
    const model = script(calls(call("pay", { n: 1 })), says("done"));
    const chat = await open(A, place());
    const turn = await chat.submit("u1");
    await chat.time.until(() => runs.length > 0);
    policies.shift();
    await chat.restart();
    await chat.ended(turn);
    expect(runs).toEqual([1]);
  });

  it.each([
    { name: "retry gets the first key again", recovery: "retry" as const, timeoutMs: 1_000, same: true },
    { name: "any other tool is told what it repeats", recovery: "report" as const, timeoutMs: 1_000, same: false },
  ])("[C8] a model that asks again for a call of unknown outcome: $name", async ({ recovery, timeoutMs, same }) => {
    const { Class, runs } = paying({
      recovery,
      timeoutMs,
      model: script(
        calls(call("pay", { n: 1 })),
        calls(call("pay", { n: 1 }, "c2"), call("pay", { n: 2 }, "c3")),
        says("done"),
      ),
      run: (_seen, n) => (n === 0 ? new Promise(() => {}) : "paid"),
    });
    const chat = await open(Class, place());
    const turn = await chat.submit("u1");
    await chat.time.until(() => runs.length > 0);
    await chat.time.advance(1_000);
    expect(await chat.ended(turn)).toMatchObject({ outcome: "completed" });
    const first = { ordinal: 0, idempotencyKey: `${turn}-0` };
    expect(runs.map(({ options: { repeats, idempotencyKey } }) => ({ repeats, idempotencyKey }))).toEqual([
      { repeats: null, idempotencyKey: `${turn}-0` },
      { repeats: first, idempotencyKey: same ? `${turn}-0` : `${turn}-1` },
      { repeats: null, idempotencyKey: `${turn}-2` },
    ]);
  });

  it("[O4] stillOwner is true in the process that owns the turn, and false once another has taken it over", async () => {
    const gate = new Gate();
    const answers: unknown[] = [];
    const { Class, runs } = paying({
      recovery: "retry",
      run: async ({ options }, n) => {
        answers.push(await options.stillOwner());
        if (n === 0) await gate.opened;
        answers.push(await options.stillOwner());
        return "paid";
      },
    });
    const chat = await open(Class, place());
    const turn = await chat.submit("u1");
    await chat.time.until(() => answers.length > 0);
    // The old process lives on, and does not know yet.
    await chat.open();
    expect(await chat.ended(turn)).toMatchObject({ outcome: "completed" });
    gate.open();
    await chat.time.until(() => answers.length === 4);
    expect([answers, runs.length]).toEqual([[true, true, true, false], 2]);
  });
});

describe("a tool that runs", () => {
  it("[C10] past its deadline: its outcome is unknown, its signal aborted, and its late result is evidence only", async () => {
    const gate = new Gate();
    const { Class, runs, model } = paying({ timeoutMs: 5_000, run: () => gate.opened.then(() => "paid") });
    const chat = await open(Class);
    const turn = await chat.submit("u1");
    await chat.time.until(() => runs.length > 0);
    await chat.time.advance(4_900);
    expect(runs[0]!.options.abortSignal?.aborted).toBe(false);
    await chat.time.advance(200);
    expect(runs[0]!.options.abortSignal?.aborted).toBe(true);
    expect(await chat.ended(turn)).toMatchObject({ outcome: "completed" });
    expect(told(model)).toMatch(/gave no result in time/);
    const log = await chat.log(turn);
    gate.open();
    await chat.time.advance(100);
    expect(await chat.log(turn)).toEqual(log);
    expect(await chat.store.ledger(key, turn)).toMatchObject([{ state: "unknown", late: { output: "paid" } }]);
  });

  it("[C11][R1] those of one step really overlap, and each settles by a commit of its own", async () => {
    const gates = [new Gate(), new Gate()];
    const order: string[] = [];
    const { Class } = paying({
      model: script(calls(call("pay", { n: 0 }, "c0"), call("pay", { n: 1 }, "c1")), says("done")),
      run: async ({ input }) => {
        const { n } = input as { n: number };
        order.push(`start ${n}`);
        await gates[n]!.opened;
        order.push(`end ${n}`);
        return n;
      },
    });
    const chat = await open(Class);
    const turn = await chat.submit("u1");
    await chat.time.until(() => order.length === 2);
    gates[1]!.open();
    await chat.time.until(() => order.length === 3);
    await chat.time.advance(50);
    expect((await chat.store.ledger(key, turn)).map(({ state }) => state)).toEqual(["started", "settled"]);
    gates[0]!.open();
    expect(await chat.ended(turn)).toMatchObject({ outcome: "completed" });
    expect(order).toEqual(["start 0", "start 1", "end 1", "end 0"]);
    const outputs = (await chat.log(turn)).filter(({ type }) => type === "tool-output-available");
    expect(outputs.map(({ toolCallId }) => toolCallId)).toEqual(["c1", "c0"]);
  });

  it("[C11][C7] one that has settled is not run again when its step is gone on with elsewhere", async () => {
    const { Class, runs } = paying({
      recovery: "retry",
      model: script(calls(call("pay", { n: 0 }, "c0"), call("pay", { n: 1 }, "c1")), says("done")),
      run: (_seen, n) => (n === 1 ? new Promise(() => {}) : "paid"),
    });
    const chat = await open(Class);
    const turn = await chat.submit("u1");
    await chat.time.until(() => chat.landed.some(({ ledger }) => ledger?.some(({ state }) => state === "settled")));
    await chat.restart();
    expect(await chat.ended(turn)).toMatchObject({ outcome: "completed" });
    expect(runs.map(({ input, options }) => [input, options.run])).toEqual([
      [{ n: 0 }, 1],
      [{ n: 1 }, 1],
      [{ n: 1 }, 2],
    ]);
  });

  it("shows its preliminary outputs, and keeps the last as its result", async () => {
    const gate = new Gate();
    const model = script(calls(call("count")), says("done"));
    class A extends Think {
      override getModel = (): LanguageModel => model;
      override getTools = (): ToolSet => ({
        count: tool({
          inputSchema: z.object({}),
          async *execute() {
            yield { n: 1 };
            await gate.opened;
            yield { n: 2 };
          },
        }),
      });
    }
    const chat = await open(A);
    const turn = await chat.submit("u1");
    await chat.time.until(() =>
      chat.landed.some(({ chunks }) => chunks?.some((some) => some.chunks.some((one) => one["preliminary"] === true))),
    );
    gate.open();
    await chat.ended(turn);
    const outputs = (await chat.log(turn)).filter(({ type }) => type === "tool-output-available");
    expect(outputs[0]).toMatchObject({ preliminary: true, output: { n: 1 } });
    expect(outputs.at(-1)).toEqual({ type: "tool-output-available", toolCallId: "c1", output: { n: 2 } });
    expect(await chat.part()).toMatchObject({ state: "output-available", output: { n: 2 } });
    expect((await chat.part())?.["preliminary"]).toBeUndefined();
  });

  it("that throws ends with its error, which the model is told", async () => {
    const { Class, model } = paying({ run: () => Promise.reject(new Error("card declined")) });
    const chat = await open(Class);
    expect(await chat.ask("u1")).toMatchObject({ status: "completed" });
    expect(await chat.part()).toMatchObject({ state: "output-error", errorText: "card declined" });
    expect(told(model)).toMatch(/card declined/);
  });

  it("whose result is not JSON ends with an error that says so", async () => {
    const { Class, model } = paying({ run: () => ({ n: 1n }) });
    const chat = await open(Class);
    expect(await chat.ask("u1")).toMatchObject({ status: "completed" });
    expect(told(model)).toMatch(/not JSON/);
  });

  it("[C5] whose input does not fit, or that does not exist, is not executed; the model is told", async () => {
    const { Class, runs, model } = paying({
      model: script(
        calls(call("pay", { n: "many" }), call("pay", '{"n":', "c2"), call("nope", {}, "c3")),
        says("sorry"),
      ),
    });
    const chat = await open(Class);
    const { requestId } = await chat.ask("u1");
    expect(runs).toEqual([]);
    for (const id of ["c1", "c2", "c3"])
      expect(await chat.part(id)).toMatchObject({ state: "output-error", errorText: expect.any(String) });
    expect(asked(model.calls[1]!.prompt).at(-1)).toMatch(/^tool: pay=.*pay=.*nope=/);
    expect((await chat.store.ledger(key, requestId)).map(({ ordinal, state }) => [ordinal, state])).toEqual([
      [0, "settled"],
      [1, "settled"],
      [2, "settled"],
    ]);
  });

  it("toModelOutput is what the model sees; the client sees the output", async () => {
    const model = script(calls(call("look")), says("done"));
    class A extends Think {
      override getModel = (): LanguageModel => model;
      override getTools = (): ToolSet => ({
        look: tool({
          inputSchema: z.object({}),
          execute: async () => ({ secret: 1 }),
          toModelOutput: () => ({ type: "text", value: "for the model" }),
        }),
      });
    }
    const chat = await open(A);
    await chat.ask("u1");
    expect(told(model)).toBe('tool: look="for the model"');
    expect(await chat.part()).toMatchObject({ output: { secret: 1 } });
  });

  it("[T5] starts only after the model call has ended", async () => {
    const gate = new Gate();
    const { Class, runs } = paying({
      model: script([...call("pay", { n: 1 }), gate, ...calls().slice(-1)], says("done")),
    });
    const chat = await open(Class);
    const turn = await chat.submit("u1");
    await chat.time.advance(1_000);
    expect([runs, types(await chat.log(turn))]).toEqual([[], expect.stringMatching(/tool-input-delta$/)]);
    gate.open();
    await chat.ended(turn);
    expect(runs.length).toBe(1);
  });

  it("[R3][C5] whose input was cut by a death is not executed; one that was whole is", async () => {
    const { Class, runs, model } = paying({
      model: script([...call("pay", { n: 1 }), ...call("pay", { n: 2 }, "c2").slice(0, 2), hang], says("done")),
    });
    const chat = await open(Class);
    const turn = await chat.submit("u1");
    await chat.time.until(() =>
      chat.landed.some(({ chunks }) => chunks?.some((some) => some.chunks.some((one) => one["toolCallId"] === "c2"))),
    );
    await chat.time.advance(100);
    await chat.restart();
    expect(await chat.ended(turn)).toMatchObject({ outcome: "completed" });
    expect(runs.map(({ input }) => input)).toEqual([{ n: 1 }]);
    expect(await chat.part("c2")).toMatchObject({
      state: "output-error",
      errorText: expect.stringMatching(/interrupted before its input was complete/),
    });
    expect(model.calls.length).toBe(2);
  });

  it.each(["beforeToolCall", "the tool", "afterToolCall", "onChatRecovery"])(
    "[A1][C9] %s may change what it is given: what is stored, shown and sent stays",
    async (place) => {
      type Given = { input: { n: number }; output?: { is: string } };
      const spoil = (where: string, given: Given): void => {
        if (where !== place) return;
        given.input.n = 666;
        if (given.output) given.output.is = "gone";
      };
      const gate = new Gate();
      const seen: unknown[] = [];
      const anything = jsonSchema<{ n: number }>({ type: "object" });
      const model = script(calls(call("pay", { n: 1 }), call("wait", { n: 2 }, "c2")), says("done"));
      class A extends Think {
        override getModel = (): LanguageModel => model;
        override getTools = (): ToolSet => ({
          pay: tool({
            inputSchema: anything,
            execute: async (input) => {
              seen.push(input.n);
              spoil("the tool", { input });
              return { is: "paid" };
            },
          }),
          wait: durableTool({
            inputSchema: anything,
            recovery: "retry",
            execute: () => gate.opened.then(() => "waited"),
          }),
        });
        override beforeToolCall = (asked: ToolCallContext): void => spoil("beforeToolCall", asked as Given);
        override afterToolCall = (result: ToolCallResultContext): void => spoil("afterToolCall", result as never);
        override onChatRecovery = ({ partialParts }: ChatRecoveryContext): void =>
          spoil("onChatRecovery", partialParts[0] as never);
      }
      const chat = await open(A);
      const turn = await chat.submit("u1");
      await chat.time.until(() => chat.landed.some(({ ledger }) => ledger?.some(({ state }) => state === "settled")));
      await chat.time.settle();
      if (place === "onChatRecovery") await chat.restart();
      gate.open();
      await chat.ended(turn);
      expect(seen).toEqual([1]);
      expect(await chat.part()).toMatchObject({ input: { n: 1 }, output: { is: "paid" } });
      const log = (await chat.log(turn)).filter(({ toolCallId }) => toolCallId === "c1");
      expect(log.slice(-2)).toMatchObject([{ input: { n: 1 } }, { output: { is: "paid" } }]);
      expect(asked(model.calls[1]!.prompt)[1]).toContain('pay({"n":1})');
      expect(told(model)).toContain('pay={"is":"paid"}');
    },
  );
});
