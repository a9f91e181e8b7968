import { describe, expect, test } from "vitest";
import { modeOf } from "../../src/core/continuation.ts";
import { profileOf } from "../../src/core/profile.ts";
import { buildRequest, isPrefill, type RequestInput } from "../../src/core/request.ts";
import { askForRest, askToGoOn, callUnknown } from "../../src/core/texts.ts";
import type { Part, StoredMessage, StoredPart, UiMessage } from "../../src/core/transcript.ts";
import { freeze } from "../explore/laws.ts";

const origin = "a:m";
const user: StoredMessage = { id: "u", role: "user", parts: [{ part: { type: "text", text: "Hi" } }] };
const text = (said: string): Part => ({ type: "text", text: said, state: "done" });
const start: StoredPart = { part: { type: "step-start" } };
const call: Part = { type: "tool-pay", toolCallId: "c", state: "output-available", input: { a: 1 }, output: 1 };
const remote: Part = { ...call, providerExecuted: true };
const reasoning = (fields: object = {}): Part => ({ type: "reasoning", text: "Hm", ...fields });
const signed = { providerMetadata: { mock: { signature: "s" } } };
const item = { providerMetadata: { mock: { itemId: "i" } } };

const assistant = (...parts: readonly StoredPart[]): StoredMessage => ({ id: "m", role: "assistant", parts });

function built(history: readonly StoredMessage[], fields: Partial<RequestInput> = {}): UiMessage[] {
  return buildRequest({ history, current: null, tail: [], mode: "fresh", origin, prefill: false, ...fields });
}

/** The parts of the one answer of a conversation that goes on. */
function sent(...parts: readonly StoredPart[]): readonly Part[] {
  return built([user, assistant(...parts), user]).find(({ role }) => role === "assistant")?.parts ?? [];
}

const stored = (part: Part, marks: Omit<StoredPart, "part"> = { origin }): StoredPart => ({ part, ...marks });

describe("who made it", () => {
  type Row = readonly [string, Part, Omit<StoredPart, "part">, "whole" | "bare" | "nothing"];
  const rows: readonly Row[] = [
    ["[P2] a signed thought, at home", reasoning(signed), { origin }, "whole"],
    ["[P2] a signed thought, abroad", reasoning(signed), { origin: "b:m" }, "nothing"],
    ["[P2] a signed thought of another model of the house", reasoning(signed), { origin: "a:n" }, "nothing"],
    ["[P6] a thought that was cut", reasoning(), { origin, torn: true, cut: true }, "nothing"],
    ["[P6] a whole thought of an answer that broke off", reasoning(signed), { origin, torn: true }, "whole"],
    ["[P6] the same with an id of its item", reasoning(item), { origin, torn: true }, "nothing"],
    ["[P6] a thought with an id, of an answer that finished", reasoning(item), { origin }, "whole"],
    ["[P2] a text with its marks", { ...text("x"), ...signed }, { origin }, "whole"],
    ["[P2] a text with marks of somebody else", { ...text("x"), ...signed }, { origin: "b:m" }, "bare"],
    ["[P6] a text with an id that was never stored", { ...text("x"), ...item }, { origin, torn: true }, "bare"],
    [
      "[P2] a text of an answer that broke off keeps what is no id",
      { ...text("x"), ...signed },
      { origin, torn: true },
      "whole",
    ],
    ["[P2] a text of nobody", { ...text("x"), ...signed }, {}, "whole"],
    ["[P7] a provider-executed call, at home", remote, { origin }, "whole"],
    ["[P7] a provider-executed call, abroad", remote, { origin: "b:m" }, "nothing"],
    [
      "[P7] a provider-executed call that was cut",
      { ...remote, state: "output-error", errorText: "cut" },
      { origin, torn: true, cut: true },
      "nothing",
    ],
    [
      "[P7] a provider-executed call without its result",
      { ...remote, state: "input-available" },
      { origin },
      "nothing",
    ],
    ["[P7] a provider-executed call with a first result only", { ...remote, preliminary: true }, { origin }, "nothing"],
    ["[P7] a file of a thought, at home", { type: "reasoning-file", url: "data:,a" }, { origin }, "whole"],
    ["[P2] a file of a thought, abroad", { type: "reasoning-file", url: "data:,a" }, { origin: "b:m" }, "nothing"],
    ["[P2] what a provider adds, at home", { type: "custom", kind: "x" }, { origin }, "whole"],
    ["[P2] what a provider adds, abroad", { type: "custom", kind: "x" }, { origin: "b:m" }, "nothing"],
    [
      "[P6] what a provider adds to an answer that broke off",
      { type: "custom", kind: "x" },
      { origin, torn: true },
      "nothing",
    ],
    ["[P4] a source", { type: "source-url", sourceId: "s", url: "https://a.example" }, { origin }, "nothing"],
    ["[P4] data", { type: "data-note", data: 1 }, { origin }, "nothing"],
  ];

  test.each(rows)("%s", (_, part, marks, expected) => {
    const { providerMetadata: _marks, ...bare } = part;
    const first = { whole: [part], bare: [bare], nothing: [] }[expected];
    expect(sent(stored(part, marks), stored(text("And so.")))).toEqual([...first, text("And so.")]);
  });

  test("[P2] what goes back goes byte for byte: the very object", () => {
    const metadata = Object.freeze({ mock: Object.freeze({ signature: "s" }) });
    const [thought] = sent(stored(reasoning({ providerMetadata: metadata })), stored(text("x")));
    expect(thought?.["providerMetadata"]).toBe(metadata);
  });
});

