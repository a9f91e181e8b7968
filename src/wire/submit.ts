/**
 * The body that the SDK's `DefaultChatTransport` posts: `{ id, messages, trigger, messageId? }` and whatever the app
 * adds. The client sends its whole history; the server's transcript is the truth, so only the last message is looked
 * at, and it must be the user's.
 *
 * Total: any text has an answer, and a rejected one has stored nothing (W6).
 */

import { idFault } from "../core/ids.ts";
import { isObject, type JsonObject } from "../core/json.ts";
import type { Part, UiMessage } from "../core/transcript.ts";
import { type Rejection, rejection } from "./problem.ts";

export interface Submit {
  readonly kind: "submit";
  /** The chat's id: the agent within its class. */
  readonly id: string;
  readonly message: UiMessage;
  /** The fields that are not the protocol's. Absent when there are none. */
  readonly body?: JsonObject;
}

/** Deeper values than this are refused: hashing and storing walk a value by recursion. */
const depthMax = 100;

/** Reads the text of a POST body. */
export function parseSubmit(text: string): Submit | Rejection {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return badRequest("The body is not JSON.");
  }
  if (!isObject(value)) return badRequest("The body is not a JSON object.");
  const { id, messages, trigger, messageId, ...rest } = value;
  const idWrong = idFault(id);
  if (idWrong !== null) return badId("The chat's id", idWrong);
  if (trigger === "regenerate-message") return regenerate;
  if (trigger !== undefined && trigger !== "submit-message") {
    return badRequest('The trigger is neither "submit-message" nor "regenerate-message".');
  }
  if (messageId !== undefined && messageId !== null && typeof messageId !== "string") {
    return badRequest("messageId is not a string.");
  }
  if (!Array.isArray(messages) || messages.length === 0) return badRequest("messages is not a list with a message.");
  const message = parseMessage(messages.at(-1));
  if ("kind" in message) return message;
  const fault = valueFault(rest, 1);
  if (fault !== null) return badRequest(`The body ${fault}.`);
  const submit = { kind: "submit", id: id as string, message } as const;
  return Object.keys(rest).length === 0 ? submit : { ...submit, body: rest as JsonObject };
}

function parseMessage(value: unknown): UiMessage | Rejection {
  if (!isObject(value)) return badRequest("The last message is not an object.");
  const { id, role, parts, metadata } = value;
  if (role === "assistant") return claim;
  if (role !== "user") return badRequest('The last message is not the user\'s: its role must be "user".');
  const idWrong = idFault(id);
  if (idWrong !== null) return badId("The message's id", idWrong);
  if (!Array.isArray(parts)) return badRequest("The message has no list of parts.");
  for (const [index, part] of parts.entries()) {
    const wrong = partFault(part);
    if (wrong !== null) return badRequest(`Part ${index} of the message ${wrong}.`);
  }
  const fault = valueFault(parts, 1) ?? valueFault(metadata, 1);
  if (fault !== null) return badRequest(`The message ${fault}.`);
  const said = parts.some((part: Part) => part.type === "file" || (part.type === "text" && !isBlank(part["text"])));
  if (!said) return badRequest("The message says nothing: it has no text and no file.");
  const message = { id: id as string, role, parts: parts as readonly Part[] } as const;
  return metadata === undefined || metadata === null ? message : { ...message, metadata };
}

/** What is wrong with a part of a user's message, as the end of a sentence. Fields that we do not name pass. */
function partFault(part: unknown): string | null {
  if (!isObject(part) || typeof part["type"] !== "string") return "is not an object with a type";
  const { type } = part;
  if (type === "text") return typeof part["text"] === "string" ? null : "has no text";
  if (type === "file") {
    if (typeof part["mediaType"] !== "string" || part["mediaType"] === "") return "has no mediaType";
    // Nothing that a server could be made to read for a client: the file system above all.
    if (typeof part["url"] !== "string" || !/^(?:data:|https?:\/\/)/i.test(part["url"])) {
      return "has no data:, http: or https: URL";
    }
    return null;
  }
  if (!/^data-./.test(type)) return "has a type that a user's message cannot have: text, file and data-* can be sent";
  if (!("data" in part)) return "has no data";
  return part["id"] === undefined || typeof part["id"] === "string" ? null : "has an id that is not a string";
}

function isBlank(text: unknown): boolean {
  return typeof text !== "string" || text.trim() === "";
}

/** What keeps a JSON value from being stored and hashed, as the end of a sentence. */
function valueFault(value: unknown, depth: number): string | null {
  if (typeof value === "string") return value.isWellFormed() ? null : "holds half a surrogate pair";
  if (typeof value !== "object" || value === null) return null;
  if (depth > depthMax) return `is nested deeper than ${depthMax} levels`;
  for (const [key, inner] of Object.entries(value)) {
    const fault = valueFault(key, depth) ?? valueFault(inner, depth + 1);
    if (fault !== null) return fault;
  }
  return null;
}

function badRequest(message: string): Rejection {
  return rejection("BAD_REQUEST", message, "Nothing was stored. Correct the request and send it again.");
}

function badId(what: string, fault: string): Rejection {
  return rejection("BAD_ID", `${what} ${fault}.`, "Nothing was stored. Choose another id and send the request again.");
}

const claim = rejection(
  "CLAIM_NOT_ACCEPTED",
  "The last message is the assistant's: it claims a tool's result or an approval.",
  "Results and approvals from clients are not taken yet. Nothing was stored; send a user message to go on.",
);

const regenerate = rejection(
  "NOT_IMPLEMENTED",
  "An answer cannot be made anew yet.",
  "Nothing was stored. Send the question again as a new user message.",
);
