import { describe, expect, test } from "vitest";
import type { Mode } from "../../src/core/continuation.ts";
import { type Chunk, isToolPart } from "../../src/core/transcript.ts";
import { type Answer, answered, begin, rest, shown, take, text } from "./stream.ts";

const end = (id: string): Chunk => ({ type: "text-end", id });
const mark = { providerMetadata: { mock: { item: 1 } } };
const step: Chunk = { type: "start-step" };
/** What a cut answer has left: one open text. */
const cut: Chunk[] = [step, ...text("0-0", "Hello")];

function types(answer: Answer): string[] {
  return answer.chunks.map(({ type, id }) => (id === undefined ? type : `${type} ${String(id)}`));
}

/** Text parts of the step, in order. */
function texts(answer: Answer): unknown[] {
  return answer.assembly.parts.filter(({ part }) => part.type === "text").map(({ part }) => part["text"]);
}

function call(toolCallId: string, input: object = {}, toolName = "pay"): Chunk[] {
  return [
    { type: "tool-input-start", toolCallId, toolName },
    { type: "tool-input-available", toolCallId, toolName, input },
  ];
}

function labels(answer: Answer): unknown[] {
  return answer.assembly.parts.filter(({ part }) => isToolPart(part)).map(({ part }) => part["toolCallId"]);
}

describe("ids", () => {
  test("[T7] are ours, whatever the provider calls its parts", () => {
    const said = [...text("a", "x"), end("a"), ...text("a", "y"), end("a"), ...text("a", "z")];
    expect(types(answered(said, { step: 3 }))).toEqual([
      "start-step",
      "text-start 3-0",
      "text-delta 3-0",
      "text-end 3-0",
      "text-start 3-1",
      "text-delta 3-1",
      "text-end 3-1",
      "text-start 3-2",
      "text-delta 3-2",
    ]);
  });

  test("[T7] of a run that comes after another go on", () => {
    const log: Chunk[] = [step, { type: "reasoning-start", id: "0-0" }, { type: "reasoning-end", id: "0-0" }];
    expect(types(answered([...text("a", "x")], { log }))).toEqual(["text-start 0-1", "text-delta 0-1"]);
  });

  test("[T7] of reasoning and text of one provider id are two", () => {
    const said: Chunk[] = [
      { type: "reasoning-start", id: "a" },
      { type: "reasoning-delta", id: "a", delta: "Hm" },
      ...text("a", "x"),
      { type: "reasoning-end", id: "a" },
    ];
    expect(types(answered(said)).slice(1)).toEqual([
      "reasoning-start 0-0",
      "reasoning-delta 0-0",
      "text-start 0-1",
      "text-delta 0-1",
      "reasoning-end 0-0",
    ]);
  });

  test("[T7] text parts that are open at once are kept apart", () => {
    const said = [
      ...text("a", "x"),
      ...text("b", "y"),
      { type: "text-delta", id: "a", delta: "x" },
      end("a"),
      end("b"),
    ];
    expect(texts(answered(said))).toEqual(["xx", "y"]);
  });
});

