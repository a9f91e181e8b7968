/** A model of the SDK that says what a test wrote down, and remembers what it was asked. */
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { APICallError } from "@ai-sdk/provider";
import { finish, type Part } from "../ai-sdk/support/model.ts";
import type { Gate } from "../runtime/kit.ts";

export { finish, type Part };

/** Says no more, until it is stopped. */
export const hang = "hang";

/** A part; a gate that is waited for; an error that breaks the stream, or refuses the call when it comes first. */
export type Cue = Part | Gate | Error | typeof hang;
export type Reply = readonly Cue[];

export interface Script extends LanguageModelV4 {
  /** What it was asked, in order. */
  readonly calls: LanguageModelV4CallOptions[];
}

/** Answers in order; the last one again and again. A function makes its answer of what is asked. */
export function script(...replies: (Reply | ((call: LanguageModelV4CallOptions) => Reply))[]): Script {
  const calls: LanguageModelV4CallOptions[] = [];
  return {
    specificationVersion: "v4",
    provider: "mock.chat",
    modelId: "mock-1",
    supportedUrls: {},
    calls,
    doGenerate: () => Promise.reject(new Error("not used")),
    async doStream(options) {
      const reply = replies[Math.min(calls.length, replies.length - 1)] ?? [];
      calls.push(options);
      const cues = typeof reply === "function" ? reply(options) : reply;
      if (cues[0] instanceof Error) throw cues[0];
      return { stream: ReadableStream.from(play(cues, options.abortSignal)) as ReadableStream<Part> };
    },
  };
}

async function* play(cues: Reply, signal?: AbortSignal): AsyncGenerator<Part> {
  for (const cue of cues) {
    if (cue === hang) await new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    else if (cue instanceof Error) throw cue;
    else if ("opened" in cue) await cue.opened;
    else yield cue;
  }
}

/** Text without its end. */
export const words = (...texts: string[]): Part[] => [
  { type: "text-start", id: "t" },
  ...texts.map((delta): Part => ({ type: "text-delta", id: "t", delta })),
];

/** A whole answer of text. */
export const says = (...texts: string[]): Part[] => [...words(...texts), { type: "text-end", id: "t" }, finish()];

/** A whole call. */
export function call(toolName: string, input: unknown = {}, toolCallId = "c1"): Part[] {
  const json = typeof input === "string" ? input : JSON.stringify(input);
  return [
    { type: "tool-input-start", id: toolCallId, toolName },
    { type: "tool-input-delta", id: toolCallId, delta: json },
    { type: "tool-input-end", id: toolCallId },
    { type: "tool-call", toolCallId, toolName, input: json },
  ];
}

/** An answer that asks for calls. */
export const calls = (...asked: Part[][]): Part[] => [...asked.flat(), finish("tool-calls")];

export function httpError(
  statusCode: number,
  message: string,
  responseHeaders: Record<string, string> = {},
): APICallError {
  return new APICallError({
    message,
    url: "https://example.com",
    requestBodyValues: {},
    statusCode,
    responseHeaders,
    isRetryable: statusCode === 429,
    data: {},
  });
}

/** The texts of a prompt: `user: hi`. Calls and results by their names. */
export function asked(prompt: LanguageModelV4Prompt): string[] {
  return prompt.map(({ role, content }) => {
    if (typeof content === "string") return `${role}: ${content}`;
    const parts = content.map((part) => {
      if (part.type === "text" || part.type === "reasoning") return part.text;
      if (part.type === "tool-call") return `${part.toolName}(${JSON.stringify(part.input)})`;
      if (part.type === "tool-result")
        return `${part.toolName}=${JSON.stringify("value" in part.output ? part.output.value : null)}`;
      return part.type;
    });
    return `${role}: ${parts.join(" ")}`;
  });
}
