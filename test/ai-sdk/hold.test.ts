import { describe, expect, test } from "vitest";
import { holdBack } from "../../src/adapters/ai-sdk/hold.ts";
import { finish, type Part, streamOf } from "./support/model.ts";

const start: Part = { type: "text-start", id: "t" };
const delta: Part = { type: "text-delta", id: "t", delta: "x" };
const end: Part = { type: "text-end", id: "t" };
const inputStart: Part = { type: "tool-input-start", id: "c", toolName: "pay" };
const inputEnd: Part = { type: "tool-input-end", id: "c" };
const call = (input: string, id = "c"): Part => ({ type: "tool-call", toolCallId: id, toolName: "pay", input });
const error: Part = { type: "error", error: "broken" };

async function through(
  parts: readonly Part[],
  options: { broken?: { error: unknown }; mute?: boolean } = {},
): Promise<Part[]> {
  const out: Part[] = [];
  for await (const part of holdBack(streamOf(parts, options.broken), options.mute ?? false)) out.push(part);
  return out;
}

const types = (parts: readonly Part[]): string[] =>
  parts.map((part) => (part.type === "tool-call" ? part.input : part.type));

describe("[T9] a *-end or a complete call only when the next part proved the stream sound", () => {
  test("a sound answer is unchanged, in order", async () => {
    const sound = [
      start,
      delta,
      end,
      inputStart,
      inputEnd,
      call("{}"),
      call("{", "d"),
      { type: "ping" } as const,
      finish(),
    ];
    expect(await through(sound)).toEqual(sound);
  });

  test("an end is not given before the part after it was read", async () => {
    let feed: ReadableStreamDefaultController<Part> | undefined;
    const source = new ReadableStream<Part>({
      start(controller) {
        feed = controller;
      },
    });
    const reader = holdBack(source, false).getReader();
    for (const part of [start, end]) feed?.enqueue(part);
    expect((await reader.read()).value).toEqual(start);
    const waiting = reader.read();
    expect(await Promise.race([waiting, new Promise((resolve) => setTimeout(resolve, 20, "held"))])).toBe("held");
    feed?.enqueue(inputStart);
    expect((await waiting).value).toEqual(end);
    expect((await reader.read()).value).toEqual(inputStart);
  });

  const flushed = [start, delta, end, inputStart, inputEnd, call('{"amount":1')];
  test.each<[string, readonly Part[], { broken?: { error: unknown } }]>([
    ["finish interrupted (openai.chat, groq)", [...flushed, finish("interrupted")], {}],
    ["error part, then finish error (openai-compatible)", [...flushed, error, finish("error")], {}],
    ["finish error", [...flushed, finish("error")], {}],
    ["finish without a reason (packages before `interrupted`)", [...flushed, finish("other", null)], {}],
    ["end without a finish", flushed, {}],
    ["socket reset", flushed, { broken: { error: new TypeError("terminated") } }],
  ])("%s: the open call stays open, the cut one is dropped", async (_, parts, options) => {
    const out = await through(parts, options);
    expect(types(out)).toEqual(["text-start", "text-delta", "text-end", "tool-input-start", "error"]);
  });

  test.each(["{}", '{"amount":1}', ' {"a":{}} '])(
    "a call that is whole, %s, is given before the fault",
    async (input) => {
      for (const tail of [[finish("interrupted")], [error], []]) {
        expect(types(await through([start, end, inputEnd, call(input), ...tail]))).toEqual([
          "text-start",
          input,
          "error",
        ]);
      }
    },
  );

  test.each(["", "{", "null", "[]", "3", '"text"', '{"a":1}}'])(
    "a call that is not an object, %s, is dropped",
    async (input) => {
      expect(types(await through([start, call(input), finish("interrupted")]))).toEqual(["text-start", "error"]);
    },
  );

  test("what breaks says why, once, and nothing follows", async () => {
    const last = async (parts: readonly Part[], broken?: { error: unknown }) => {
      const out = await through(parts, broken ? { broken } : {});
      expect(out.filter((part) => part.type === "error")).toHaveLength(1);
      return String((out.at(-1) as { error: unknown }).error);
    };
    expect(await last([start])).toMatch("ended without a finish");
    expect(await last([start, error, error, delta])).toBe("broken");
    expect(await last([finish("error", "overloaded")])).toMatch("overloaded");
    expect(await last([start], { error: new Error("socket hang up") })).toMatch("socket hang up");
  });

  test("`other` with the provider's own word for it is an end; so is any `other` of a model that has no raw reasons", async () => {
    expect(types(await through([start, end, finish("other", "max_time")]))).toEqual([
      "text-start",
      "text-end",
      "finish",
    ]);
    const mute = await through([start, end, finish("other", null)], { mute: true });
    expect(types(mute)).toEqual(["text-start", "text-end", "finish"]);
  });

  test("a failure after the finish is none", async () => {
    expect(types(await through([start, end, finish()], { broken: { error: new Error("late") } }))).toEqual([
      "text-start",
      "text-end",
      "finish",
    ]);
  });

  test("a provider that goes on after its error is cancelled", async () => {
    let cancelled = false;
    const source = new ReadableStream<Part>({
      start: (controller) => controller.enqueue(error),
      cancel: () => {
        cancelled = true;
        return new Promise(() => {});
      },
    });
    const reader = holdBack(source, false).getReader();
    expect((await reader.read()).value).toEqual(error);
    expect((await reader.read()).done).toBe(true);
    expect(cancelled).toBe(true);
  });
});
