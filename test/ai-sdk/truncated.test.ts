import { jsonSchema } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Chunk } from "../../src/core/transcript.ts";
import type { ModelPart } from "../../src/ports/behaviour.ts";
import { type Recorded, recorded } from "./support/bodies.ts";
import { brief, called, chunksOf, lastOf, readAll } from "./support/model.ts";
import { type CutServer, type Manner, serveCut } from "./support/server.ts";

const tools = {
  weather: {
    inputSchema: jsonSchema({ type: "object", properties: { city: { type: "string" } }, required: ["city"] }),
    execute: async () => "never asked here",
  },
};

/** A repair that would finish any cut input, as the SDK's users write them. */
let repairs = 0;
const repairToolCall = async ({ toolCall }: { toolCall: object }) => {
  repairs++;
  return { ...toolCall, input: '{"city":"invented"}' };
};

const bytesUpTo = (body: string, text: string): number => {
  const from = body.indexOf(text);
  expect(from, `${text} is in the body`).toBeGreaterThanOrEqual(0);
  // The event is known when the blank line after it has been read.
  return Buffer.byteLength(body.slice(0, body.indexOf("\n\n", from) + 2));
};

async function inParallel(offsets: readonly number[], task: (offset: number) => Promise<void>): Promise<void> {
  const left = [...offsets];
  const worker = async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) await task(next);
  };
  await Promise.all(Array.from({ length: 24 }, worker));
}

describe.each(recorded)("[T9] $name, cut at every byte", (answer: Recorded) => {
  const bytes = Buffer.from(answer.body);
  const whole = bytesUpTo(answer.body, answer.whole);
  let server: CutServer;
  let full: readonly Chunk[];

  const read = async (upTo: number, manner: Manner): Promise<ModelPart[]> =>
    readAll(await called({ model: answer.model(server.url(upTo, manner)), tools, repairToolCall }));

  beforeAll(async () => {
    server = await serveCut(bytes);
  });
  afterAll(() => server.close());

  test("the whole body is the answer", async () => {
    const parts = await read(bytes.length, "eof");
    expect(lastOf(parts).kind).toBe("end");
    full = chunksOf(parts);
    expect(brief(full)).toEqual(answer.chunks);
  });

  /** A cut answer is the beginning of the whole one, and after it only calls that were asked for in full. */
  function checkChunks(upTo: number, chunks: readonly Chunk[]): void {
    let same = 0;
    while (same < chunks.length && JSON.stringify(chunks[same]) === JSON.stringify(full[same])) same++;
    for (const chunk of chunks.slice(same)) {
      expect(chunk.type).toBe("tool-input-available");
      expect(full).toContainEqual(chunk);
    }
    for (const chunk of chunks) {
      const [named] = brief([chunk]) as [string];
      if (chunk.type.endsWith("-end")) {
        const closer = answer.closedBy[named] ?? answer.whole;
        expect(upTo, named).toBeGreaterThanOrEqual(bytesUpTo(answer.body, closer));
      }
      if (chunk.type === "tool-input-available") expect(chunk["input"]).toEqual({ city: "Zürich" });
      expect(chunk.type).not.toBe("tool-input-error");
    }
  }

  test.each(["eof", "reset"] as const)("by %s", { timeout: 240_000 }, async (manner) => {
    repairs = 0;
    const kinds = new Set<string>();
    // A reset needs a new connection each time. Inside an event all bytes are alike.
    const offsets = Array.from(bytes, (_, upTo) => upTo).filter(
      (upTo) => manner === "eof" || upTo % 8 === 0 || bytes[upTo] === 10,
    );
    await inParallel(offsets, async (upTo) => {
      const parts = await read(upTo, manner);
      const last = lastOf(parts);
      const chunks = chunksOf(parts);
      if (last.kind === "end") {
        expect(upTo).toBeGreaterThanOrEqual(whole);
        expect(chunks).toEqual(full);
        return;
      }
      if (manner === "eof") expect(upTo).toBeLessThan(whole);
      kinds.add(chunks.length > 0 ? last.fault.kind : `${last.fault.kind} before content`);
      checkChunks(upTo, chunks);
    });
    expect(kinds).toContain("cut");
    expect([...kinds].filter((kind) => !["cut", "cut before content", "busy before content"].includes(kind))).toEqual(
      [],
    );
    expect(repairs, "nobody was asked to invent the rest of a call").toBe(0);
  });
});
