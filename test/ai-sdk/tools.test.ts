import { dynamicTool, jsonSchema, tool } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { durableTool } from "../../src/adapters/ai-sdk/index.ts";
import { limits } from "../../src/core/limits.ts";
import type { ToolRun } from "../../src/ports/behaviour.ts";
import { brief, called, chunksOf, finish, lastOf, type Part, playing, prepared, readAll } from "./support/model.ts";

const schema = z.object({ city: z.string() });
const model = playing([finish()]);

const run = (tool: string, input: unknown, more: Partial<ToolRun> = {}): ToolRun => ({
  turn: "t1",
  ordinal: 0,
  tool,
  toolCallId: "call_1",
  input,
  idempotencyKey: "key-1",
  run: 1,
  repeats: null,
  signal: new AbortController().signal,
  stillOwner: async () => true,
  ...more,
});

async function outputs(tools: Record<string, unknown>, call: ToolRun, toolsContext?: Record<string, unknown>) {
  const step = await prepared({ model, tools, ...(toolsContext ? { toolsContext } : {}) });
  const given: { final: boolean; output: unknown }[] = [];
  for await (const output of step.execute(call)) given.push(output);
  return given;
}

describe("what the runtime is told of a tool", () => {
  const execute = async () => 1;
  const facts = async (tool: object) => (await prepared({ model, tools: { x: tool } })).tool("x");

  test.each([
    [{ execute }, { executable: true, policy: "report", timeoutMs: limits.toolMs }],
    [{}, { executable: false, policy: "report" }],
    [
      { execute, recovery: "retry", timeoutMs: 50 },
      { executable: true, policy: "retry", timeoutMs: 50 },
    ],
    [{ execute, recovery: "report" }, { policy: "report" }],
    [{ execute, recovery: { reconcile: async () => undefined } }, { policy: "reconcile" }],
    [{ execute, recovery: { reconcile: "soon" } }, { policy: "report" }],
    [{ execute, recovery: "again" }, { policy: "report" }],
    [{ execute, timeoutMs: Number.NaN }, { timeoutMs: limits.toolMs }],
    [{ execute, timeoutMs: -1 }, { timeoutMs: limits.toolMs }],
    [{ execute, needsApproval: true }, { executable: false }],
    [{ execute, needsApproval: async () => false }, { executable: false }],
    [{ execute, needsApproval: false }, { executable: true }],
  ])("%j", async (given, expected) => {
    expect(await facts({ inputSchema: schema, ...given })).toMatchObject(expected);
  });

  test("a name that is no tool is none, whatever objects inherit", async () => {
    const step = await prepared({ model, tools: { x: tool({ inputSchema: schema }) } });
    expect(["y", "constructor", "toString", "__proto__"].map((name) => step.tool(name))).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });

  test("a tool that is not active now can still be asked about", async () => {
    const step = await prepared({ model, tools: { x: { inputSchema: schema, execute } }, activeTools: [] });
    expect(step.tool("x")).toMatchObject({ executable: true });
  });
});