describe("calls", () => {
  const error = { state: "output-error", errorText: callUnknown };
  const rows: readonly [string, Part, object][] = [
    ["[P3] with its result", call, call],
    [
      "[P3] with an error",
      { ...call, state: "output-error", errorText: "no" },
      { state: "output-error", errorText: "no" },
    ],
    ["[P3] without its result", { ...call, state: "input-available" }, error],
    [
      "[P3] with half an input",
      { ...call, state: "input-streaming", input: undefined, rawInput: "{" },
      { ...error, input: {} },
    ],
    ["[P3] with a first result only", { ...call, preliminary: true }, error],
    ["[P3] that waits for a person", { ...call, state: "approval-requested" }, error],
    ["[P3] that was denied", { ...call, state: "output-denied" }, { state: "output-denied" }],
    ["[P3] whose input is a string of an object", { ...call, input: '{"a":1}' }, { input: { a: 1 } }],
    ["[P3] whose input is any string", { ...call, input: "a" }, { input: {} }],
    ["[P3] whose input is a list", { ...call, input: [1] }, { input: {} }],
    ["[P3] whose input is null", { ...call, input: null }, { input: {} }],
    [
      "[P3] whose input is missing",
      { type: "tool-pay", toolCallId: "c", state: "output-error", rawInput: "{", errorText: "bad" },
      { input: {} },
    ],
    ["[P3] that is dynamic", { ...call, type: "dynamic-tool", toolName: "pay" }, { toolName: "pay" }],
    ["[P3] that was cut and has its error", { ...call, state: "output-error", errorText: "cut" }, { errorText: "cut" }],
  ];

  test.each(rows)("%s", (_, part, expected) => {
    const [first, ...more] = sent(stored(part));
    expect(first).toMatchObject(expected);
    expect(first).not.toHaveProperty("rawInput");
    expect(more).toEqual([]);
  });
});

describe("nothing empty", () => {
  test.each([
    ["blank text", [stored(text(" \n"))]],
    ["only a step", [start]],
    ["only thoughts", [start, stored(reasoning(signed))]],
    ["only what a provider adds", [start, stored({ type: "custom", kind: "x" })]],
    ["only sources", [start, stored({ type: "source-url", sourceId: "s", url: "https://a.example" })]],
    ["nothing", []],
  ])("[P4] is sent of an answer of %s", (_, parts) => {
    expect(built([user, assistant(...parts), user])).toEqual([user, user].map(shown));
  });

  test("[P4] is sent of a user: a blank text, a blank message", () => {
    const blank: StoredMessage = { id: "b", role: "user", parts: [stored(text(""), {})] };
    const both: StoredMessage = { id: "c", role: "user", parts: [...blank.parts, ...user.parts] };
    expect(built([blank, both])).toEqual([shown({ ...user, id: "c" })]);
  });

  test("[P4][P6] of a step that says nothing, after one that did", () => {
    const parts = [start, stored(call), start, stored(reasoning(signed))];
    expect(sent(...parts)).toEqual([start.part, call]);
  });

  test("[P6] a thought goes with what it led to in its own step", () => {
    const parts = [start, stored(reasoning()), start, stored(text("x")), stored(reasoning())];
    expect(sent(...parts)).toEqual([start.part, text("x")]);
  });
});

function shown(message: StoredMessage): UiMessage {
  return { id: message.id, role: message.role, parts: message.parts.map(({ part }) => part) };
}

