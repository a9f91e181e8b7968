/** Strict: what a provider refuses. A request that breaks a rule fails the world, as a real one fails a user's turn. */
import { isObject } from "../../core/json.ts";
import { isToolPart, type Part, textOf, type UiMessage } from "../../core/transcript.ts";
import type { Complaint } from "./grammar.ts";
import type { ModelPlan } from "./scenario.ts";
import { groupsOf } from "./script.ts";

export interface Asked {
  readonly model: ModelPlan;
  readonly messages: readonly UiMessage[];
  /** More may have been asked for, behind a step that was the last. */
  readonly more: boolean;
  /** Provider items of responses that ended in order. */
  readonly items: ReadonlySet<string>;
  readonly complain: Complaint;
}

export function checkRequest(asked: Asked): void {
  const { messages, complain } = asked;
  if (messages[0]?.role !== "user") complain("P5", "a request begins with a user");
  for (const message of messages) {
    if (message.parts.length === 0) complain("P4", `message ${message.id} of a request is empty`);
    if (message.role === "user" && textOf(message).trim() === "")
      complain("P4", `message ${message.id} of a request is blank`);
    if (message.role === "assistant") checkAnswer(asked, message);
  }
  messages.forEach((message, index) => {
    if (message.role === "assistant" && messages[index + 1]?.role === "assistant")
      complain("P5", "two answers in a row");
  });
  checkLast(asked);
}

function checkAnswer(asked: Asked, message: UiMessage): void {
  const labels = new Set<string>();
  for (const part of message.parts) {
    if (part.type === "text") checkText(asked, part);
    else if (part.type === "reasoning") checkReasoning(asked, part);
    else if (isToolPart(part)) checkCall(asked, part, labels);
    else if (part.type !== "step-start") asked.complain("P4", `a ${part.type} is sent to a model`);
  }
  const groups = groupsOf(message);
  groups.forEach((parts, index) => {
    // A step ends in calls, or it is the last one. Text that stands alone in the middle was never answered to.
    const last = index === groups.length - 1;
    if (!last && !asked.more && !parts.some(isToolPart))
      asked.complain("P3", `step ${index} of ${message.id} has no calls and is not the last`);
  });
}

function checkText({ complain, items, model }: Asked, part: Part): void {
  if (String(part["text"]).trim() === "") complain("P4", "a blank text is sent");
  const metadata = part["providerMetadata"];
  if (metadata === undefined) return;
  const item = (metadata as { scripted?: { itemId?: string; origin?: string } }).scripted;
  if (item?.itemId !== undefined && !items.has(item.itemId)) complain("P6", "an item that was never finished is named");
  if (item?.origin !== undefined && item.origin !== model.origin)
    complain("P2", `data of ${item.origin} is sent to ${model.origin}`);
}

function checkReasoning({ complain, model }: Asked, part: Part): void {
  const text = String(part["text"]);
  const [origin = ""] = text.split("|");
  const scripted = (part["providerMetadata"] as { scripted?: { signature?: string } } | undefined)?.scripted;
  if (origin !== model.origin) complain("P2", `reasoning of ${origin} is sent to ${model.origin}`);
  if (scripted?.signature !== signatureOf(text))
    complain("P2", "reasoning is sent without its signature, or with a part of it");
}

export function signatureOf(text: string): string {
  return `signed:${text.length}:${text.slice(-8)}`;
}

function checkCall({ complain }: Asked, part: Part, labels: Set<string>): void {
  const label = String(part["toolCallId"]);
  if (labels.has(label)) complain("P3", `the label ${label} is used twice in one message`);
  labels.add(label);
  if (!isObject(part["input"])) complain("P3", `the input of ${label} is no object`);
  const ended =
    part["state"] === "output-error" || (part["state"] === "output-available" && part["preliminary"] !== true);
  if (!ended) complain("P3", `call ${label} is sent without its result`);
}

function checkLast({ messages, model, complain }: Asked): void {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return;
  const open = groupsOf(last).at(-1) ?? [];
  if (open.some(isToolPart)) return;
  if (!model.profile.prefill) complain("P5", "a request ends in an answer, and the model knows no prefill");
  const text = String(open.at(-1)?.["text"] ?? "");
  if (open.at(-1)?.type !== "text" || text !== text.trimEnd())
    complain("P5", "a prefill ends in text, and not in white space");
}