describe("labels of calls", () => {
  test("[T7] stay the provider's", () => {
    expect(labels(answered(call("call_1")))).toEqual(["call_1"]);
  });

  test("[T7] that the message holds already are renamed, with all that belongs to the call", () => {
    const said: Chunk[] = [...call("call_0"), { type: "tool-output-available", toolCallId: "call_0", output: 1 }];
    const answer = answered(said, { taken: ["call_0"] });
    expect(labels(answer)).toEqual(["call_0~0-0"]);
    expect(answer.assembly.parts.at(-1)?.part).toMatchObject({ state: "output-available", output: 1 });
  });

  test.each([
    ["streamed", call("call_0", { n: 1 }), call("call_0", { n: 2 })],
    ["whole", call("call_0", { n: 1 }).slice(1), call("call_0", { n: 2 }).slice(1)],
    ["first streamed", call("call_0", { n: 1 }), call("call_0", { n: 2 }).slice(1)],
  ])("[T7] that are given twice in one answer are two calls: %s", (_, first, second) => {
    const answer = answered([...first, ...second]);
    expect(labels(answer)).toEqual(["call_0", "call_0~0-0"]);
    expect(answer.assembly.parts.slice(1).map(({ part }) => part["input"])).toEqual([{ n: 1 }, { n: 2 }]);
  });

  test("[T7] are not renamed to what the message holds: one that was gone on with has renamed before", () => {
    expect(labels(answered(call("call_0"), { taken: ["call_0", "call_0~0-0", "call_0~0-1"] }))).toEqual(["call_0~0-2"]);
  });

  test("[T7] of calls that are streamed at once are kept apart", () => {
    const [a, b] = [call("a", { n: 1 }), call("b", { n: 2 })];
    const answer = answered([a[0]!, b[0]!, b[1]!, a[1]!]);
    expect(answer.assembly.parts.slice(1).map(({ part }) => part["input"])).toEqual([{ n: 1 }, { n: 2 }]);
  });
});

describe("an empty answer", () => {
  test.each<[string, readonly Chunk[]]>([
    ["nothing at all", []],
    ["a text without a character", [...text("a"), end("a")]],
    ["a text of empty deltas", [...text("a", "", ""), end("a")]],
    ["a text that only begins", text("a")],
  ])("[T10] leaves no trace but the step: %s", (_, said) => {
    expect(answered(said).chunks).toEqual([step]);
    expect(answered(said, { log: cut, mode: "ask" }).chunks).toEqual([]);
    expect(answered(said, { log: cut, mode: "prefill" }).chunks).toEqual([]);
  });

  test("[T10][A2] a mark that a provider puts on an empty text is kept", () => {
    const said = [...text("a"), { ...end("a"), ...mark }];
    expect(answered(said).chunks.slice(1)).toEqual([
      { type: "text-start", id: "0-0" },
      { ...end("0-0"), ...mark },
    ]);
  });

  test("[T4] the step is opened once, with the first thing that comes", () => {
    expect(types(answered(text("a", "x"), { log: [step] }))).toEqual(["text-start 0-0", "text-delta 0-0"]);
  });
});

const modes: readonly Mode[] = ["ask", "prefill"];