describe("execute", () => {
  test("gives the SDK's options and ours", async () => {
    let seen: Record<string, unknown> = {};
    const pay = {
      inputSchema: schema,
      execute: (_: unknown, options: Record<string, unknown>) => {
        seen = options;
        return { paid: true };
      },
    };
    const signal = new AbortController().signal;
    const repeats = { ordinal: 3, idempotencyKey: "key-0" };
    const call = run("pay", { city: "Bern" }, { run: 2, repeats, signal, stillOwner: async () => false });
    expect(await outputs({ pay }, call, { pay: { tenant: "a" } })).toEqual([{ final: true, output: { paid: true } }]);
    expect(seen).toMatchObject({
      toolCallId: "call_1",
      messages: [{ role: "user", content: "hi" }],
      context: { tenant: "a" },
      experimental_context: { tenant: "a" },
      idempotencyKey: "key-1",
      run: 2,
      repeats,
    });
    expect(seen["abortSignal"]).toBe(signal);
    expect(await (seen["stillOwner"] as () => Promise<boolean>)()).toBe(false);
  });

  test("what a generator yields is preliminary, a snapshot, and its last is final", async () => {
    const growing: number[] = [];
    const count = {
      inputSchema: schema,
      async *execute() {
        for (const next of [1, 2]) {
          growing.push(next);
          yield growing;
        }
      },
    };
    expect(await outputs({ count }, run("count", {}))).toEqual([
      { final: false, output: [1] },
      { final: false, output: [1, 2] },
      { final: true, output: [1, 2] },
    ]);
  });

  test.each([
    [undefined, null],
    [new Date(0), "1970-01-01T00:00:00.000Z"],
    [{ a: undefined, b: Number.NaN, f: () => 1 }, { b: null }],
  ])("an output that JSON can hold is kept as JSON: %s", async (output, kept) => {
    expect(await outputs({ x: { inputSchema: schema, execute: () => output } }, run("x", {}))).toEqual([
      { final: true, output: kept },
    ]);
  });

  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  test.each([
    [() => 1, /output of tool "x" is not JSON: a function/],
    [Symbol("s"), /not JSON: a symbol/],
    [{ price: 10n }, /not JSON: .*BigInt/],
    [circle, /not JSON: .*circular/],
  ])("an output that it cannot is a clear error", async (output, message) => {
    await expect(outputs({ x: { inputSchema: schema, execute: () => output } }, run("x", {}))).rejects.toThrow(message);
  });

  test("errors of the tool pass, also those thrown at once", async () => {
    const thrown = {
      inputSchema: schema,
      execute: () => {
        throw new Error("kaput");
      },
    };
    await expect(outputs({ thrown }, run("thrown", {}))).rejects.toThrow("kaput");
  });

  test("what has no execute, or needs an approval, is not executed", async () => {
    const guarded = { inputSchema: schema, execute: async () => "done", needsApproval: true };
    await expect(outputs({ guarded }, run("guarded", {}))).rejects.toThrow(/approval/);
    await expect(outputs({}, run("gone", {}))).rejects.toThrow(/no tool "gone"/);
  });

  test("the context is checked against the tool's schema", async () => {
    const x = { inputSchema: schema, contextSchema: z.object({ tenant: z.string() }), execute: async () => 1 };
    await expect(outputs({ x }, run("x", {}), { x: { tenant: 3 } })).rejects.toThrow(/tool context/);
    expect(await outputs({ x }, run("x", {}), { x: { tenant: "a" } })).toHaveLength(1);
  });

  test("an input is what the schema made of it, if its JSON says so, and never changed twice", async () => {
    const seen: unknown[] = [];
    const x = (inputSchema: unknown) => ({ inputSchema, execute: (input: unknown) => void seen.push(input) });
    const day = "2026-01-02T00:00:00.000Z";
    await outputs({ x: x(z.object({ at: z.string().transform((text) => new Date(text)) })) }, run("x", { at: day }));
    await outputs({ x: x(z.object({ n: z.number().transform((n) => n * 2) })) }, run("x", { n: 4 }));
    await outputs({ x: x(z.object({ n: z.string().transform(Number) })) }, run("x", { n: 4 }));
    expect(seen).toEqual([{ at: new Date(day) }, { n: 4 }, { n: 4 }]);
  });
});

describe("reconcile", () => {
  const ask = async (answer: unknown, call = run("x", { city: "Bern" }, { run: 2 })) => {
    const asked: unknown[] = [];
    const reconcile = async (request: unknown) => {
      asked.push(request);
      return answer;
    };
    const step = await prepared({ model, tools: { x: { inputSchema: schema, recovery: { reconcile } } } });
    return { asked, answer: await step.reconcile(call) };
  };

  test("asks with all that identifies the run", async () => {
    const { asked } = await ask({ outcome: "absent" });
    expect(asked).toMatchObject([{ input: { city: "Bern" }, idempotencyKey: "key-1", toolCallId: "call_1", run: 2 }]);
    expect((asked[0] as { abortSignal: AbortSignal }).abortSignal.aborted).toBe(false);
  });

  test.each([
    [
      { outcome: "output", output: { id: 1 } },
      { outcome: "output", output: { id: 1 } },
    ],
    [{ outcome: "output" }, { outcome: "output", output: null }],
    [
      { outcome: "error", error: "declined" },
      { outcome: "error", error: "declined" },
    ],
    [
      { outcome: "error", error: new Error("declined") },
      { outcome: "error", error: "declined" },
    ],
    [{ outcome: "absent", extra: 1 }, { outcome: "absent" }],
    [{ outcome: "unknown" }, { outcome: "unknown" }],
    [{ outcome: "maybe" }, { outcome: "unknown" }],
    [{}, { outcome: "unknown" }],
    [undefined, { outcome: "unknown" }],
    [null, { outcome: "unknown" }],
    ["absent", { outcome: "unknown" }],
    [["absent"], { outcome: "unknown" }],
  ])("%j is %j", async (answer, expected) => {
    expect((await ask(answer)).answer).toEqual(expected);
  });

  test("an output that cannot be stored is an error, and a tool that cannot be asked is unknown", async () => {
    await expect(ask({ outcome: "output", output: 1n })).rejects.toThrow(/not JSON/);
    expect((await ask({ outcome: "absent" }, run("gone", {}))).answer).toEqual({ outcome: "unknown" });
    const plainTool = await prepared({ model, tools: { x: { inputSchema: schema, recovery: "retry" } } });
    expect(await plainTool.reconcile(run("x", {}))).toEqual({ outcome: "unknown" });
  });
});

