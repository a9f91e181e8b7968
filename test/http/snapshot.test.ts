// [W7] A snapshot replays to an equal message in the SDK's own client.
import { asSchema, safeValidateTypes } from "@ai-sdk/provider-utils";
import { readUIMessageStream, type UIMessage, type UIMessageChunk, uiMessageChunkSchema } from "ai";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type SnapshotEnd, snapshotChunks } from "../../src/core/snapshot.ts";
import type { Chunk, Part, UiMessage } from "../../src/core/transcript.ts";

/** As the client gets it: through JSON, each chunk checked by the client's own schema. */
async function replay(chunks: readonly Chunk[]): Promise<UiMessage> {
  // The client shows no step that is empty so far: empty metadata at the end makes it show what it holds.
  const all = [...chunks, { type: "message-metadata", messageMetadata: {} }];
  const sent = all.map((chunk) => JSON.parse(JSON.stringify(chunk)) as UIMessageChunk);
  for (const value of sent) {
    const checked = await safeValidateTypes({ value, schema: asSchema(uiMessageChunkSchema) });
    if (!checked.success) throw checked.error;
  }
  let last: UIMessage | undefined;
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  for await (const message of readUIMessageStream({ stream: ReadableStream.from(sent), onError })) last = message;
  expect(errors).toEqual([]);
  // Through JSON again: the client's parts have fields that are there and undefined.
  const { metadata, ...message } = JSON.parse(JSON.stringify(last)) as UiMessage;
  return Object.keys(metadata as object).length === 0 ? message : { ...message, metadata };
}

const pm = { anthropic: { signature: "sig==", nested: [1, null] } };
const approval = { id: "ap1" };
const asked = {
  id: "ap2",
  descriptor: { d: 1 },
  requestReason: "pays",
  isAutomatic: true,
  signature: "s",
  inputSchemaInput: null,
};
const call = { toolCallId: "c1", input: { city: "Köln" } };
const result = { callProviderMetadata: pm, resultProviderMetadata: { openai: { id: "r1" } }, providerExecuted: true };

const cases: [string, Part[]][] = [
  ["no parts", []],
  ["text", [{ type: "text", text: "Hi", state: "done" }]],
  ["empty text", [{ type: "text", text: "", state: "done" }]],
  ["text that never ended", [{ type: "text", text: "Hi", state: "streaming", providerMetadata: pm }]],
  [
    "text with metadata and citations",
    [{ type: "text", text: "Hi", state: "done", providerMetadata: pm, citations: [] }],
  ],
  [
    "steps",
    [
      { type: "step-start" },
      { type: "text", text: "a", state: "done" },
      { type: "step-start" },
      { type: "step-start" },
    ],
  ],
  ["reasoning", [{ type: "reasoning", id: "r7", text: "so", state: "done", providerMetadata: pm }]],
  ["reasoning that never ended", [{ type: "reasoning", id: "r", text: "so", state: "streaming" }]],
  [
    "reasoning under one id twice, the first one open",
    [
      { type: "reasoning", id: "0", text: "a", state: "streaming" },
      { type: "step-start" },
      { type: "reasoning", id: "0", text: "b", state: "done" },
    ],
  ],
  ["signed reasoning without text", [{ type: "reasoning", id: "0", text: "", state: "done", providerMetadata: pm }]],
  [
    "sources",
    [
      { type: "source-url", sourceId: "s1", url: "https://a", title: "A", providerMetadata: pm },
      { type: "source-url", sourceId: "s2", url: "https://b" },
      {
        type: "source-document",
        sourceId: "s3",
        mediaType: "application/pdf",
        title: "P",
        filename: "p.pdf",
        providerMetadata: pm,
      },
    ],
  ],
  [
    "files",
    [
      { type: "file", mediaType: "image/png", url: "data:image/png;base64,AA==", providerMetadata: pm },
      { type: "reasoning-file", mediaType: "image/png", url: "data:,x" },
    ],
  ],
  ["custom", [{ type: "custom", kind: "openai.compaction", providerMetadata: pm }]],
  [
    "data",
    [
      { type: "data-x", data: null },
      { type: "data-x", id: "a", data: { n: 1 } },
      { type: "data-y", id: "a", data: false },
    ],
  ],
  ["steering", [{ type: "steering-message", id: "u2", parts: [{ type: "text", text: "and?" }] }]],
  [
    "input so far",
    [
      {
        type: "tool-w",
        toolCallId: "c1",
        state: "input-streaming",
        rawInput: '{"a":[1',
        input: { a: [1] },
        title: "T",
      },
    ],
  ],
  [
    "no input yet",
    [{ type: "tool-w", toolCallId: "c1", state: "input-streaming", providerExecuted: true, callProviderMetadata: pm }],
  ],
  [
    "text input so far",
    [
      {
        type: "tool-w",
        toolCallId: "c1",
        state: "input-streaming",
        rawInput: "ls -",
        input: "ls -",
        inputEncoding: "text",
      },
    ],
  ],
  [
    "input",
    [
      {
        type: "tool-w",
        ...call,
        state: "input-available",
        title: "T",
        toolMetadata: { k: 1 },
        callProviderMetadata: pm,
      },
    ],
  ],
  [
    "null and falsy input",
    [
      { type: "tool-w", toolCallId: "a", state: "input-available", input: null },
      { type: "tool-w", toolCallId: "b", state: "input-available", input: 0 },
    ],
  ],
  ["output", [{ type: "tool-w", ...call, state: "output-available", output: { t: 20 }, ...result }]],
  ["falsy output", [{ type: "tool-w", ...call, state: "output-available", output: null }]],
  ["preliminary output", [{ type: "tool-w", ...call, state: "output-available", output: "so far", preliminary: true }]],
  ["error", [{ type: "tool-w", ...call, state: "output-error", errorText: "kaput", ...result }]],
  ["error without input", [{ type: "tool-w", toolCallId: "c1", state: "output-error", errorText: "cut" }]],
  ["approval asked for", [{ type: "tool-w", ...call, state: "approval-requested", approval: asked }]],
  [
    "approval given",
    [{ type: "tool-w", ...call, state: "approval-responded", approval: { ...asked, approved: true, reason: "ok" } }],
  ],
  [
    "approval denied",
    [{ type: "tool-w", ...call, state: "output-denied", approval: { ...approval, approved: false, reason: "no" } }],
  ],
  [
    "output after approval",
    [{ type: "tool-w", ...call, state: "output-available", output: 1, approval: { ...asked, approved: true } }],
  ],
  [
    "error after approval",
    [{ type: "tool-w", ...call, state: "output-error", errorText: "x", approval: { ...approval, approved: true } }],
  ],
  [
    "dynamic tools",
    [
      {
        type: "dynamic-tool",
        toolName: "mcp-x",
        ...call,
        state: "output-available",
        output: [],
        title: "X",
        ...result,
      },
      { type: "dynamic-tool", toolName: "y", toolCallId: "c2", state: "input-streaming", rawInput: "{", input: {} },
      { type: "dynamic-tool", toolName: "z", toolCallId: "c3", state: "output-error", input: {}, errorText: "e" },
    ],
  ],
  [
    "one call id in two steps",
    [
      { type: "step-start" },
      { type: "tool-w", ...call, state: "output-available", output: 1 },
      { type: "step-start" },
      { type: "tool-w", ...call, state: "output-error", errorText: "e" },
    ],
  ],
  ["a name with dashes", [{ type: "tool-get-the-weather", ...call, state: "output-available", output: 1 }]],
];

