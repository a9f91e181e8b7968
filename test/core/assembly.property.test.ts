import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { closing, foldAll } from "../../src/core/assembly.ts";
import type { Chunk } from "../../src/core/transcript.ts";
import { json, sdkParts } from "./sdk.ts";

const metadata = fc.option(fc.record({ mock: fc.record({ k: fc.integer() }) }), { nil: undefined });
const word = fc.string({ maxLength: 6 });

function with_(providerMetadata: unknown): object {
  return providerMetadata === undefined ? {} : { providerMetadata };
}

/** A part as the chunks that build it, under an id of its own; metadata comes once, as the two folds differ there (A2). */
type Builder = (id: string) => Chunk[];

const spoken = fc
  .record({
    kind: fc.constantFrom("text", "reasoning"),
    words: fc.array(word, { maxLength: 3 }),
    metadata,
    ended: fc.boolean(),
  })
  .map(
    ({ kind, words, metadata: given, ended }): Builder =>
      (id) => [
        { type: `${kind}-start`, id, ...with_(given) },
        ...words.map((delta) => ({ type: `${kind}-delta`, id, delta })),
        ...(ended ? [{ type: `${kind}-end`, id }] : []),
      ],
  );

const flags = fc.constantFrom(
  {},
  { dynamic: true },
  { providerExecuted: true },
  { title: "T" },
  { toolMetadata: { a: 1 } },
);
const call = fc
  .record({
    streamed: fc.boolean(),
    flags,
    input: fc.constantFrom<"available" | "error">("available", "error"),
    outputs: fc.array(fc.constantFrom<"output" | "preliminary" | "error">("output", "preliminary", "error"), {
      maxLength: 2,
    }),
    metadata,
  })
  .map(
    ({ streamed, flags: given, input, outputs, metadata: marks }): Builder =>
      (toolCallId) => {
        const named = { toolCallId, toolName: "pay", ...given };
        const start: Chunk[] = [
          { type: "tool-input-start", ...named },
          { type: "tool-input-delta", toolCallId, inputTextDelta: "{}" },
        ];
        const end: Chunk =
          input === "available"
            ? { type: "tool-input-available", ...named, input: { a: 1 }, ...with_(marks) }
            : { type: "tool-input-error", ...named, input: {}, errorText: "bad" };
        const results = input === "error" ? [] : outputs.map((kind) => result(toolCallId, kind));
        return [...(streamed ? start : []), end, ...results];
      },
  );

function result(toolCallId: string, kind: "output" | "preliminary" | "error"): Chunk {
  if (kind === "error") return { type: "tool-output-error", toolCallId, errorText: "no" };
  return {
    type: "tool-output-available",
    toolCallId,
    output: { n: 1 },
    ...(kind === "preliminary" ? { preliminary: true } : {}),
  };
}

const single = fc
  .constantFrom<Chunk>(
    { type: "source-url", sourceId: "s", url: "https://a.example" },
    { type: "file", mediaType: "text/plain", url: "data:,a" },
    { type: "custom", kind: "mock.kind" },
    { type: "data-note", data: 1 },
    { type: "data-note", id: "same", data: 2 },
  )
  .map(
    (chunk): Builder =>
      () => [chunk],
  );

const builders = fc.array(fc.oneof(spoken, call, single), { minLength: 1, maxLength: 6 });

/** The parts' chunks, each part's in order, the parts' in any order. */
const streams = builders.chain((all) => {
  const lists = all.map((build, at) => build(`p${at}`));
  const turns = lists.flatMap((list, at) => list.map(() => at));
  return fc.shuffledSubarray(turns, { minLength: turns.length }).map((order) => {
    const left = lists.map((list) => [...list]);
    return order.map((at) => left[at]!.shift()!);
  });
});

/** An error after an output, an output after an error: our machine makes neither, and the two folds may differ. */
function isOurs(chunks: readonly Chunk[]): boolean {
  const settled = new Set<unknown>();
  return chunks.every(({ type, toolCallId, preliminary }) => {
    if (!type.startsWith("tool-output")) return true;
    if (settled.has(toolCallId)) return false;
    if (preliminary !== true) settled.add(toolCallId);
    return true;
  });
}

const begin: Chunk[] = [{ type: "start", messageId: "m" }, { type: "start-step" }];
const mark: Chunk = { type: "data-end", data: 0 };

describe("any stream", () => {
  test("[A1] folds to what the SDK's client shows", async () => {
    await fc.assert(
      fc.asyncProperty(streams.filter(isOurs), async (chunks) => {
        const shown = [...begin, ...chunks, mark];
        expect(json(foldAll(shown, 0).parts.map(({ part }) => part))).toEqual(await sdkParts(shown));
      }),
      { numRuns: 300 },
    );
  });

  test("[A1][T4] cut anywhere and closed, still does, and nothing is left open", async () => {
    const cut = streams.filter(isOurs).chain((chunks) => fc.tuple(fc.constant(chunks), fc.nat(chunks.length)));
    await fc.assert(
      fc.asyncProperty(cut, async ([chunks, at]) => {
        const assembly = foldAll([...begin, ...chunks.slice(0, at)], 0);
        const closes = closing(assembly, { keepText: false, callError: "cut" });
        const shown = [...begin, ...chunks.slice(0, at), ...closes, mark];
        foldAll([...closes, mark], 1, assembly);
        const parts = json(assembly.parts.map(({ part }) => part));
        expect(parts).toEqual(await sdkParts(shown));
        expect(JSON.stringify(parts)).not.toMatch(/"state":"(input-)?streaming"/);
      }),
      { numRuns: 300 },
    );
  });
});