describe("callbacks, repair and refinement of inputs", () => {
  const asked: Part[] = [
    { type: "tool-input-start", id: "c", toolName: "x" },
    { type: "tool-input-delta", id: "c", delta: '{"city":"Bern"}' },
    { type: "tool-input-end", id: "c" },
    { type: "tool-call", toolCallId: "c", toolName: "x", input: '{"city":"Bern"}' },
    finish("tool-calls"),
  ];

  test("are told after their chunk, in order, with the tool's context", async () => {
    const told: unknown[] = [];
    const x = {
      inputSchema: schema,
      onInputStart: ({ toolCallId, context }: Record<string, unknown>) =>
        void told.push(["start", toolCallId, context]),
      onInputDelta: async ({ inputTextDelta }: Record<string, unknown>) => void told.push(inputTextDelta),
      onInputAvailable: ({ input }: Record<string, unknown>) => void told.push(input),
    };
    const parts = await readAll(await called({ model: playing(asked), tools: { x }, toolsContext: { x: 7 } }));
    expect(lastOf(parts).kind).toBe("end");
    expect(told).toEqual([["start", "c", 7], '{"city":"Bern"}', { city: "Bern" }]);
  });

  test("that throw refuse the step", async () => {
    const x = {
      inputSchema: schema,
      onInputAvailable: () => {
        throw new Error("not mine");
      },
    };
    const parts = await readAll(await called({ model: playing(asked), tools: { x } }));
    expect(chunksOf(parts).at(-1)).toMatchObject({ type: "tool-input-available" });
    expect(lastOf(parts)).toMatchObject({ kind: "fault", fault: { kind: "refused", message: "not mine" } });
  });

  test("repair is asked with the user's own tools, and refinement has the last word", async () => {
    const tools = { x: tool({ inputSchema: schema, execute: async () => 1 }) };
    let given: unknown;
    const model = playing([
      { type: "tool-call", toolCallId: "c", toolName: "x", input: '{"town":1}' },
      finish("tool-calls"),
    ]);
    const parts = await readAll(
      await called({
        model,
        tools,
        repairToolCall: async (asking: { toolCall: object; tools: unknown }) => {
          given = asking.tools;
          return { ...asking.toolCall, input: '{"city":"Thun"}' };
        },
        refineToolInput: { x: (input: { city: string }) => ({ city: input.city.toUpperCase() }) },
      }),
    );
    expect(given).toBe(tools);
    expect(chunksOf(parts)).toMatchObject([{ type: "tool-input-available", input: { city: "THUN" } }]);
  });

  test("an invalid call is one error chunk, and its repeat by the SDK is swallowed", async () => {
    const model = playing([
      { type: "tool-call", toolCallId: "1", toolName: "x", input: '{"town":1}' },
      { type: "tool-call", toolCallId: "2", toolName: "nope", input: "{}" },
      { type: "tool-call", toolCallId: "3", toolName: "x", input: "{broken" },
      finish("tool-calls"),
    ]);
    const parts = await readAll(await called({ model, tools: { x: tool({ inputSchema: schema }) } }));
    expect(brief(chunksOf(parts))).toEqual(["tool-input-error:1", "tool-input-error:2", "tool-input-error:3"]);
    expect(chunksOf(parts)[1]?.["errorText"]).toMatch(/^AI_NoSuchToolError: /);
    expect(lastOf(parts)).toMatchObject({ kind: "end", summary: { finishReason: "tool-calls" } });
  });

  test("an input that the schema made unfit for JSON is an error of the call, not of the step", async () => {
    const big = tool({
      inputSchema: jsonSchema({ type: "object" }, { validate: () => ({ success: true, value: { n: 1n } }) }),
    });
    const dated = tool({ inputSchema: z.object({ city: z.number().transform((ms) => new Date(ms)) }) });
    const call = (toolName: string): Part => ({
      type: "tool-call",
      toolCallId: toolName,
      toolName,
      input: '{"city":0}',
    });
    const model = playing([call("big"), call("dated"), finish("tool-calls")]);
    const parts = await readAll(await called({ model, tools: { big, dated } }));
    expect(chunksOf(parts)).toMatchObject([
      { type: "tool-input-error", toolCallId: "big", errorText: expect.stringMatching(/"big" is not JSON/) },
      { type: "tool-input-available", input: { city: "1970-01-01T00:00:00.000Z" } },
    ]);
  });
});

