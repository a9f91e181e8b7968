import { describe, expect, test } from "vitest";
import {
  type Assembly,
  closing,
  findTool,
  foldAll,
  openText,
  storedParts,
  textSoFar,
} from "../../src/core/assembly.ts";
import type { Chunk, Part } from "../../src/core/transcript.ts";
import { json, sdkParts } from "./sdk.ts";

const meta = (value: unknown): object => ({ providerMetadata: { mock: { value } } });

function partsOf(chunks: readonly Chunk[]): unknown {
  return json(foldAll(chunks, 0).parts.map(({ part }) => part));
}

const call = { toolCallId: "c", toolName: "pay" };
const begun: Chunk[] = [
  { type: "tool-input-start", ...call, title: "Pay" },
  { type: "tool-input-delta", toolCallId: "c", inputTextDelta: '{"a":' },
  { type: "tool-input-delta", toolCallId: "c", inputTextDelta: "1}" },
];
const whole: Chunk[] = [...begun, { type: "tool-input-available", ...call, input: { a: 1 }, ...meta("call") }];
const dynamic = { ...call, dynamic: true };
const remote = { ...call, providerExecuted: true };

const streams: readonly [string, readonly Chunk[]][] = [
  ["a step", [{ type: "start-step" }]],
  [
    "text",
    [
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: "Hel" },
      { type: "text-delta", id: "1", delta: "lo" },
      { type: "text-end", id: "1" },
    ],
  ],
  [
    "text that is open",
    [
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: "Hel" },
    ],
  ],
  [
    "text with metadata on its start",
    [
      { type: "text-start", id: "1", ...meta(1) },
      { type: "text-end", id: "1" },
    ],
  ],
  [
    "text with metadata on its end",
    [
      { type: "text-start", id: "1" },
      { type: "text-end", id: "1", ...meta(1) },
    ],
  ],
  [
    "text with citations",
    [
      { type: "text-start", id: "1" },
      { type: "text-end", id: "1", citations: [{ start: 0 }] },
    ],
  ],
  [
    "two texts at once, and an id that is used again",
    [
      { type: "text-start", id: "1" },
      { type: "text-start", id: "2" },
      { type: "text-delta", id: "2", delta: "b" },
      { type: "text-delta", id: "1", delta: "a" },
      { type: "text-end", id: "1" },
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: "c" },
    ],
  ],
  [
    "reasoning",
    [
      { type: "reasoning-start", id: "1" },
      { type: "reasoning-delta", id: "1", delta: "Hm" },
      { type: "reasoning-end", id: "1", ...meta("signature") },
    ],
  ],
  [
    "reasoning and text under one id",
    [
      { type: "reasoning-start", id: "1" },
      { type: "text-start", id: "1" },
      { type: "reasoning-delta", id: "1", delta: "Hm" },
      { type: "text-delta", id: "1", delta: "Yes" },
      { type: "reasoning-end", id: "1" },
    ],
  ],
  ["a whole call", whole],
  ["a call without its beginning", [{ type: "tool-input-available", ...call, input: { a: 1 } }]],
  ["a call with its output", [...whole, { type: "tool-output-available", toolCallId: "c", output: { ok: true } }]],
  ["an output of null", [...whole, { type: "tool-output-available", toolCallId: "c", output: null }]],
  [
    "preliminary outputs and the final one",
    [
      ...whole,
      { type: "tool-output-available", toolCallId: "c", output: 1, preliminary: true },
      { type: "tool-output-available", toolCallId: "c", output: 2 },
    ],
  ],
  [
    "a preliminary output",
    [...whole, { type: "tool-output-available", toolCallId: "c", output: 1, preliminary: true }],
  ],
  [
    "an error after a preliminary output",
    [
      ...whole,
      { type: "tool-output-available", toolCallId: "c", output: 1, preliminary: true },
      { type: "tool-output-error", toolCallId: "c", errorText: "broke" },
    ],
  ],
  ["a call whose input is refused", [...begun, { type: "tool-input-error", ...call, input: "{", errorText: "bad" }]],
  ["a refused input without its beginning", [{ type: "tool-input-error", ...call, input: {}, errorText: "bad" }]],
  [
    "an input that is replaced",
    [
      ...whole,
      { type: "tool-input-available", ...call, input: { a: 2 } },
      { type: "tool-output-available", toolCallId: "c", output: 1 },
    ],
  ],
  [
    "a dynamic call",
    [
      { type: "tool-input-start", ...dynamic },
      { type: "tool-input-available", ...dynamic, input: { a: 1 }, toolMetadata: { by: "mcp" } },
      { type: "tool-output-available", toolCallId: "c", output: 1, ...meta("result") },
    ],
  ],
  ["a refused dynamic input", [{ type: "tool-input-error", ...dynamic, input: 1, errorText: "bad" }]],
  [
    "a provider-executed call",
    [
      { type: "tool-input-available", ...remote, input: {} },
      { type: "tool-output-available", toolCallId: "c", output: 1, providerExecuted: true, ...meta("result") },
    ],
  ],
  [
    "a provider-executed call that fails",
    [
      { type: "tool-input-available", ...remote, input: {} },
      { type: "tool-output-error", toolCallId: "c", errorText: "no", providerExecuted: true },
    ],
  ],
  ["a source", [{ type: "source-url", sourceId: "s", url: "https://a.example", title: "A", ...meta(1) }]],
  ["a bare source", [{ type: "source-url", sourceId: "s", url: "https://a.example" }]],
  ["a document", [{ type: "source-document", sourceId: "s", mediaType: "text/plain", title: "A", filename: "a.txt" }]],
  ["a file", [{ type: "file", mediaType: "image/png", url: "data:image/png;base64,AA==", ...meta(1) }]],
  ["a reasoning file", [{ type: "reasoning-file", mediaType: "image/png", url: "data:image/png;base64,AA==" }]],
  ["a custom part", [{ type: "custom", kind: "mock.begin", ...meta(1) }]],
  [
    "data that is replaced, and data that is not kept",
    [
      { type: "data-note", id: "n", data: 1 },
      { type: "data-note", data: "no id" },
      { type: "data-note", data: "no id" },
      { type: "data-note", id: "n", data: 2 },
      { type: "data-note", id: "x", data: 3, transient: true },
    ],
  ],
  ["what has no part", [{ type: "finish-step" }, { type: "finish" }, { type: "abort" }]],
];

