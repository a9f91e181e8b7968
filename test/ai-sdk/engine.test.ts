import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { createProviderRegistry, customProvider, tool, wrapLanguageModel } from "ai";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { createEngine } from "../../src/adapters/ai-sdk/index.ts";
import type { UiMessage } from "../../src/core/transcript.ts";
import {
  brief,
  called,
  chunksOf,
  finish,
  lastOf,
  modelOf,
  type Part,
  playing,
  prepared,
  readAll,
  streamOf,
} from "./support/model.ts";

const engine = createEngine();

describe("describe", () => {
  afterEach(() => {
    globalThis.AI_SDK_DEFAULT_PROVIDER = undefined;
  });

  test("says who a model is and whether it goes on with its own text", () => {
    const haiku = modelOf(async () => streamOf([]), { provider: "anthropic.messages", modelId: "claude-haiku-4-5" });
    expect(engine.describe(haiku)).toEqual({
      origin: "anthropic.messages:claude-haiku-4-5",
      profile: { prefill: true },
    });
    expect(engine.describe(playing([]))).toEqual({ origin: "mock.chat:mock-1", profile: { prefill: false } });
  });

  test("an id is resolved as the SDK does it: the default provider, else the gateway", () => {
    expect(engine.describe("openai/gpt-x").origin).toBe("gateway:openai/gpt-x");
    globalThis.AI_SDK_DEFAULT_PROVIDER = createProviderRegistry({
      house: customProvider({ languageModels: { fast: playing([]) } }),
    }) as never;
    expect(engine.describe("house:fast").origin).toBe("mock.chat:mock-1");
  });

  test("what is no model is a programmer's error", () => {
    for (const model of [undefined, null, {}, 3]) expect(() => engine.describe(model)).toThrow(/language model/);
  });
});

describe("modelMessages", () => {
  const user = { id: "u", role: "user", parts: [{ type: "text", text: "hi" }] } as const;
  const convert = (parts: UiMessage["parts"], tools = {}) =>
    engine.modelMessages([user, { id: "a", role: "assistant", parts }], tools);

  test("applies toModelOutput of the tools that exist", async () => {
    const part = {
      type: "tool-x",
      toolCallId: "1",
      state: "output-available",
      input: { city: "Bern" },
      output: { c: 3 },
    };
    const x = tool({
      inputSchema: z.object({ city: z.string() }),
      execute: async () => ({ c: 1 }),
      toModelOutput: ({ output }) => ({ type: "text", value: `${output.c} degrees` }),
    });
    expect(await convert([part], { x })).toMatchObject([
      { role: "user" },
      { role: "assistant", content: [{ type: "tool-call", toolName: "x" }] },
      { role: "tool", content: [{ type: "tool-result", output: { type: "text", value: "3 degrees" } }] },
    ]);
    expect(await convert([part], {})).toMatchObject([
      {},
      {},
      { content: [{ output: { type: "json", value: { c: 3 } } }] },
    ]);
  });

  test("does not fail on data parts, step starts, unknown parts, or tools that are gone", async () => {
    const messages = await convert([
      { type: "step-start" },
      { type: "data-weather", data: { c: 3 } },
      { type: "from-the-future", what: 1 },
      { type: "text", text: "Well", state: "done" },
      {
        type: "dynamic-tool",
        toolName: "gone",
        toolCallId: "1",
        state: "output-error",
        input: {},
        errorText: "Error: no",
      },
      { type: "tool-constructor", toolCallId: "2", state: "output-available", input: {}, output: null },
      { type: "step-start" },
      { type: "source-url", sourceId: "s", url: "https://example.com" },
      { type: "custom", kind: "anthropic.message_start", providerMetadata: { anthropic: { id: "m" } } },
      { type: "text", text: "Done", state: "done" },
    ]);
    expect(messages.map((message) => (message as { role: string }).role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
    ]);
  });
});

