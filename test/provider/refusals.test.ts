import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Provider, type RefusalCode, refusalCodes, startProvider } from "../../src/testing/provider/index.ts";
import { ask, askRaw, assistant, call, result, script, user } from "./helper.ts";

let provider: Provider;
beforeAll(async () => {
  provider = await startProvider({ script });
});
beforeEach(() => provider.reset());
afterAll(() => provider.close());

const hello = user("weather?");
const system = { role: "system", content: "Be brief." };
const calling = (tool: unknown) => [hello, { role: "assistant", content: null, tool_calls: tool }, result("1")];
const body = (rest: object) => JSON.stringify({ model: "m", stream: true, messages: [hello], ...rest });
const chat = (...messages: unknown[]) => body({ messages });

/** Code, what is wrong, the body. Every code but two has its row; those two need another script or a second request. */
const rows: [RefusalCode, string, string | Uint8Array][] = [
  ["invalid_json", "not JSON", "{"],
  ["invalid_json", "not an object", "[]"],
  ["invalid_json", "not UTF-8", new Uint8Array([0x22, 0xff, 0x22])],
  ["lone_surrogate", "in a text", chat(user("weather \ud83d"))],
  ["lone_surrogate", "in a key", body({ metadata: { "\udc00": 1 } })],
  ["lone_surrogate", "in arguments", chat(...calling([call("1", '{"a":"\\ud83d"}')]))],
  ["missing_model", "no model", body({ model: undefined })],
  ["missing_model", "a number", body({ model: 1 })],
  ["messages_not_array", "missing", body({ messages: undefined })],
  ["messages_not_array", "a string", body({ messages: "hi" })],
  ["stream_not_true", "missing", body({ stream: undefined })],
  ["empty_messages", "none", chat()],
  ["invalid_message", "a string", chat("hi")],
  ["invalid_message", "result for nobody", chat(hello, { role: "tool", content: "x" })],
  ["unknown_role", "function", chat({ role: "function", content: "x" })],
  ["unknown_role", "inherited name", chat({ role: "constructor", content: "x" })],
  ["invalid_content", "user without content", chat({ role: "user" })],
  ["invalid_content", "result without content", chat(hello, assistant(null, "1"), { role: "tool", tool_call_id: "1" })],
  ["invalid_content", "part without type", chat(user([{ text: "x" }]))],
  ["invalid_content", "text part without text", chat(user([{ type: "text" }]))],
  ["empty_content", "user, empty", chat(user(""))],
  ["empty_content", "user, whitespace", chat(user(" \n\t"))],
  ["empty_content", "user, no parts", chat(user([]))],
  [
    "empty_content",
    "user, blank part",
    chat(
      user([
        { type: "text", text: "weather" },
        { type: "text", text: "" },
      ]),
    ),
  ],
  ["empty_content", "assistant, empty, no calls", chat(hello, assistant(""), hello)],
  ["empty_content", "assistant, null, no calls", chat(hello, assistant(null), hello)],
  ["empty_content", "assistant, whitespace", chat(hello, assistant("  "), hello)],
  ["empty_content", "assistant, whitespace with calls", chat(hello, assistant(" ", "1"), result("1"))],
  ["empty_tool_calls", "[]", chat(...calling([]))],
  ["invalid_tool_call", "no array", chat(...calling({}))],
  ["invalid_tool_call", "no id", chat(...calling([{ type: "function", function: { name: "f", arguments: "{}" } }]))],
  ["invalid_tool_call", "no function", chat(...calling([{ id: "1", type: "function" }]))],
  ["invalid_arguments", "cut JSON", chat(...calling([call("1", '{"a":')]))],
  ["invalid_arguments", "a string", chat(...calling([call("1", '"{}"')]))],
  ["invalid_arguments", "an array", chat(...calling([call("1", "[]")]))],
  ["invalid_arguments", "null", chat(...calling([call("1", "null")]))],
  ["invalid_arguments", "not text", chat(...calling([{ ...call("1"), function: { name: "f", arguments: {} } }]))],
  ["duplicate_tool_call_id", "in one message", chat(...calling([call("1"), call("1")]))],
  [
    "duplicate_tool_call_id",
    "in two messages",
    chat(hello, assistant(null, "1"), result("1"), assistant(null, "1"), result("1")),
  ],
  ["missing_tool_result", "at the end", chat(hello, assistant(null, "1"))],
  ["missing_tool_result", "one of two", chat(hello, assistant(null, "1", "2"), result("2"), hello)],
  ["orphan_tool_result", "unknown id", chat(hello, result("9"))],
  ["orphan_tool_result", "beside a good one", chat(hello, assistant(null, "1"), result("1"), result("9"))],
  ["misplaced_tool_result", "after a user message", chat(hello, assistant(null, "1"), result("1"), hello, result("1"))],
  ["duplicate_tool_result", "twice", chat(hello, assistant(null, "1"), result("1"), result("1"))],
  ["system_not_first", "in the middle", chat(system, hello, system)],
  ["system_not_first", "at the end", chat(hello, system)],
  ["last_assistant", "prefill", chat(hello, assistant("The weather"))],
  ["no_script", "unknown text", chat(user("sing"))],
  ["no_script", "unknown text after a tool result", chat(hello, assistant(null, "1"), result("1"), user("go on"))],
  ["no_script", "no user message", chat(system)],
  ["past_script", "one step too far", chat(hello, assistant(null, "1"), result("1"))],
  ["continuation_mismatch", "one letter", chat(hello, assistant("The Weather"), user("go on"))],
  [
    "continuation_mismatch",
    "trimmed",
    chat(hello, assistant(script.turns[0]!.steps[0]!.text!.slice(1, 9)), user("go on")),
  ],
  ["continuation_mismatch", "a space too many", chat(hello, assistant("The  "), user("go on"))],
];

