// The shape of a request: everything that can be judged looking at one value alone.

import { isRecord } from "./script.ts";
import type { RefusalCode } from "./types.ts";

/** Thrown for a request that a real provider answers with a 400. */
export class Refused extends Error {
  readonly code: RefusalCode;
  readonly param: string | null;
  constructor(code: RefusalCode, param: string | null, message: string) {
    super(message);
    this.code = code;
    this.param = param;
  }
}

export function refuse(code: RefusalCode, param: string | null, message: string): never {
  throw new Refused(code, param, message);
}

export type Role = "system" | "user" | "assistant" | "tool";

/** A message reduced to what rules and script look at. */
export interface Message {
  role: Role;
  text: string;
  callIds: string[];
  resultFor: string | null;
}

export interface ChatRequest {
  model: string;
  messages: Message[];
  includeUsage: boolean;
}

const roles: Record<string, Role> = {
  system: "system",
  developer: "system",
  user: "user",
  assistant: "assistant",
  tool: "tool",
};

export function parseBody(raw: Uint8Array): Record<string, unknown> {
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(raw));
  } catch {
    refuse("invalid_json", null, "We could not parse the JSON body of your request.");
  }
  return isRecord(body) ? body : refuse("invalid_json", null, "The body must be a JSON object.");
}

export function readRequest(body: Record<string, unknown>): ChatRequest {
  checkWellFormed(body, "");
  const { model, messages, stream, stream_options: options } = body;
  if (typeof model !== "string" || model === "")
    refuse("missing_model", "model", "You must provide a model parameter.");
  if (!Array.isArray(messages))
    refuse("messages_not_array", "messages", "Invalid type for 'messages': expected an array.");
  if (stream !== true) refuse("stream_not_true", "stream", "This provider only streams: 'stream' must be true.");
  if (messages.length === 0) refuse("empty_messages", "messages", "Invalid 'messages': empty array.");
  return {
    model,
    messages: messages.map((message, index) => readMessage(message, `messages[${index}]`)),
    includeUsage: isRecord(options) && options.include_usage === true,
  };
}

function readMessage(value: unknown, at: string): Message {
  if (!isRecord(value)) refuse("invalid_message", at, `Invalid type for '${at}': expected an object.`);
  const role = typeof value.role === "string" && Object.hasOwn(roles, value.role) ? roles[value.role] : undefined;
  if (role === undefined)
    refuse("unknown_role", `${at}.role`, `Invalid value for '${at}.role': ${String(value.role)}.`);
  const callIds = role === "assistant" ? readCalls(value.tool_calls, `${at}.tool_calls`) : [];
  const text = readText(value.content, `${at}.content`, role, callIds.length > 0);
  const resultFor = role === "tool" ? value.tool_call_id : null;
  if (resultFor !== null && (typeof resultFor !== "string" || resultFor === "")) {
    refuse("invalid_message", `${at}.tool_call_id`, `Missing required parameter '${at}.tool_call_id'.`);
  }
  return { role, text, callIds, resultFor };
}

function readText(content: unknown, at: string, role: Role, hasCalls: boolean): string {
  if (hasCalls && (content === null || content === undefined || content === "")) return "";
  if (role === "assistant" && (content === null || content === undefined)) {
    refuse("empty_content", at, `'${at}' is required unless tool_calls is given.`);
  }
  const mayBeBlank = role === "tool";
  const texts: string[] = [];
  if (typeof content === "string") {
    texts.push(content);
  } else if (Array.isArray(content)) {
    if (content.length === 0) refuse("empty_content", at, `'${at}' must not be an empty array.`);
    for (const part of content) {
      if (!isRecord(part) || typeof part.type !== "string")
        refuse("invalid_content", at, `'${at}': a part has no type.`);
      if (part.type !== "text") continue;
      if (typeof part.text !== "string") refuse("invalid_content", at, `'${at}': a text part has no text.`);
      texts.push(part.text);
    }
  } else {
    refuse("invalid_content", at, `Invalid type for '${at}': expected a string or an array of parts.`);
  }
  if (!mayBeBlank && texts.some((text) => text.trim() === "")) {
    refuse("empty_content", at, `'${at}': text content must be non-empty and not only whitespace.`);
  }
  return texts.join("");
}

function readCalls(value: unknown, at: string): string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) refuse("invalid_tool_call", at, `Invalid type for '${at}': expected an array.`);
  if (value.length === 0) refuse("empty_tool_calls", at, `Invalid '${at}': empty array.`);
  return value.map((call: unknown, index) => {
    const here = `${at}[${index}]`;
    const tool = isRecord(call) ? call.function : undefined;
    if (!isRecord(call) || typeof call.id !== "string" || call.id === "" || call.type !== "function") {
      refuse("invalid_tool_call", here, `'${here}' needs an id and type 'function'.`);
    }
    if (!isRecord(tool) || typeof tool.name !== "string" || tool.name === "") {
      refuse("invalid_tool_call", `${here}.function`, `'${here}.function' needs a name.`);
    }
    checkArguments(tool.arguments, `${here}.function.arguments`);
    return call.id;
  });
}

function checkArguments(value: unknown, at: string): void {
  let input: unknown;
  try {
    input = JSON.parse(value as string);
  } catch {
    // Falls through: `input` stays undefined.
  }
  if (typeof value !== "string" || !isRecord(input)) refuse("invalid_arguments", at, `'${at}' must be a JSON object.`);
  // Inside the arguments a lone surrogate is still an escape in the outer body.
  checkWellFormed(input, at);
}

function checkWellFormed(value: unknown, at: string): void {
  if (typeof value === "string") {
    if (!value.isWellFormed()) refuse("lone_surrogate", at, `'${at}' is not valid Unicode: it has a lone surrogate.`);
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) checkWellFormed(item, `${at}[${index}]`);
  } else if (isRecord(value)) {
    for (const [key, item] of Object.entries(value)) {
      checkWellFormed(key, at);
      checkWellFormed(item, at === "" ? key : `${at}.${key}`);
    }
  }
}