describe("a call", () => {
  test("carries system, settings, tools and tool choice to the provider, and nothing else of the settings", async () => {
    let seen: LanguageModelV4CallOptions | undefined;
    const model = modelOf(async (options) => {
      seen = options;
      return streamOf([finish("tool-calls")]);
    });
    await readAll(
      await called({
        model,
        system: [{ role: "system", content: "Be brief", providerOptions: { a: { cache: true } } }],
        messages: [
          { role: "system", content: "from the past" },
          { role: "user", content: "hi" },
        ],
        tools: {
          a: tool({ description: ({ context }) => `for ${String(context)}`, inputSchema: z.object({ x: z.string() }) }),
          b: tool({ inputSchema: z.object({}) }),
        },
        activeTools: ["a"],
        toolChoice: { type: "tool", toolName: "a" },
        toolsContext: { a: "ada" },
        settings: {
          maxOutputTokens: 9,
          temperature: 0.5,
          stopSequences: ["x"],
          seed: 1,
          headers: { h: "1" },
          providerOptions: { mock: { o: 1 } },
          reasoning: "low",
          maxRetries: 9,
          messages: [],
          abortSignal: AbortSignal.abort(),
        },
      }),
    );
    expect(seen).toMatchObject({
      maxOutputTokens: 9,
      temperature: 0.5,
      stopSequences: ["x"],
      seed: 1,
      headers: { h: "1" },
      providerOptions: { mock: { o: 1 } },
      reasoning: "low",
      toolChoice: { type: "tool", toolName: "a" },
      tools: [
        { type: "function", name: "a", description: "for ada", inputSchema: { properties: { x: { type: "string" } } } },
      ],
      prompt: [
        { role: "system", content: "Be brief", providerOptions: { a: { cache: true } } },
        { role: "system", content: "from the past" },
        { role: "user", content: [{ type: "text", text: "hi" }] },
      ],
    });
    expect(seen).not.toHaveProperty("maxRetries");
    expect(seen?.tools).toHaveLength(1);
  });

  test("gives what the provider says of the response, and the summary", async () => {
    const parts = await readAll(
      await called({
        model: playing([
          { type: "stream-start", warnings: [] },
          { type: "response-metadata", id: "r1" },
          { type: "response-metadata", modelId: "mock-1-2026", timestamp: new Date(0) },
          { type: "ping" },
          { type: "raw", rawValue: { any: 1 } },
          { type: "from-the-future" } as unknown as Part,
          finish("length"),
        ]),
      }),
    );
    expect(parts).toEqual([
      { kind: "response", id: "r1" },
      { kind: "response", model: "mock-1-2026" },
      {
        kind: "end",
        summary: {
          finishReason: "length",
          model: "mock-1-2026",
          responseId: "r1",
          usage: {
            inputTokens: 3,
            inputTokenDetails: { noCacheTokens: 3 },
            outputTokens: 5,
            outputTokenDetails: { textTokens: 5 },
            totalTokens: 8,
          },
        },
      },
    ]);
  });

  test("a response that does not name its model has the model that was asked", async () => {
    expect(lastOf(await readAll(await called({ model: playing([finish()]) })))).toEqual({
      kind: "end",
      summary: { finishReason: "stop", model: "mock-1", usage: expect.anything() },
    });
  });

  test("drops empty text without metadata, and keeps empty reasoning, which carries signatures", async () => {
    const parts = await readAll(
      await called({
        model: playing([
          { type: "reasoning-start", id: "r" },
          { type: "reasoning-delta", id: "r", delta: "", providerMetadata: { a: { signature: "s" } } },
          { type: "reasoning-delta", id: "r", delta: "" },
          { type: "reasoning-end", id: "r" },
          { type: "text-start", id: "t" },
          { type: "text-delta", id: "t", delta: "" },
          { type: "text-delta", id: "t", delta: "", providerMetadata: { a: { x: 1 } } },
          { type: "text-end", id: "t" },
          finish(),
        ]),
      }),
    );
    expect(brief(chunksOf(parts))).toEqual([
      "reasoning-start:r",
      "reasoning-delta:",
      "reasoning-delta:",
      "reasoning-end:r",
      "text-start:t",
      "text-delta:",
      "text-end:t",
    ]);
  });

  test("a model of an earlier version of the protocol works, and user middleware runs inside our wrapper", async () => {
    const seen: string[] = [];
    const old = {
      specificationVersion: "v2" as const,
      provider: "old",
      modelId: "v2",
      supportedUrls: {},
      doGenerate: () => Promise.reject(new Error("not used")),
      doStream: async () => ({
        stream: new ReadableStream({
          start(controller) {
            controller.enqueue({ type: "text-start", id: "0" });
            controller.enqueue({ type: "text-delta", id: "0", delta: "old" });
            controller.enqueue({ type: "text-end", id: "0" });
            controller.enqueue({ type: "finish", finishReason: "unknown", usage: { inputTokens: 1, outputTokens: 1 } });
            controller.close();
          },
        }),
      }),
    };
    const wrapped = wrapLanguageModel({
      model: playing([{ type: "text-start", id: "0" }, finish("interrupted")]),
      middleware: {
        specificationVersion: "v4",
        wrapStream: async ({ doStream }) => {
          const { stream, ...rest } = await doStream();
          const watch = new TransformStream<Part, Part>({
            transform(part, controller) {
              seen.push(part.type);
              controller.enqueue(part);
            },
          });
          return { ...rest, stream: stream.pipeThrough(watch) };
        },
      },
    });
    globalThis.AI_SDK_LOG_WARNINGS = false;
    expect(lastOf(await readAll(await called({ model: old })))).toMatchObject({
      kind: "end",
      summary: { finishReason: "other" },
    });
    expect(lastOf(await readAll(await called({ model: wrapped })))).toMatchObject({ fault: { kind: "cut" } });
    expect(seen).toEqual(["text-start", "finish"]);
  });

  test("a profile that the class gives replaces ours", async () => {
    expect((await prepared({ model: playing([]) })).profile).toEqual({ prefill: false });
    expect((await prepared({ model: playing([]), profile: { prefill: true } })).profile).toEqual({ prefill: true });
  });
});