describe("fingerprint", () => {
  const print = async (tools: Record<string, unknown>, activeTools?: string[]) =>
    (await prepared({ model, tools, ...(activeTools ? { activeTools } : {}) })).fingerprint;

  test("names the model and the offered tools, and changes with their schemas only", async () => {
    const a = {
      a: tool({ inputSchema: schema }),
      b: dynamicTool({ inputSchema: z.object({}), execute: async () => 1 }),
    };
    const one = await print(a);
    expect(one).toMatch(/^mock\.chat:mock-1 a#\w+ b#\w+$/);
    expect(await print({ b: a.b, a: tool({ inputSchema: z.object({ city: z.string() }) }) })).toBe(one);
    expect(await print({ ...a, a: tool({ inputSchema: z.object({ city: z.number() }) }) })).not.toBe(one);
    expect(await print(a, ["a"])).toMatch(/^mock\.chat:mock-1 a#\w+$/);
    expect(await print({})).toBe("mock.chat:mock-1");
  });

  test("stays short with many tools, and does not fail on a schema that cannot be converted", async () => {
    const many = Object.fromEntries(
      Array.from({ length: 100 }, (_, i) => [`tool_number_${i}`, tool({ inputSchema: schema })]),
    );
    expect((await print(many)).length).toBeLessThan(80);
    expect(await print({ a: { inputSchema: z.object({ at: z.date() }) } })).toBe("mock.chat:mock-1 a#?");
  });
});

test("a schema is converted once, however many tools and steps use it", async () => {
  let conversions = 0;
  const counted = jsonSchemaOf(() => {
    conversions++;
    return { type: "object" };
  });
  for (let step = 0; step < 5; step++) {
    await readAll(await called({ model, tools: { a: { inputSchema: counted }, b: { inputSchema: counted } } }));
  }
  expect(conversions).toBe(1);
});

/** A schema of another vendor, which the SDK converts anew each time it is asked. */
function jsonSchemaOf(input: () => object) {
  const standard = { vendor: "house", version: 1, validate: (value: unknown) => ({ value }), jsonSchema: { input } };
  return { "~standard": standard };
}

test("durableTool takes our fields with full types, and gives a tool of the SDK", async () => {
  const pay = durableTool({
    description: "Pays",
    inputSchema: z.object({ amount: z.number() }),
    execute: async ({ amount }, { idempotencyKey, stillOwner, run, repeats, abortSignal }) => {
      if (!(await stillOwner())) throw new Error("not ours");
      return { receipt: `${idempotencyKey}:${amount.toFixed(2)}`, again: run > 1 || repeats !== null, abortSignal };
    },
    recovery: {
      reconcile: async ({ input, idempotencyKey }) =>
        input.amount > 0
          ? { outcome: "output", output: { receipt: idempotencyKey, again: true, abortSignal: undefined } }
          : undefined,
    },
    timeoutMs: 1_000,
  });
  // @ts-expect-error: `recovery` is one of three
  durableTool({ inputSchema: z.object({}), execute: async () => 1, recovery: "sometimes" });
  const later = durableTool(tool({ inputSchema: schema, execute: async () => 1 }), { recovery: "retry" });
  const tools = { pay, later } satisfies import("ai").ToolSet;
  const step = await prepared({ model, tools });
  expect([step.tool("pay"), step.tool("later")]).toMatchObject([
    { policy: "reconcile", timeoutMs: 1_000 },
    { policy: "retry", executable: true },
  ]);
  expect(await step.reconcile(run("pay", { amount: 1 }))).toMatchObject({
    outcome: "output",
    output: { receipt: "key-1" },
  });
});
