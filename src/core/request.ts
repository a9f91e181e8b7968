/**
 * The request builder: stored messages as a provider accepts them. Pure and idempotent; what is stored never changes.
 *
 *   P1. How an interrupted answer is gone on with is asked of the profile of the model that the request goes to.
 *   P2. Opaque provider data goes back to its origin byte for byte, or not at all.
 *   P3. Every tool call has exactly one result, and its input is an object.
 *   P4. No empty text, no empty message.
 *   P5. The request ends on the side of the user or of a tool, unless the profile allows a prefill.
 *   P6. Reasoning that was cut is never sent; nor are ids of provider items that were never finished.
 *   P7. What a provider ran itself is sent to that provider only, and whole.
 *   P9. All text is well-formed: half a surrogate pair, left by a cut, is refused by providers.
 */
import type { Mode } from "./continuation.ts";
import { isObject } from "./json.ts";
import { askForRest, askToGoOn, callUnknown } from "./texts.ts";
import { isToolPart, type Part, type StoredMessage, type StoredPart, type UiMessage } from "./transcript.ts";

export interface RequestInput {
  /** The conversation up to the message that is being written. */
  readonly history: readonly StoredMessage[];
  /** The message that is being written, as far as its steps are closed. */
  readonly current: StoredMessage | null;
  /** What is known of the current step. Not sent when the step runs again. */
  readonly tail: readonly StoredPart[];
  readonly mode: Mode;
  /** `provider:model` that this goes to. */
  readonly origin: string;
  readonly prefill: boolean;
}

export function buildRequest(input: RequestInput): UiMessage[] {
  const { history, current, tail, mode, origin } = input;
  const messages = history.map((message) => sendable(message, origin)).filter((message) => message !== null);
  const written =
    current && sendable(mode === "fresh" ? current : { ...current, parts: [...current.parts, ...tail] }, origin);
  if (written) messages.push(written);
  return ended(messages, input.prefill, mode === "ask");
}

function ended(messages: UiMessage[], prefill: boolean, cut: boolean): UiMessage[] {
  const last = messages.at(-1);
  if (last?.role !== "assistant" || endsInResult(last)) return messages;
  if (prefill) return [...messages.slice(0, -1), trimmed(last)];
  const text = cut ? askForRest : askToGoOn;
  return [...messages, { id: "perdure-request", role: "user", parts: [{ type: "text", text }] }];
}

/** Whether a request asks its model to go on with a text of its own. */
export function isPrefill(request: readonly UiMessage[]): boolean {
  const last = request.at(-1);
  return last?.role === "assistant" && !endsInResult(last);
}

/** The last thing in the message is the result of a call of ours: the model's turn. */
function endsInResult(message: UiMessage): boolean {
  const start = message.parts.findLastIndex((part) => part.type === "step-start");
  return message.parts.slice(start + 1).some((part) => isToolPart(part) && part["providerExecuted"] !== true);
}

/** A prefill may not end in white space; what was shown keeps it. */
function trimmed(message: UiMessage): UiMessage {
  const parts = [...message.parts];
  const last = parts.at(-1);
  if (last?.type === "text") parts[parts.length - 1] = { ...last, text: String(last["text"]).trimEnd() };
  return { ...message, parts };
}

function sendable(message: StoredMessage, origin: string): UiMessage | null {
  const parts = stepsOf(message.parts.flatMap((stored) => sendablePart(stored, message, origin))).flatMap(partnered);
  return parts.length === 0 ? null : { id: message.id, role: message.role, parts: parts.map(wellFormed) };
}

function stepsOf(parts: readonly Part[]): Part[][] {
  const steps: Part[][] = [[]];
  for (const part of parts) {
    if (part.type === "step-start") steps.push([]);
    steps.at(-1)?.push(part);
  }
  return steps;
}

/** Reasoning goes with what it led to in its step, or not at all (P6). A step that says nothing is not sent (P4). */
function partnered(step: readonly Part[]): Part[] {
  const last = step.findLastIndex(says);
  return last < 0 ? [] : step.filter((part, index) => !isReasoning(part) || index < last);
}

