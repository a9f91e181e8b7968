/** A turn's chunks as a client folds them into parts. Written from the SDK's documents, apart from the runtime's fold. */
import type { Chunk, Part } from "../../core/transcript.ts";

type Growing = Record<string, unknown> & { type: string };

export function foldLog(chunks: readonly Chunk[]): Part[] {
  const parts: Growing[] = [];
  const open = new Map<string, Growing>();
  for (const chunk of chunks) {
    if (chunk.type === "start-step") parts.push({ type: "step-start" });
    else if (chunk.type.startsWith("text-") || chunk.type.startsWith("reasoning-")) foldSpoken(chunk, parts, open);
    else if (chunk.type === "source-url") parts.push({ ...chunk });
    else if (chunk.type.startsWith("tool-")) foldCall(chunk, parts);
  }
  return parts;
}

function foldSpoken(chunk: Chunk, parts: Growing[], open: Map<string, Growing>): void {
  const [type = "", phase] = chunk.type.split("-");
  const slot = `${type}:${String(chunk["id"])}`;
  if (phase === "start") {
    const part: Growing = { type, text: "", state: "streaming", ...(type === "reasoning" ? { id: chunk["id"] } : {}) };
    parts.push(part);
    open.set(slot, part);
  }
  const part = open.get(slot);
  if (!part) return;
  if (phase === "delta") part["text"] = `${String(part["text"])}${String(chunk["delta"])}`;
  if (phase === "end") part["state"] = "done";
  if (chunk["providerMetadata"] !== undefined) part["providerMetadata"] = chunk["providerMetadata"];
}

function foldCall(chunk: Chunk, parts: Growing[]): void {
  const toolCallId = chunk["toolCallId"];
  let part = parts.findLast((known) => known["toolCallId"] === toolCallId);
  if (!part) {
    part = { type: `tool-${String(chunk["toolName"])}`, toolCallId, state: "input-streaming" };
    parts.push(part);
  }
  switch (chunk.type) {
    case "tool-input-delta":
      part["rawInput"] = `${String(part["rawInput"] ?? "")}${String(chunk["inputTextDelta"])}`;
      return;
    case "tool-input-available":
      Object.assign(part, { state: "input-available", input: chunk["input"] });
      delete part["rawInput"];
      return;
    case "tool-input-error":
      Object.assign(part, { state: "output-error", input: chunk["input"], errorText: chunk["errorText"] });
      delete part["rawInput"];
      return;
    case "tool-output-available":
      Object.assign(part, { state: "output-available", output: chunk["output"] });
      if (chunk["preliminary"] === true) part["preliminary"] = true;
      else delete part["preliminary"];
      return;
    case "tool-output-error":
      Object.assign(part, { state: "output-error", errorText: chunk["errorText"] });
      delete part["output"];
      delete part["preliminary"];
  }
}
