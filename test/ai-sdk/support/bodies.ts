/** One streamed answer of each provider's API: an umlaut and an emoji in the text, then a call. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4 } from "@ai-sdk/provider";

export interface Recorded {
  readonly name: string;
  readonly body: string;
  model(baseURL: string): LanguageModelV4;
  /** The answer is whole when the body has been sent up to the end of the event with this text. */
  readonly whole: string;
  /** What the whole body gives, in brief. */
  readonly chunks: readonly string[];
  /** Chunks that end something, and the text in whose event the provider says so, where it does before `whole`. */
  readonly closedBy: Readonly<Record<string, string>>;
}

const sse = (events: readonly unknown[], named = false): string =>
  events
    .map((event) => {
      const name = named ? `event: ${(event as { type: string }).type}\n` : "";
      return `${name}data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`;
    })
    .join("");

const chat = (delta: object, finish_reason: string | null = null) => ({
  id: "c1",
  model: "m-1",
  choices: [{ index: 0, delta, finish_reason }],
});

const chatCall = [
  chat({
    tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "weather", arguments: "" } }],
  }),
  chat({ tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] }),
  chat({ tool_calls: [{ index: 0, function: { arguments: '"Zürich"}' } }] }),
];
const chatUsage = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 };
const callChunks = ["tool-input-start:call_1", 'tool-input-delta:{"city":', 'tool-input-delta:"Zürich"}'];

const openaiChat: Recorded = {
  name: "openai.chat",
  model: (baseURL) => createOpenAI({ baseURL, apiKey: "k" }).chat("m-1"),
  body: sse([
    chat({ role: "assistant", content: "" }),
    chat({ content: "Grüße " }),
    chat({ content: "👋" }),
    ...chatCall,
    chat({}, "tool_calls"),
    { ...chat({}), choices: [], usage: chatUsage },
    "[DONE]",
  ]),
  whole: '"finish_reason":"tool_calls"',
  chunks: [
    "text-start:0",
    "text-delta:Grüße ",
    "text-delta:👋",
    ...callChunks,
    "text-end:0",
    "tool-input-available:call_1",
  ],
  closedBy: {},
};

const openaiText: Recorded = {
  ...openaiChat,
  name: "openai.chat, text only",
  body: sse([
    chat({ role: "assistant", content: "Grüße" }),
    chat({ content: " 👋" }),
    chat({}, "stop"),
    { ...chat({}), choices: [], usage: chatUsage },
    "[DONE]",
  ]),
  whole: '"finish_reason":"stop"',
  chunks: ["text-start:0", "text-delta:Grüße", "text-delta: 👋", "text-end:0"],
};

const compatible: Recorded = {
  name: "openai-compatible",
  model: (baseURL) => createOpenAICompatible({ name: "house", baseURL, apiKey: "k" })("m-1") as LanguageModelV4,
  body: sse([
    chat({ role: "assistant", reasoning_content: "Hm " }),
    chat({ reasoning_content: "so." }),
    chat({ content: "Grüße " }),
    chat({ content: "👋" }),
    ...chatCall,
    chat({}, "tool_calls"),
    { ...chat({}), choices: [], usage: chatUsage },
    "[DONE]",
  ]),
  whole: '"finish_reason":"tool_calls"',
  chunks: [
    "reasoning-start:reasoning-0",
    "reasoning-delta:Hm ",
    "reasoning-delta:so.",
    "reasoning-end:reasoning-0",
    "text-start:txt-0",
    "text-delta:Grüße ",
    "text-delta:👋",
    ...callChunks,
    "text-end:txt-0",
    "tool-input-available:call_1",
  ],
  closedBy: { "reasoning-end:reasoning-0": "Grüße" },
};

const response = { id: "resp_1", object: "response", created_at: 1, model: "m-1" };
const message = { type: "message", id: "msg_1", status: "in_progress", role: "assistant", content: [] as unknown[] };
const call = { type: "function_call", id: "fc_1", call_id: "call_1", name: "weather", arguments: "" };

