// The provider against the real client package: what `@ai-sdk/openai-compatible` sends must pass the rules.

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { isStepCount, streamText, tool } from "ai";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { type Provider, startProvider } from "../../src/testing/provider/index.ts";
import { script, weather } from "./helper.ts";

interface WireMessage {
  role: string;
  content: unknown;
  tool_calls?: { id: string }[];
}

let provider: Provider;
beforeAll(async () => {
  provider = await startProvider({ script, manner: "exact", prefill: true, keepBodies: true });
});
beforeEach(() => provider.reset());
afterAll(() => provider.close());

const model = () => createOpenAICompatible({ name: "scripted", baseURL: provider.url, includeUsage: true })("m");
const sentMessages = (index: number) => (provider.requests()[index]!.body as { messages: WireMessage[] }).messages;
const look = tool({ inputSchema: z.object({ place: z.string() }), execute: async ({ place }) => `seen ${place}` });

test("streamText plays a turn with a tool: two steps, the script's text, no refusal", async () => {
  const answer = streamText({ model: model(), prompt: "report", tools: { look }, stopWhen: isStepCount(5) });
  const steps = await answer.steps;
  expect(steps.map((step) => step.text)).toEqual(["Let me look. ", "All done: two places looked up."]);
  expect(steps.map((step) => step.finishReason)).toEqual(["tool-calls", "stop"]);
  expect(steps[0]?.reasoningText).toBe("I need two look-ups first.");
  expect(steps[0]?.toolResults.map((result) => result.output)).toEqual(["seen a", "seen b"]);
  expect(steps[0]?.usage.outputTokens).toBeGreaterThan(0);
  expect(provider.refusals()).toEqual([]);
  expect(provider.requests().map(({ kind, step, outcome }) => [kind, step, outcome])).toEqual([
    ["first", 0, "finished"],
    ["step", 1, "finished"],
  ]);
});

test("the wire shape of the package: calls, results, reasoning", async () => {
  await streamText({ model: model(), prompt: "report", tools: { look }, stopWhen: isStepCount(5) }).steps;
  const messages = sentMessages(1);
  const ids = messages[1]!.tool_calls!.map((call) => call.id);
  expect(messages).toEqual([
    { role: "user", content: "report" },
    {
      role: "assistant",
      content: "Let me look. ",
      reasoning_content: "I need two look-ups first.",
      tool_calls: ["a", "b"].map((place, index) => ({
        id: ids[index],
        type: "function",
        function: { name: "look", arguments: JSON.stringify({ place }) },
      })),
    },
    { role: "tool", tool_call_id: ids[0], content: "seen a" },
    { role: "tool", tool_call_id: ids[1], content: "seen b" },
  ]);
  expect(provider.requests()[1]?.carriedReasoning).toBe(true);
});

test("the wire shape of the package: calls without text have content null", async () => {
  const calls = [{ name: "look", input: { place: "a" } }];
  provider.setScript({ turns: [{ when: "mute", steps: [{ calls }, { text: "Done." }] }] });
  await streamText({ model: model(), prompt: "mute", tools: { look }, stopWhen: isStepCount(5) }).steps;
  provider.setScript(script);
  const messages = sentMessages(1);
  expect(messages[1]?.content).toBeNull();
  expect(Object.keys(messages[1] ?? {})).toEqual(["role", "content", "tool_calls"]);
});

test("a continuation by user message and by prefill gives the rest", async () => {
  const partial = weather.slice(0, 33);
  const messages = [
    { role: "user" as const, content: "weather" },
    { role: "assistant" as const, content: partial },
  ];
  const more = { role: "user" as const, content: "Go on." };
  expect(await streamText({ model: model(), messages: [...messages, more] }).text).toBe(weather.slice(33));
  expect(await streamText({ model: model(), messages }).text).toBe(weather.slice(33));
  expect(provider.refusals()).toEqual([]);
});
