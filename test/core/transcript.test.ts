import { describe, expect, test } from "vitest";
import { errorText, PerdureError } from "../../src/core/errors.ts";
import { idFault } from "../../src/core/ids.ts";
import { limits } from "../../src/core/limits.ts";
import { isToolPart, storedMessage, textOf, toolName, uiMessage } from "../../src/core/transcript.ts";

describe("a message", () => {
  const parts = [{ type: "step-start" }, { type: "text", text: "Hi" }, { type: "tool-pay", toolCallId: "c" }];

  test.each([{}, { metadata: { a: 1 } }, { metadata: null }])("[A3] comes back as it was given: %j", (more) => {
    const message = { id: "m", role: "user" as const, parts, ...more };
    expect(uiMessage(storedMessage(message))).toEqual(message);
  });

  test("[A3] is shown without its envelope", () => {
    const stored = {
      id: "m",
      role: "assistant" as const,
      parts: [{ part: parts[1]!, origin: "a:m", torn: true as const }],
    };
    expect(uiMessage({ ...stored, turn: "t1" })).toEqual({ id: "m", role: "assistant", parts: [parts[1]] });
  });

  test("[R4] its text is that of its text parts", () => {
    const odd = [{ type: "reasoning", text: "Hm" }, { type: "text" }, { type: "text", text: "!" }];
    expect(textOf({ parts: [...parts, ...odd] })).toBe("Hi!");
  });

  test("[A1] a call's tool is in its type, or beside it", () => {
    expect(isToolPart({ type: "tool-pay-now" }) && toolName({ type: "tool-pay-now" })).toBe("pay-now");
    const dynamic = { type: "dynamic-tool", toolName: "tool-x" };
    expect(isToolPart(dynamic) && toolName(dynamic)).toBe("tool-x");
    expect(isToolPart({ type: "text" })).toBe(false);
  });
});

describe("ids from outside", () => {
  test.each(["a", "a/b c", "ä\ud83d\ude00", "...", ".a", " ", "x".repeat(limits.idCharsMax)])(
    "[W6] %j is one",
    (id) => {
      expect(idFault(id)).toBeNull();
    },
  );

  test.each([
    "",
    ".",
    "..",
    "a\nb",
    "a\u0000",
    "a\u007f",
    "a\u2028b",
    "a\ud83d",
    "x".repeat(limits.idCharsMax + 1),
    7,
    null,
    undefined,
    {},
  ])("[W6] %j is none, and what is wrong is said", (id) => {
    expect(idFault(id)).toMatch(/^(is|holds) /);
  });
});

describe("errors", () => {
  test("[W6] say what happened, what happens next, and where the page is", () => {
    const error = new PerdureError({ code: "BAD_ID", message: "It is bad.", next: "Take another." }, { cause: 1 });
    expect(error.message).toBe("It is bad. Take another. (BAD_ID: docs/errors/BAD_ID.md)");
    expect([error.name, error.code, error.cause]).toEqual(["PerdureError", "BAD_ID", 1]);
    expect(PerdureError.is(error)).toBe(true);
    expect(PerdureError.is(error, "BAD_ID")).toBe(true);
    expect(PerdureError.is(error, "FORBIDDEN")).toBe(false);
    expect(PerdureError.is(new Error("x"))).toBe(false);
  });

  test.each<[string, unknown, string]>([
    ["an error", new Error("no"), "no"],
    ["an error without words", new TypeError(""), "TypeError"],
    ["a string", "no", "no"],
    ["anything else", { a: 1 }, "unknown error"],
    ["a long text", "x".repeat(3_000), `${"x".repeat(1_999)}…`],
  ])("[L1] the text of what was thrown is bounded: %s", (_, thrown, expected) => {
    expect(errorText(thrown)).toBe(expected);
  });
});
