/**
 * What providers refuse, as far as it can be seen in a request: each finding is one reason to answer 400. Looks at the
 * messages that we build and at what the SDK makes of them. Knows nothing of how a request is built.
 */
import { convertToModelMessages, type ModelMessage, type UIMessage } from "ai";
import { isPrefill } from "../../src/core/request.ts";
import { isToolPart, type Part, type UiMessage } from "../../src/core/transcript.ts";

type Content = Exclude<ModelMessage["content"], string>[number];

const plainObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);
const blank = (value: unknown): boolean => typeof value !== "string" || value.trim() === "";

/** Every text in a value, at any depth. */
function strings(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(strings);
}

function ofPart(part: Part): string[] {
  if (part.type === "text" && blank(part["text"])) return ["empty text (P4)"];
  if (part.type.startsWith("data-") || part.type.startsWith("source-")) return [`${part.type} is for display`];
  if (!isToolPart(part)) return [];
  const found: string[] = [];
  if (!plainObject(part["input"])) found.push("input is not an object (P3)");
  if (part["rawInput"] !== undefined) found.push("raw input (P3)");
  const unfinished = part["state"] === "output-available" && part["preliminary"] === true;
  if (unfinished || !/^output-(available|error|denied)$/.test(String(part["state"]))) {
    found.push("a call without its result (P3)");
  }
  return found;
}

function ofContent(role: string, content: readonly Content[]): string[] {
  const found: string[] = [];
  if (content.length === 0) found.push(`an empty ${role} message (P4)`);
  const alone = content.every(({ type }) => type === "reasoning" || type === "reasoning-file" || type === "custom");
  if (role === "assistant" && content.length > 0 && alone) found.push("an answer of nothing but reasoning (P4)");
  for (const part of content) if (part.type === "text" && blank(part.text)) found.push("empty text (P4)");
  return found;
}

/** Calls of an answer are answered by the message right after it, each once. */
function pairing(messages: readonly ModelMessage[]): string[] {
  const found: string[] = [];
  let open: string[] = [];
  for (const { role, content } of messages) {
    const parts = typeof content === "string" ? [] : (content as readonly Content[]);
    const results = parts.flatMap((part) => (part.type === "tool-result" ? [part.toolCallId] : []));
    const calls = parts.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []));
    if (role === "tool" && results.join() !== open.join()) found.push(`results ${results} of calls ${open} (P3)`);
    if (role !== "tool" && open.length > 0) found.push(`calls ${open} without results (P3)`);
    const own = calls.filter((id) => !results.includes(id));
    open = role === "assistant" ? own : [];
    if (new Set(calls).size !== calls.length) found.push("one id for two calls (T7)");
  }
  if (open.length > 0) found.push(`calls ${open} without results (P3)`);
  return found;
}

function ending(request: readonly UiMessage[], messages: readonly ModelMessage[], prefill: boolean): string[] {
  const last = messages.at(-1);
  if (last?.role === "user" || last?.role === "tool") return isPrefill(request) ? ["is called a prefill (P10)"] : [];
  if (last?.role !== "assistant" || !prefill) return [`ends on the side of ${last?.role} (P5)`];
  const part = typeof last.content === "string" ? undefined : last.content.at(-1);
  const found = isPrefill(request) ? [] : ["is not called a prefill (P10)"];
  if (part?.type === "text" && part.text !== part.text.trimEnd()) found.push("a prefill that ends in white space (P5)");
  return found;
}

export async function refusals(request: readonly UiMessage[], prefill: boolean): Promise<string[]> {
  const found = request.flatMap(({ parts }) => parts.flatMap(ofPart));
  if (strings(request).some((text) => !text.isWellFormed())) found.push("half a surrogate pair (P9)");
  const messages = await convertToModelMessages(structuredClone(request) as UIMessage[]);
  for (const { role, content } of messages) {
    found.push(...ofContent(role, typeof content === "string" ? [] : (content as readonly Content[])));
  }
  return [...found, ...pairing(messages), ...ending(request, messages, prefill)];
}
