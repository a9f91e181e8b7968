/** A model in memory that says a given text, word by word. Asked to go on with a part of it, it says the rest. */
import { setTimeout as sleep } from "node:timers/promises";
import type { LanguageModelV4, LanguageModelV4Prompt, LanguageModelV4StreamPart } from "@ai-sdk/provider";

export interface ScriptedModelOptions {
  /** Milliseconds before each word. Default 0. */
  readonly delayMs?: number;
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** For examples and tests: no key, no network. */
export function scriptedModel(text: string, options: ScriptedModelOptions = {}): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "perdure",
    modelId: "scripted",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("The scripted model streams only.")),
    doStream: async ({ prompt, abortSignal }) => {
      const rest = text.slice(saidSoFar(prompt, text));
      return { stream: ReadableStream.from(speak(rest, options.delayMs ?? 0, abortSignal)) };
    },
  };
}

async function* speak(text: string, delayMs: number, signal?: AbortSignal): AsyncGenerator<LanguageModelV4StreamPart> {
  yield { type: "stream-start", warnings: [] };
  yield { type: "text-start", id: "text" };
  for (const delta of text.match(/\s*\S+\s*$|\s*\S+/g) ?? []) {
    if (delayMs > 0) await sleep(delayMs, undefined, signal ? { signal } : {});
    yield { type: "text-delta", id: "text", delta };
  }
  yield { type: "text-end", id: "text" };
  yield { type: "finish", usage, finishReason: { unified: "stop", raw: "stop" } };
}

/** How much of the text the answer that is to be gone on with holds. */
function saidSoFar(prompt: LanguageModelV4Prompt, text: string): number {
  for (const message of prompt.slice(-2).reverse()) {
    if (message.role !== "assistant") continue;
    const said = message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
    if (text.startsWith(said)) return said.length;
  }
  return 0;
}
