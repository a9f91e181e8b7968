/**
 * A final message as chunks that replay to it: what is shown of a turn whose log is past its time. The SDK's client
 * must end with an equal message (W7), so each part becomes the chunks that would have built it.
 *
 * Cannot be told through chunks, because the client's own fold drops it: `filename` and `providerReference` of an
 * assistant's file, and a text or reasoning part without `state` (it comes back as `done`). Logs cannot make either.
 */

import { type Fields, pick, toolChunks } from "./snapshot-tool.ts";
import { type Chunk, isToolPart, type Part, type UiMessage } from "./transcript.ts";

/** How the turn ended, as the last chunk of its log said it. */
export type SnapshotEnd =
  | { readonly type: "finish"; readonly finishReason?: string }
  | { readonly type: "abort"; readonly reason?: string }
  | { readonly type: "error"; readonly errorText: string };

/** The chunks of a whole stream: `start` with the message's id, its parts, and `end`. */
export function snapshotChunks(message: UiMessage, end: SnapshotEnd = { type: "finish" }): readonly Chunk[] {
  const chunks: Chunk[] = [
    { type: "start", messageId: message.id, ...pick({ messageMetadata: message.metadata }, ["messageMetadata"]) },
  ];
  let stepOpen = false;
  message.parts.forEach((part, index) => {
    if (part.type === "step-start") {
      if (stepOpen) chunks.push({ type: "finish-step" });
      stepOpen = true;
    }
    chunks.push(...partChunks(part, index));
  });
  if (stepOpen) chunks.push({ type: "finish-step" });
  chunks.push(end);
  return chunks;
}

function partChunks(part: Part, index: number): readonly Chunk[] {
  if (isToolPart(part)) return toolChunks(part);
  if (part.type.startsWith("data-")) return [{ type: part.type, ...pick(part, ["id"]), data: part["data"] ?? null }];
  switch (part.type) {
    case "step-start":
      return [{ type: "start-step" }];
    case "text":
      return spoken("text", part, `text-${index}`, pick(part, ["citations"]));
    case "reasoning":
      // The client keeps the chunk's id in a reasoning part, and in no other.
      return spoken("reasoning", part, typeof part["id"] === "string" ? part["id"] : `reasoning-${index}`, {});
    case "source-url":
      return [{ type: part.type, ...pick(part, ["sourceId", "url", "title", "providerMetadata"]) }];
    case "source-document":
      return [{ type: part.type, ...pick(part, ["sourceId", "mediaType", "title", "filename", "providerMetadata"]) }];
    case "file":
    case "reasoning-file":
      return [{ type: part.type, ...pick(part, ["mediaType", "url", "providerMetadata"]) }];
    case "custom":
      return [{ type: part.type, ...pick(part, ["kind", "providerMetadata"]) }];
    case "steering-message":
      return [{ type: part.type, ...pick(part, ["id", "parts"]) }];
    default:
      // A chunk of an unknown type fails the whole stream in every stock client: one part less is the smaller harm.
      return [];
  }
}

/** `endFields` travel on the end chunk, and so only with a part that has ended. */
function spoken(kind: "text" | "reasoning", part: Part, id: string, endFields: Fields): readonly Chunk[] {
  const text = typeof part["text"] === "string" ? part["text"] : "";
  const chunks: Chunk[] = [{ type: `${kind}-start`, id, ...pick(part, ["providerMetadata"]) }];
  if (text !== "") chunks.push({ type: `${kind}-delta`, id, delta: text });
  if (part["state"] !== "streaming") chunks.push({ type: `${kind}-end`, id, ...endFields });
  return chunks;
}