function isReasoning(part: Part): boolean {
  return part.type === "reasoning" || part.type === "reasoning-file";
}

/** What no provider takes for an answer by itself does not count. */
function says(part: Part): boolean {
  return !isReasoning(part) && part.type !== "step-start" && part.type !== "custom";
}

function sendablePart(stored: StoredPart, message: StoredMessage, origin: string): Part[] {
  const { part } = stored;
  if (part.type.startsWith("data-") || part.type.startsWith("source-")) return [];
  if (message.role !== "assistant") return part.type === "text" && isBlank(part) ? [] : [part];
  const foreign = stored.origin !== undefined && stored.origin !== origin;
  switch (part.type) {
    case "step-start":
      return [part];
    case "text":
      return isBlank(part) ? [] : [opaque(part, stored, foreign)];
    case "reasoning":
      return stored.cut || foreign || (stored.torn && hasItemId(part)) ? [] : [part];
    case "reasoning-file":
    case "custom":
      return foreign || stored.torn ? [] : [part];
    default:
      if (isToolPart(part)) return sendableCall(part, stored, foreign);
      return [opaque(part, stored, foreign)];
  }
}

function sendableCall(part: Part, stored: StoredPart, foreign: boolean): Part[] {
  const remote = part["providerExecuted"] === true;
  const whole = part["state"] === "output-available" && part["preliminary"] !== true;
  if (remote && (foreign || stored.cut || !(whole || part["state"] === "output-error"))) return [];
  const sent: Record<string, unknown> & { type: string } = { ...opaque(part, stored, foreign) };
  if (!isObject(sent["input"])) sent["input"] = inputObject(sent["input"]);
  delete sent["rawInput"];
  if (!whole && sent["state"] !== "output-error" && sent["state"] !== "output-denied") {
    // The last line of defence: a call without its end never leaves the house (P3).
    Object.assign(sent, { state: "output-error", errorText: callUnknown });
    delete sent["output"];
  }
  return [sent];
}

/** A string that is the JSON of an object is that object; anything else is an empty one. */
function inputObject(input: unknown): Record<string, unknown> {
  if (typeof input !== "string") return {};
  try {
    const parsed: unknown = JSON.parse(input);
    return isObject(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

const metadataFields = ["providerMetadata", "callProviderMetadata", "resultProviderMetadata"] as const;

/** The part without what its reader could not make sense of. */
function opaque(part: Part, stored: StoredPart, foreign: boolean): Part {
  if (!metadataFields.some((field) => part[field] !== undefined)) return part;
  const sent: Record<string, unknown> & { type: string } = { ...part };
  for (const field of metadataFields) {
    if (sent[field] === undefined) continue;
    const kept = foreign ? undefined : stored.torn ? withoutItems(sent[field]) : sent[field];
    if (kept === undefined) delete sent[field];
    else sent[field] = kept;
  }
  return sent;
}

/** Items of a response that never finished were not stored by the provider: to name them is refused. */
function withoutItems(metadata: unknown): unknown {
  if (!isObject(metadata)) return undefined;
  const kept = Object.entries(metadata).filter(([, values]) => !(isObject(values) && "itemId" in values));
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

function hasItemId(part: Part): boolean {
  const metadata = part["providerMetadata"];
  return isObject(metadata) && Object.values(metadata).some((values) => isObject(values) && "itemId" in values);
}

/** The same value when there is nothing to mend. */
function wellFormed<T>(value: T): T {
  if (typeof value === "string") return (value.isWellFormed() ? value : value.toWellFormed()) as T;
  if (typeof value !== "object" || value === null) return value;
  let mended: Record<string, unknown> | null = null;
  for (const [key, field] of Object.entries(value)) {
    const sound = wellFormed(field);
    if (sound === field) continue;
    mended ??= (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
    mended[key] = sound;
  }
  return (mended ?? value) as T;
}

function isBlank(part: Part): boolean {
  return String(part["text"] ?? "").trim() === "";
}
