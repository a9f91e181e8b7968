/** What the SDK's own client makes of a stream. */
import { readUIMessageStream, type UIMessageChunk } from "ai";
import type { Chunk, Part } from "../../src/core/transcript.ts";

export async function sdkParts(chunks: readonly Chunk[]): Promise<Part[]> {
  const stream = ReadableStream.from(chunks) as ReadableStream<UIMessageChunk>;
  const failed: unknown[] = [];
  let parts: unknown[] = [];
  // The SDK writes a message only when something can be seen of it: a mark at the end shows what came after that.
  for await (const message of readUIMessageStream({ stream, onError: (error) => failed.push(error) })) {
    parts = message.parts;
  }
  if (failed.length > 0) throw failed[0];
  return json(parts) as Part[];
}

/** As it is stored: fields that are undefined are not there. */
export function json(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
