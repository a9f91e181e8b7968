/** Models that play parts, and readers of what becomes of them. */
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { createEngine } from "../../../src/adapters/ai-sdk/index.ts";
import type { Chunk } from "../../../src/core/transcript.ts";
import type { ModelPart, ModelStream, PreparedStep } from "../../../src/ports/behaviour.ts";
import type { EngineStep } from "../../../src/ports/engine.ts";

export type Part = LanguageModelV4StreamPart;

export function modelOf(
  doStream: (options: LanguageModelV4CallOptions) => Promise<ReadableStream<Part>>,
  named: { provider?: string; modelId?: string } = {},
): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: named.provider ?? "mock.chat",
    modelId: named.modelId ?? "mock-1",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("not used")),
    doStream: async (options) => ({ stream: await doStream(options) }),
  };
}

/** Plays the parts, then ends, or breaks with `broken`. */
export function streamOf(parts: readonly Part[], broken?: { readonly error: unknown }): ReadableStream<Part> {
  let next = 0;
  return new ReadableStream<Part>(
    {
      pull(controller) {
        const part = parts[next++];
        if (part) controller.enqueue(part);
        else if (broken) controller.error(broken.error);
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

export const playing = (parts: readonly Part[], broken?: { readonly error: unknown }): LanguageModelV4 =>
  modelOf(async () => streamOf(parts, broken));

export const usage = {
  inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
};

type Unified = Extract<Part, { type: "finish" }>["finishReason"]["unified"];

export const finish = (unified: Unified = "stop", raw: string | null = unified): Part => ({
  type: "finish",
  finishReason: { unified, raw: raw ?? undefined },
  usage,
});

export function prepared(step: Partial<EngineStep> & { readonly model: unknown }): Promise<PreparedStep> {
  return createEngine().prepare({ messages: [{ role: "user", content: "hi" }], tools: {}, maxSteps: 5, ...step });
}

export async function called(
  step: Partial<EngineStep> & { readonly model: unknown },
  signal?: AbortSignal,
): Promise<ModelStream> {
  return (await prepared(step)).call(signal ?? new AbortController().signal);
}

export async function readAll(stream: ModelStream): Promise<ModelPart[]> {
  const parts: ModelPart[] = [];
  for (;;) {
    const part = await stream.read();
    parts.push(part);
    if (part.kind === "end" || part.kind === "fault") return parts;
  }
}

export const chunksOf = (parts: readonly ModelPart[]): Chunk[] =>
  parts.flatMap((part) => (part.kind === "chunk" ? [part.chunk] : []));

export function lastOf(parts: readonly ModelPart[]): Extract<ModelPart, { kind: "end" | "fault" }> {
  const last = parts.at(-1);
  if (last?.kind !== "end" && last?.kind !== "fault") throw new Error("the stream did not end");
  return last;
}

/** `text-start:0 text-delta:Hel`: enough of a chunk to say what a test means. */
export const brief = (chunks: readonly Chunk[]): string[] =>
  chunks.map((chunk) => {
    const label = chunk["delta"] ?? chunk["inputTextDelta"] ?? chunk["toolCallId"] ?? chunk["id"] ?? chunk["kind"];
    return `${chunk.type}:${String(label)}`;
  });
