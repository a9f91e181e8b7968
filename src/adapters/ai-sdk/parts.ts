/** One part of the SDK's stream as one part of ours. */
import { type Experimental_LanguageModelStreamPart as SdkPart, type ToolSet, toUIMessageChunk } from "ai";
import type { Chunk } from "../../core/transcript.ts";
import type { ModelPart } from "../../ports/behaviour.ts";
import { plain } from "./plain.ts";
import type { Tools } from "./tools.ts";

/** What is shown. Everything else, also what later versions invent, is passed over: an unknown chunk kills stock clients. */
const content = new Set([
  "custom",
  "file",
  "reasoning-delta",
  "reasoning-end",
  "reasoning-file",
  "reasoning-start",
  "source",
  "text-delta",
  "text-end",
  "text-start",
  "tool-approval-request",
  "tool-call",
  "tool-error",
  "tool-input-delta",
  "tool-input-start",
  "tool-result",
]);

export function contentOf(part: SdkPart, tools: Tools): ModelPart | null {
  if (part.type === "model-call-response-metadata") {
    return {
      kind: "response",
      ...(part.id === undefined ? {} : { id: part.id }),
      ...(part.modelId === undefined ? {} : { model: part.modelId }),
    };
  }
  if (!content.has(part.type)) return null;
  if (part.type === "text-delta" && part.text === "" && part.providerMetadata == null) return null;
  // No tool runs here: an error that the provider did not report repeats the `tool-input-error` before it.
  if (part.type === "tool-error" && part.providerExecuted !== true) return null;
  const chunk = toUIMessageChunk(part as Parameters<typeof toUIMessageChunk>[0], {
    tools: tools as ToolSet,
    sendSources: true,
  });
  return chunk === undefined ? null : { kind: "chunk", chunk: storable(chunk as Chunk) };
}

/** Inputs pass through users' schemas, which may make anything of them. */
function storable(chunk: Chunk): Chunk {
  if (chunk.type === "tool-output-available")
    return { ...chunk, output: plain(chunk["output"], "The output of a tool") };
  if (chunk.type !== "tool-input-available") return chunk;
  try {
    return { ...chunk, input: plain(chunk["input"], `The input of tool "${String(chunk["toolName"])}"`) };
  } catch (error) {
    return { ...chunk, type: "tool-input-error", input: {}, errorText: String(error) };
  }
}