describe("the end of a request", () => {
  const ending = (parts: readonly StoredPart[], fields: Partial<RequestInput> = {}): unknown => {
    const request = built([user], { current: assistant(), tail: parts, ...fields });
    const last = request.at(-1);
    return [last?.role, last?.parts.at(-1)?.["text"] ?? last?.parts.at(-1)?.type, isPrefill(request)];
  };

  test("[P5] is the user's, where the last answer has ended", () => {
    expect(built([user, assistant(stored(text("x")))]).at(-1)?.parts).toEqual([{ type: "text", text: askToGoOn }]);
  });

  test("[P5][P1] asks for the rest where no prefill is allowed", () => {
    expect(ending([stored(text("Hello "))], { mode: "ask" })).toEqual(["user", askForRest, false]);
  });

  test("[P5][P1] is the answer itself where it is, without white space at its end", () => {
    expect(ending([stored(text("Hello \n"))], { mode: "prefill", prefill: true })).toEqual([
      "assistant",
      "Hello",
      true,
    ]);
  });

  test("[P5] is a tool's after a result, whatever the profile", () => {
    for (const prefill of [true, false]) {
      const current = assistant(start, stored(call));
      expect(ending([], { current, prefill })).toEqual(["assistant", "tool-pay", false]);
    }
  });

  test("[P5] a result of the provider's own tool is no end", () => {
    expect(ending([stored(remote)], { mode: "ask" })).toEqual(["user", askForRest, false]);
  });

  test("[P5] a step without content after a result changes nothing", () => {
    expect(ending([], { current: assistant(start, stored(call), start) })).toEqual(["assistant", "tool-pay", false]);
  });

  test("[R3] a step that runs again is asked for without what there is of it", () => {
    expect(ending([stored(text("x"))], { mode: "fresh" })).toEqual(["user", "Hi", false]);
  });
});

describe("text", () => {
  test("[P9] half a surrogate pair is replaced, at any depth", () => {
    const half = "a\ud83d";
    const [first, second] = sent(
      stored(text(half)),
      stored({ ...call, input: { deep: [half] }, output: { [half]: half } }),
    );
    expect(first?.["text"]).toBe("a\ufffd");
    expect(second).toMatchObject({ input: { deep: ["a\ufffd"] }, output: { [half]: "a\ufffd" } });
  });

  test("[P9][P2] what is well-formed is not touched", () => {
    const part = stored({ ...call, output: { text: "a\ud83d\ude00" } });
    expect(sent(part)[0]?.["output"]).toBe(part.part["output"]);
  });
});

test("[P8] a request changes nothing that is stored", () => {
  const parts = [
    start,
    stored({ ...call, input: '{"a":1}' }),
    stored({ ...text("x\ud83d"), ...item }, { origin, torn: true }),
  ];
  const input = freeze({ history: [user, assistant(...parts)], current: assistant(...parts), tail: parts });
  expect(built(input.history, input)).toEqual(built(input.history, input));
});

/** Vendor, model, whether a trailing answer is gone on with. */
const models: readonly [string, string, boolean][] = [
  ["anthropic.messages", "claude-3-5-sonnet-20241022", true],
  ["anthropic.messages", "claude-3-7-sonnet-latest", true],
  ["anthropic.messages", "claude-opus-4-20250514", true],
  ["anthropic.messages", "claude-opus-4-1-20250805", true],
  ["anthropic.messages", "claude-sonnet-4-5", true],
  ["anthropic.messages", "claude-sonnet-4-5-20250929", true],
  ["anthropic.messages", "claude-haiku-4-5", true],
  ["anthropic.messages", "claude-opus-4-5", true],
  ["anthropic.messages", "claude-opus-4-6", false],
  ["anthropic.messages", "claude-sonnet-4-6", false],
  ["anthropic.messages", "claude-opus-4-7", false],
  ["anthropic.messages", "claude-opus-5", false],
  ["anthropic.messages", "claude-sonnet-5-5", false],
  ["anthropic.messages", "claude-fable-5", false],
  ["google.generative-ai", "gemini-2.5-flash", true],
  ["google.generative-ai", "gemini-3-pro-preview", true],
  ["google.generative-ai", "gemini-3.1-pro", true],
  ["google.generative-ai", "gemini-3.5-flash", true],
  ["google.generative-ai", "gemini-3.5-flash-lite", false],
  ["google.generative-ai", "gemini-3.6-flash", false],
  ["google.generative-ai", "gemini-4-pro", false],
  ["openai.responses", "gpt-5.1", false],
  ["openai.chat", "gpt-4o", false],
  ["scripted.chat", "m", false],
  ["", "", false],
];

describe("profiles", () => {
  test.each(models)("[P1] %s %s", (provider, model, prefill) => {
    expect(profileOf(provider, model)).toEqual({ prefill });
    expect(modeOf("continue", profileOf(provider, model))).toBe(prefill ? "prefill" : "ask");
  });
});