describe("[W7] snapshot replays to an equal message", () => {
  it.each(cases)("%s", async (_, parts) => {
    for (const metadata of [undefined, { turn: "turn_1", usage: { total: 3 } }]) {
      const message: UiMessage = { id: "msg_1", role: "assistant", parts, ...(metadata ? { metadata } : {}) };
      expect(await replay(snapshotChunks(message))).toEqual(message);
    }
  });

  it("all of them in one message", async () => {
    const parts = cases.flatMap(([, some], index) => [
      { type: "step-start" },
      ...some.map((part) => ("toolCallId" in part ? { ...part, toolCallId: `${index}-${part["toolCallId"]}` } : part)),
    ]);
    const unique = parts.filter((part) => !part.type.startsWith("data-"));
    const withApprovals = unique.map((part, index) =>
      "approval" in part ? { ...part, approval: { ...(part["approval"] as object), id: `ap-${index}` } } : part,
    );
    const message: UiMessage = { id: "m", role: "assistant", parts: withApprovals };
    expect(await replay(snapshotChunks(message))).toEqual(message);
  });

  it("any sequence of parts", async () => {
    const said = fc.record({ text: fc.string({ unit: "binary" }), state: fc.constantFrom("done", "streaming") });
    const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
    const part = fc.oneof(
      fc.constant({ type: "step-start" }),
      said.map((fields) => ({ type: "text", ...fields })),
      fc
        .tuple(said, fc.constantFrom("0", "1", "__proto__"))
        .map(([fields, id]) => ({ type: "reasoning", id, ...fields })),
      json.map((data) => ({ type: "data-x", data })),
      fc.tuple(json, json).map(([input, output]) => ({ type: "tool-w", state: "output-available", input, output })),
      fc
        .tuple(json, fc.string())
        .map(([input, errorText]) => ({ type: "tool-w", state: "output-error", input, errorText })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 12 }), async (drawn) => {
        const parts = drawn.map((one, index) => (one.type === "tool-w" ? { ...one, toolCallId: `c${index}` } : one));
        const message: UiMessage = { id: "m", role: "assistant", parts };
        expect(await replay(snapshotChunks(message))).toEqual(message);
      }),
      { numRuns: 300 },
    );
  });

  it.each<SnapshotEnd>([
    { type: "finish", finishReason: "length" },
    { type: "abort", reason: "stopped" },
    { type: "error", errorText: "Please try again." },
  ])("ends as its log did: %o", (end) => {
    const chunks = snapshotChunks({ id: "m", role: "assistant", parts: [{ type: "step-start" }] }, end);
    expect(chunks.map(({ type }) => type)).toEqual(["start", "start-step", "finish-step", end.type]);
    expect(chunks.at(-1)).toEqual(end);
  });

  it("a part of an unknown type is left out: it would fail the whole stream", async () => {
    const text = { type: "text", text: "a", state: "done" };
    const message: UiMessage = { id: "m", role: "assistant", parts: [{ type: "hologram" }, text] };
    expect((await replay(snapshotChunks(message))).parts).toEqual([text]);
  });

  it("a part without a state comes back as done", async () => {
    const message: UiMessage = { id: "m", role: "assistant", parts: [{ type: "text", text: "a" }] };
    expect((await replay(snapshotChunks(message))).parts).toEqual([{ type: "text", text: "a", state: "done" }]);
  });
});