describe.each(modes)("a continuation (%s)", (mode) => {
  const goOn = (said: readonly Chunk[], log: readonly Chunk[] = cut): Answer => answered(said, { log, mode });

  test("[T8] goes on in the open text part", () => {
    const answer = goOn([...text("x", " there", "!"), end("x")]);
    expect(texts(answer)).toEqual(["Hello there!"]);
    expect(types(answer).at(-1)).toBe("text-end 0-0");
  });

  test("[T8] begins another part where what was cut had metadata, and closes that one first", () => {
    const answer = goOn(text("x", " there"), [step, { type: "text-start", id: "0-0", ...mark }, cut[2]!]);
    expect(types(answer)).toEqual(["text-end 0-0", "text-start 0-1", "text-delta 0-1"]);
    expect(texts(answer)).toEqual(["Hello", " there"]);
  });

  test("[T8] begins another part where it has metadata itself", () => {
    const answer = goOn([
      { type: "text-start", id: "x", ...mark },
      { type: "text-delta", id: "x", delta: " there" },
    ]);
    expect(types(answer)).toEqual(["text-end 0-0", "text-start 0-1", "text-delta 0-1"]);
  });

  test("[T8] leaves the joined part when metadata comes in the middle: it must not land on the old text", () => {
    const answer = goOn([...text("x", " there"), { type: "text-delta", id: "x", delta: "!", ...mark }]);
    expect(texts(answer)).toEqual(["Hello there", "!"]);
    expect(answer.assembly.parts.at(-2)?.part["providerMetadata"]).toBeUndefined();
  });

  test("[T8] metadata of the end does not land on the old text", () => {
    const answer = goOn([...text("x", " there"), { ...end("x"), ...mark }]);
    expect(texts(answer)).toEqual(["Hello there"]);
    expect(answer.assembly.parts.at(-1)?.part["providerMetadata"]).toBeUndefined();
  });

  test("[T8] that begins with reasoning closes the text and begins another", () => {
    const thought: Chunk[] = [
      { type: "reasoning-start", id: "r" },
      { type: "reasoning-end", id: "r" },
    ];
    const answer = goOn([...thought, ...text("x", " there")]);
    expect(types(answer)).toEqual([
      "text-end 0-0",
      "reasoning-start 0-1",
      "reasoning-end 0-1",
      "text-start 0-2",
      "text-delta 0-2",
    ]);
  });

  test("[T8] that begins with a call closes the text", () => {
    expect(types(goOn(call("c")))[0]).toBe("text-end 0-0");
  });

  test.each<[string, Chunk]>([
    ["a source", { type: "source-url", sourceId: "s", url: "https://a.example" }],
    ["a file", { type: "file", mediaType: "text/plain", url: "data:,a" }],
    ["reasoning", { type: "reasoning-start", id: "r" }],
    ["another text", { type: "text-start", id: "y" }],
    ["another text with metadata", { type: "text-start", id: "y", ...mark }],
    ["a call", call("c")[0]!],
  ])("[T8] loses nothing of a text that %s comes in the middle of", (_, other) => {
    const said = [...text("x", " there"), other, { type: "text-delta", id: "x", delta: "!" }, end("x")];
    expect(shown(goOn(said))).toBe("Hello there!");
  });

  test("[T8][R4] that begins with what a provider adds, as every answer of Anthropic does, goes on all the same", () => {
    const custom: Chunk = { type: "custom", kind: "anthropic.message_start", ...mark };
    const answer = goOn([custom, ...text("x", " there")], [step, custom, cut[1]!, cut[2]!]);
    expect(types(answer)).toEqual(["custom", "text-delta 0-0"]);
    const again = goOn([custom, ...text("x", "!")], [step, custom, cut[1]!, cut[2]!, ...answer.chunks]);
    expect(texts(again)).toEqual(["Hello there!"]);
  });

  test("[T8] of two texts joins with the first only", () => {
    const answer = goOn([...text("x", " there"), end("x"), ...text("y", "More")]);
    expect(texts(answer)).toEqual(["Hello there", "More"]);
  });

  test("[T8] has nothing to join where the text was closed", () => {
    expect(texts(goOn(text("x", " there"), [...cut, end("0-0")]))).toEqual(["Hello", " there"]);
  });
});

describe("a prefill", () => {
  const prefilled = (log: string, ...deltas: string[]): string =>
    shown(answered(text("x", ...deltas), { log: [step, ...text("0-0", log)], mode: "prefill" }));

  test.each([
    ["one space", ["Hello ", " there"], "Hello there"],
    ["in pieces", ["Hello \n\n", " ", "\n", "\n there"], "Hello \n\n there"],
    ["no space in the answer", ["Hello ", "there"], "Hello there"],
    ["more space in the answer", ["Hello ", "  there"], "Hello  there"],
    ["another space in the answer", ["Hello ", "\nthere"], "Hello \nthere"],
    ["none was shown", ["Hello", " there"], "Hello there"],
  ])(
    "[T8][P5] whose white space was not sent is joined as if it had been: %s",
    (_, [log = "", ...deltas], expected) => {
      expect(prefilled(log, ...deltas)).toBe(expected);
    },
  );
});

describe("a step that runs again", () => {
  test("[T4] joins nothing and opens nothing twice", () => {
    const log: Chunk[] = [step, { type: "reasoning-start", id: "0-0" }, { type: "reasoning-end", id: "0-0" }];
    const answer = begin({ log });
    take(answer, text("a", "x"));
    rest(answer);
    expect(types(answer)).toEqual(["text-start 0-1", "text-delta 0-1"]);
  });
});