describe("refusals", () => {
  test.each(rows)("%s: %s", async (code, _what, raw) => {
    const answer = await askRaw(provider, raw);
    expect([answer.status, answer.error]).toMatchObject([400, { type: "invalid_request_error", code }]);
    expect(provider.refusals().map((refusal) => refusal.code)).toEqual([code]);
    expect(provider.requests()).toMatchObject([{ refusal: code, outcome: "refused" }]);
  });

  test("misplaced_continuation: a continue message after a tool result", async () => {
    provider.setScript({ ...script, continuation: "go on" });
    const good = [user("report"), assistant("Let me "), user("go on")];
    expect((await ask(provider, good)).status).toBe(200);
    const bad = [user("report"), assistant(null, "1"), result("1"), user("go on")];
    expect((await ask(provider, bad)).error?.code).toBe("misplaced_continuation");
    provider.setScript(script);
  });

  test("resent_refusal: the same bytes again, but not after a new script", async () => {
    const codes = () => provider.refusals().map((refusal) => refusal.code);
    for (let times = 0; times < 2; times += 1) await askRaw(provider, chat(user("sing")));
    expect(codes()).toEqual(["no_script", "resent_refusal", "no_script"]);
    provider.setScript({ turns: [{ when: "sing", steps: [{ text: "La." }] }] });
    expect((await askRaw(provider, chat(user("sing")))).text).toBe("La.");
    expect(codes()).toHaveLength(3);
    provider.setScript(script);
  });

  test("every code is reached", () => {
    const codes = new Set<RefusalCode>(rows.map(([code]) => code));
    expect(refusalCodes.filter((code) => !codes.has(code))).toEqual(["misplaced_continuation", "resent_refusal"]);
  });
});

describe("what must pass", () => {
  const fine: [string, unknown[]][] = [
    ["assistant null with calls", [user("report"), assistant(null, "1", "2"), result("2"), result("1")]],
    ["assistant empty text with calls", [user("report"), assistant("", "1"), result("1")]],
    ["assistant without content with calls", [user("report"), assistant(undefined, "1"), result("1")]],
    ["empty tool result", [user("report"), assistant(null, "1"), result("1", "")]],
    ["two system messages in front, developer", [system, { ...system, role: "developer" }, hello]],
    [
      "parts",
      [
        user([
          { type: "text", text: "weather" },
          { type: "image_url", image_url: { url: "x" } },
        ]),
      ],
    ],
    ["two user messages in a row", [user("one"), hello]],
    ["an older turn that was cut", [hello, assistant("The w"), user("report")]],
    ["reasoning", [hello, { ...assistant("The "), reasoning_content: "Hm." }, user("go on")]],
  ];
  test.each(fine)("%s", async (_name, messages) => {
    expect((await ask(provider, messages)).error).toBeNull();
    expect(provider.refusals()).toEqual([]);
  });

  test("carried reasoning is recorded", async () => {
    await ask(provider, fine.at(-1)![1]);
    await ask(provider, [hello]);
    expect(provider.requests().map((record) => record.carriedReasoning)).toEqual([true, false]);
  });
});
