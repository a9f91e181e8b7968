// Wire functions are total: any input has an answer, and none throws.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { errorCodes } from "../../src/core/errors.ts";
import { idFault } from "../../src/core/ids.ts";
import { snapshotChunks } from "../../src/core/snapshot.ts";
import { problemText, statusOf } from "../../src/wire/problem.ts";
import { encodeSlice, encodeUnlogged, endsLog, parseEventId, parseOffset } from "../../src/wire/sse.ts";
import { parseSubmit } from "../../src/wire/submit.ts";
import { events } from "./server.ts";

describe("event ids", () => {
  it("what was encoded is parsed back, whatever the turn's id and the text", () => {
    const turn = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }).filter((id) => idFault(id) === null);
    const texts = fc.array(
      fc.jsonValue().map((value) => JSON.stringify(value)),
      { maxLength: 5 },
    );
    fc.assert(
      fc.property(turn, fc.nat(1e9), texts, (id, first, some) => {
        const parsed = events(encodeSlice(id, first, some));
        expect(parsed.map(({ data }) => data)).toEqual(some);
        expect(parsed.map((event) => parseEventId(event.id!))).toEqual(
          some.map((_, at) => ({ turn: id, offset: first + at })),
        );
      }),
    );
  });

  it("any text is an event id or null, and only in one spelling", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const parsed = parseEventId(text);
        if (parsed !== null) expect(`${parsed.turn}:${parsed.offset}`).toBe(text);
      }),
    );
    for (const text of [
      "",
      ":",
      "a",
      "a:",
      ":0",
      "a:01",
      "a:-0",
      "a:1e3",
      "a:+1",
      "a: 1",
      "a:1 ",
      "a:٣",
      "..:0",
      "a\n:0",
    ]) {
      expect([text, parseEventId(text)]).toEqual([text, null]);
    }
    expect([parseOffset("0"), parseOffset("999999999999999"), parseOffset("1000000000000000")]).toEqual([
      0,
      999999999999999,
      null,
    ]);
  });

  it("the end of a log is one of three types; anything else is not", () => {
    expect(['{"type":"finish"}', '{"type":"abort"}', '{"type":"error","errorText":""}'].map(endsLog)).toEqual([
      true,
      true,
      true,
    ]);
    const others = ["", "null", "[]", '"finish"', "{", "{}", '{"type":"finish-step"}', '{"data":{"type":"finish"}}'];
    expect(others.map(endsLog)).toEqual(others.map(() => false));
  });

  it("chunks outside the log have no id line", () => {
    expect(encodeUnlogged([{ type: "data-x", data: "a\nb" }])).toBe('data: {"type":"data-x","data":"a\\nb"}\n\n');
  });
});

describe("submits", () => {
  it("any text has an answer", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void parseSubmit(text)));
  });

  it("any JSON has an answer, and one of the right shape around any values too", () => {
    const value = fc.jsonValue({ maxDepth: 4 });
    const shaped = fc.record(
      {
        id: fc.oneof(fc.string(), value),
        trigger: fc.oneof(fc.constantFrom("submit-message", "regenerate-message"), value),
        messageId: value,
        messages: fc.oneof(
          fc.array(
            fc.record(
              {
                id: fc.oneof(fc.string(), value),
                role: fc.oneof(fc.constantFrom("user", "assistant"), value),
                parts: fc.oneof(
                  fc.array(
                    fc.oneof(
                      value,
                      fc.record({ type: fc.constantFrom("text", "file", "data-x"), text: value, url: value }),
                    ),
                  ),
                  value,
                ),
                metadata: value,
              },
              { requiredKeys: [] },
            ),
          ),
          value,
        ),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(value, shaped), (body) => {
        const submit = parseSubmit(JSON.stringify(body));
        if (submit.kind === "submit") expect([idFault(submit.id), idFault(submit.message.id)]).toEqual([null, null]);
        else expect(statusOf[submit.code]).toBeGreaterThanOrEqual(400);
      }),
      { numRuns: 500 },
    );
  });
});

describe("snapshots", () => {
  it("any part has chunks or none", () => {
    const type = fc.constantFrom(
      "text",
      "reasoning",
      "file",
      "tool-x",
      "tool-",
      "dynamic-tool",
      "data-",
      "step-start",
      "nope",
    );
    const state = fc.constantFrom("input-streaming", "output-available", "output-error", "output-denied", 7, null);
    const field = fc.jsonValue({ maxDepth: 2 });
    const part = fc.record(
      { type, state, text: field, approval: field, input: field, id: field, rawInput: field },
      { requiredKeys: ["type"] },
    );
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const chunks = snapshotChunks({ id: "m", role: "assistant", parts });
        expect([chunks[0]?.type, chunks.at(-1)?.type]).toEqual(["start", "finish"]);
      }),
    );
  });
});

describe("refusals", () => {
  it("every code has a status that says error, and a text that names its page", () => {
    for (const code of errorCodes) {
      expect(statusOf[code]).toBeGreaterThanOrEqual(400);
      expect(JSON.parse(problemText({ code, message: "M.", next: "N." }))).toEqual({
        error: { code, message: "M.", next: "N.", page: `docs/errors/${code}.md` },
      });
    }
  });

  it.each([
    ["", "empty"],
    [undefined, "not a string"],
    [".", "segment"],
    ["..", "segment"],
    ["a\u007f", "control"],
    ["a\u2028", "control"],
    ["\udfff", "surrogate"],
    ["x".repeat(257), "longer"],
  ])("%o is no id: %s", (id, fault) => {
    expect(idFault(id)).toContain(fault);
  });

  it.each(["a", "...", "a/b", "..\\x", "😀", "x".repeat(256), " ", "turn_1:2"])("%o is an id", (id) => {
    expect(idFault(id)).toBeNull();
  });
});