describe("the fold", () => {
  test.each(streams)("[A1] is what the SDK's client shows: %s", async (_, chunks) => {
    const shown = [{ type: "start", messageId: "m" }, { type: "start-step" }, ...chunks, { type: "data-end", data: 0 }];
    expect(partsOf(shown)).toEqual(await sdkParts(shown));
  });

  test("[A1] what fits nothing leaves no part, and does not throw", () => {
    const stray: Chunk[] = [
      { type: "text-delta", id: "1", delta: "a" },
      { type: "text-end", id: "1" },
      { type: "tool-output-available", toolCallId: "c", output: 1 },
      { type: "tool-output-error", toolCallId: "c", errorText: "no" },
      { type: "somebody-elses" },
    ];
    expect(partsOf(stray)).toEqual([]);
  });

  test("[A2] metadata of start, deltas and end is merged, the latest value of a key winning", () => {
    const chunks: Chunk[] = [
      { type: "text-start", id: "1", providerMetadata: { a: { x: 1, y: 1 } } },
      { type: "text-delta", id: "1", delta: "T", providerMetadata: { a: { y: 2 }, b: { z: 1 } } },
      { type: "text-end", id: "1", providerMetadata: { b: { w: null } } },
    ];
    expect(partsOf(chunks)).toEqual([
      { type: "text", text: "T", state: "done", providerMetadata: { a: { x: 1, y: 2 }, b: { z: 1, w: null } } },
    ]);
  });

  test("[A2] of a call, what came with the input and what came with the result are kept apart", () => {
    const chunks: Chunk[] = [
      { type: "tool-input-start", ...call, providerMetadata: { a: { x: 1 } } },
      { type: "tool-input-available", ...call, input: {}, providerMetadata: { a: { y: 1 } } },
      { type: "tool-output-available", toolCallId: "c", output: 1, providerMetadata: { a: { z: 1 } } },
    ];
    expect(partsOf(chunks)).toMatchObject([
      { callProviderMetadata: { a: { x: 1, y: 1 } }, resultProviderMetadata: { a: { z: 1 } } },
    ]);
  });

  test("[A2] what is merged was not handed in", () => {
    const metadata = Object.freeze({ a: Object.freeze({ x: 1 }) });
    const chunks: Chunk[] = [
      { type: "text-start", id: "1", providerMetadata: metadata },
      { type: "text-end", id: "1", providerMetadata: { a: { x: 2 } } },
    ];
    expect(partsOf(chunks)).toMatchObject([{ providerMetadata: { a: { x: 2 } } }]);
    expect(metadata).toEqual({ a: { x: 1 } });
  });
});

function text(id: string, delta = "Hi"): Chunk[] {
  return [
    { type: "text-start", id },
    { type: "text-delta", id, delta },
  ];
}

const thought: Chunk[] = [
  { type: "reasoning-start", id: "r" },
  { type: "reasoning-delta", id: "r", delta: "Hm" },
];