const openaiResponses: Recorded = {
  name: "openai.responses",
  model: (baseURL) => createOpenAI({ baseURL, apiKey: "k" }).responses("m-1"),
  body: sse(
    [
      { type: "response.created", response },
      { type: "response.output_item.added", output_index: 0, item: message },
      { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: "Grüße " },
      { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: "👋" },
      { type: "response.output_item.done", output_index: 0, item: { ...message, status: "completed" } },
      { type: "response.output_item.added", output_index: 1, item: call },
      { type: "response.function_call_arguments.delta", item_id: "fc_1", output_index: 1, delta: '{"city":' },
      { type: "response.function_call_arguments.delta", item_id: "fc_1", output_index: 1, delta: '"Zürich"}' },
      {
        type: "response.output_item.done",
        output_index: 1,
        item: { ...call, arguments: '{"city":"Zürich"}', status: "completed" },
      },
      { type: "response.completed", response: { ...response, usage: { input_tokens: 3, output_tokens: 5 } } },
    ],
    true,
  ),
  whole: "event: response.completed",
  chunks: [
    "text-start:msg_1",
    "text-delta:Grüße ",
    "text-delta:👋",
    "text-end:msg_1",
    ...callChunks,
    "tool-input-available:call_1",
  ],
  closedBy: {
    "text-end:msg_1": '"item":{"type":"function_call"',
    "tool-input-available:call_1": '"arguments":"{\\"city\\":\\"Zürich\\"}"',
  },
};

const anthropic: Recorded = {
  name: "anthropic",
  model: (baseURL) => createAnthropic({ baseURL, apiKey: "k" })("claude-x"),
  body: sse(
    [
      {
        type: "message_start",
        message: {
          id: "msg_1",
          type: "message",
          role: "assistant",
          model: "m-1",
          content: [],
          usage: { input_tokens: 3 },
        },
      },
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm." } },
      { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "c2ln" } },
      { type: "content_block_stop", index: 0 },
      { type: "ping" },
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Grüße 👋" } },
      { type: "content_block_stop", index: 1 },
      {
        type: "content_block_start",
        index: 2,
        content_block: { type: "tool_use", id: "call_1", name: "weather", input: {} },
      },
      { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: '{"city":' } },
      { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: '"Zürich"}' } },
      { type: "content_block_stop", index: 2 },
      { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 5 } },
      { type: "message_stop" },
    ],
    true,
  ),
  whole: "event: message_stop",
  chunks: [
    "custom:anthropic.message_start",
    "reasoning-start:0",
    "reasoning-delta:Hm.",
    "reasoning-delta:",
    "reasoning-end:0",
    "text-start:1",
    "text-delta:Grüße 👋",
    "text-end:1",
    ...callChunks,
    "tool-input-available:call_1",
  ],
  closedBy: {
    "reasoning-end:0": '"type":"content_block_stop","index":0',
    "text-end:1": '"type":"content_block_stop","index":1',
    "tool-input-available:call_1": '"type":"content_block_stop","index":2',
  },
};

const gemini = (parts: readonly object[], more: object = {}) => ({
  candidates: [{ content: { role: "model", parts }, index: 0, ...more }],
  modelVersion: "m-1",
  responseId: "resp_1",
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 5, totalTokenCount: 8 },
});

const google: Recorded = {
  name: "google",
  model: (baseURL) => createGoogle({ baseURL, apiKey: "k", generateId: () => "call_1" })("gemini-x"),
  body: sse([
    gemini([{ text: "Hm.", thought: true }]),
    gemini([{ text: "Grüße " }]),
    gemini([{ text: "👋" }]),
    gemini([{ functionCall: { name: "weather", args: { city: "Zürich" } } }]),
    gemini([{ text: "" }], { finishReason: "STOP" }),
  ]),
  whole: '"finishReason":"STOP"',
  chunks: [
    "reasoning-start:0",
    "reasoning-delta:Hm.",
    "reasoning-end:0",
    "text-start:1",
    "text-delta:Grüße ",
    "text-delta:👋",
    "text-end:1",
    "tool-input-start:call_1",
    'tool-input-delta:{"city":"Zürich"}',
    "tool-input-available:call_1",
  ],
  closedBy: { "reasoning-end:0": "Grüße", "text-end:1": "functionCall", "tool-input-available:call_1": "functionCall" },
};

export const recorded: readonly Recorded[] = [openaiChat, openaiText, openaiResponses, anthropic, google, compatible];
