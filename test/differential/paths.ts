/** Ways from a sequence to the chunks that a client is sent. */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { isStepCount, streamText, type ToolSet, type UIMessageChunk } from "ai";
import { createEngine } from "../../src/adapters/ai-sdk/index.ts";
import { errorText } from "../../src/core/errors.ts";
import type { Chunk } from "../../src/core/transcript.ts";
import type { ModelStream, PreparedStep } from "../../src/ports/behaviour.ts";
import { modelOf, streamOf } from "../ai-sdk/support/model.ts";
import type { Sequence } from "./sequences.ts";

export type Path = (sequence: Sequence) => Promise<Chunk[]>;

export const messageId = "m1";
const messages = [{ role: "user" as const, content: "hi" }];

export function modelFor(sequence: Sequence): LanguageModelV4 {
  let step = 0;
  return modelOf(async () => {
    const parts = sequence.steps[step++];
    if (!parts) throw new Error("one step too many");
    const last = step === sequence.steps.length && "broken" in sequence;
    return streamOf(parts, last ? { error: sequence.broken } : undefined);
  });
}

const plain = (chunk: object): Chunk => JSON.parse(JSON.stringify(chunk)) as Chunk;

/** The SDK's own, path A. A stream that rejects is told as a chunk `rejected`. */
export const chunksOfSdk: Path = async (sequence) => {
  const chunks: Chunk[] = [];
  const result = streamText({
    model: modelFor(sequence),
    messages,
    tools: sequence.tools() as ToolSet,
    stopWhen: isStepCount(sequence.steps.length),
    maxRetries: 0,
    onError: () => {},
  });
  const stream = result.toUIMessageStream({
    originalMessages: [],
    generateMessageId: () => messageId,
    sendSources: true,
    sendReasoning: true,
  }) as AsyncIterable<UIMessageChunk>;
  try {
    for await (const chunk of stream) chunks.push(plain(chunk));
  } catch {
    chunks.push({ type: "rejected" });
  }
  return chunks;
};

/** Ours: the engine in the smallest loop that can be. A fault is told as a chunk `fault`, and ends the turn. */
export const chunksOfOurs: Path = async (sequence) => {
  const chunks: Chunk[] = [{ type: "start", messageId }];
  const step = await createEngine().prepare({
    model: modelFor(sequence),
    messages,
    tools: sequence.tools(),
    maxSteps: sequence.steps.length,
  });
  for (let index = 0; index < sequence.steps.length; index++) {
    const finishReason = await runStep(step, await step.call(new AbortController().signal), (chunk) =>
      chunks.push(plain(chunk)),
    );
    if (finishReason === null) return chunks;
    if (index === sequence.steps.length - 1) chunks.push({ type: "finish", finishReason });
  }
  return chunks;
};

async function runStep(step: PreparedStep, stream: ModelStream, give: (chunk: Chunk) => void): Promise<string | null> {
  const calls: Chunk[] = [];
  for (let begun = false; ; begun = true) {
    const part = await stream.read();
    if (part.kind === "fault") {
      give({ type: "fault" });
      return null;
    }
    if (!begun) give({ type: "start-step" });
    if (part.kind === "end") {
      const { finishReason } = part.summary;
      if (["stop", "tool-calls"].includes(finishReason))
        await Promise.all(calls.map((call) => runTool(step, call, give)));
      give({ type: "finish-step" });
      return finishReason;
    }
    if (part.kind !== "chunk") continue;
    give(part.chunk);
    if (part.chunk.type === "tool-input-available" && part.chunk["providerExecuted"] !== true) calls.push(part.chunk);
  }
}

async function runTool(step: PreparedStep, call: Chunk, give: (chunk: Chunk) => void): Promise<void> {
  const {
    toolCallId,
    toolName,
    input,
    type: _,
    title: __,
    ...kept
  } = call as Chunk & { toolCallId: string; toolName: string };
  if (step.tool(toolName)?.executable !== true) return;
  const run = {
    turn: "t",
    ordinal: 0,
    tool: toolName,
    toolCallId,
    input,
    idempotencyKey: toolCallId,
    run: 1,
    repeats: null,
    signal: new AbortController().signal,
    stillOwner: async () => true,
  };
  try {
    for await (const { final, output } of step.execute(run)) {
      give({ type: "tool-output-available", toolCallId, output, ...kept, ...(final ? {} : { preliminary: true }) });
    }
  } catch (error) {
    give({
      type: "tool-output-error",
      toolCallId,
      errorText: `${(error as Error).name}: ${errorText(error)}`,
      ...kept,
    });
  }
}