describe("closing", () => {
  type Closed = readonly [string, readonly Chunk[], boolean, readonly string[]];
  const rows: readonly Closed[] = [
    ["nothing", [], false, []],
    ["open text", text("1"), false, ["text-end"]],
    ["open text that is gone on with", text("1"), true, []],
    ["open text, with metadata, that is gone on with", [{ type: "text-start", id: "1", ...meta(1) }], true, []],
    ["open text that something followed", [...text("1"), { type: "source-url", sourceId: "s" }], true, ["text-end"]],
    ["open text that only a provider's addition followed", [...text("1"), { type: "custom", kind: "x" }], true, []],
    ["the earlier of two open texts", [...text("1"), ...text("2")], true, ["text-end"]],
    ["open reasoning", thought, true, ["reasoning-end"]],
    ["half a call", begun, true, ["tool-input-error"]],
    ["a whole call", whole, false, []],
    ["everything", [...thought, ...text("1"), ...begun], false, ["reasoning-end", "text-end", "tool-input-error"]],
  ];

  test.each(rows)("[T4][C5] ends what is open: %s", (_, chunks, keepText, expected) => {
    const assembly = foldAll(chunks, 0);
    const closes = closing(assembly, { keepText, callError: "cut" });
    expect(closes.map(({ type }) => type)).toEqual(expected);
    foldAll(closes, 1, assembly);
    expect(closing(assembly, { keepText, callError: "cut" })).toEqual([]);
  });

  test.each([
    ["static", {}],
    ["dynamic", { dynamic: true }],
    ["provider-executed", { providerExecuted: true }],
  ])("[A1][C5] a broken call ends as what it began as: %s", async (_, fields) => {
    const half: Chunk[] = [{ type: "start-step" }, { type: "tool-input-start", ...call, ...fields }];
    const closes = closing(foldAll(half, 0), { keepText: false, callError: "cut" });
    expect(closes).toEqual([{ type: "tool-input-error", ...call, ...fields, input: {}, errorText: "cut" }]);
    expect(partsOf([...half, ...closes])).toEqual(await sdkParts([...half, ...closes]));
  });
});

interface Marks {
  readonly origin?: string;
  readonly torn?: true;
  readonly cut?: true;
}

function marked(assembly: Assembly, cuts: number): [string, Marks][] {
  return storedParts(assembly, cuts, ["a:m", null, "b:m"]).map(({ part, ...marks }) => [part.type, marks]);
}

describe("what is stored", () => {
  test("[A3] marks what was broken off around the part, by the run that began it and the run that ended it", () => {
    const assembly = foldAll([...thought, ...text("1"), ...whole], 0);
    foldAll(closing(assembly, { keepText: true, callError: "cut" }), 1, assembly);
    foldAll([...text("2"), { type: "text-end", id: "2" }], 2, assembly);
    expect(marked(assembly, 2)).toEqual([
      ["reasoning", { origin: "a:m", torn: true, cut: true }],
      ["text", { origin: "a:m", torn: true }],
      ["tool-pay", { origin: "a:m", torn: true }],
      ["text", { origin: "b:m" }],
    ]);
  });

  test("[A3] a part that is still open is cut, a text that a later run ended is not", () => {
    const open = foldAll(text("1"), 0);
    expect(marked(open, 1)).toEqual([["text", { origin: "a:m", torn: true, cut: true }]]);
    foldAll([{ type: "text-end", id: "1" }], 1, open);
    expect(marked(open, 1)).toEqual([["text", { origin: "a:m", torn: true }]]);
  });

  test("[A3] nothing of it is in the part that clients see", () => {
    const fields = (part: Part): string[] => Object.keys(part);
    const stored = storedParts(foldAll([...thought, ...text("1")], 0), 1, ["a:m"]);
    expect(stored.map(({ part }) => fields(part))).toEqual([
      ["type", "text", "state", "id"],
      ["type", "text", "state"],
    ]);
  });

  test("[T10] empty text leaves no trace, unless a provider put a mark on it", () => {
    const chunks: Chunk[] = [
      { type: "text-start", id: "1" },
      { type: "text-end", id: "1" },
      { type: "text-start", id: "2", ...meta(1) },
    ];
    expect(marked(foldAll(chunks, 0), 0)).toEqual([["text", { origin: "a:m", cut: true }]]);
  });

  test("[A3] stored parts are copies", () => {
    const assembly = foldAll(text("1"), 0);
    const [stored] = storedParts(assembly, 0, []);
    foldAll([{ type: "text-delta", id: "1", delta: "!" }], 0, assembly);
    expect(stored?.part["text"]).toBe("Hi");
  });
});

describe("what a continuation asks", () => {
  test("[R4] the text so far is that of all text parts", () => {
    expect(textSoFar(foldAll([...text("1", "One "), ...thought, ...text("2", "two")], 0))).toBe("One two");
  });

  test("[T8] the text to be joined is the last part of all, and open", () => {
    expect(openText(foldAll(text("1"), 0))).toEqual({ id: "1", text: "Hi", plain: true });
    expect(openText(foldAll([{ type: "text-start", id: "1", ...meta(1) }], 0))).toMatchObject({ plain: false });
    expect(openText(foldAll([...text("1"), ...thought], 0))).toBeNull();
    expect(openText(foldAll([...text("1"), { type: "text-end", id: "1" }], 0))).toBeNull();
    expect(openText(foldAll([], 0))).toBeNull();
  });

  test("[A1] a call is found by its label", () => {
    expect(findTool(foldAll(whole, 0), "c")?.part).toMatchObject({ type: "tool-pay", input: { a: 1 } });
    expect(findTool(foldAll(whole, 0), "d")).toBeUndefined();
  });
});
