/**
 * Classification: what a failed model call means for the next one (F1).
 *
 *                                   building   start     stream, nothing shown   stream, after content
 *   said retryable; 408 409 429 5xx   busy      busy      busy                    cut
 *   other 4xx                         refused   refused   refused                 cut
 *   no connection, time out           busy      busy      cut                     cut
 *   a fault of request or program     refused   refused   cut                     cut
 *   anything else                     refused   busy      cut                     cut
 *
 * Errors are read by their marks and fields, never by class: several copies of the provider packages live side by side.
 */
import { AISDKError, APICallError } from "@ai-sdk/provider";
import { RetryError } from "ai";
import { errorText } from "../../core/errors.ts";
import type { Fault } from "../../core/fault.ts";
import { isObject } from "../../core/json.ts";
import { limits } from "../../core/limits.ts";

/** `building`: the provider was not asked yet. `start`: asked, no stream yet. `stream`: no content yet. `content`: after some. */
export type Stage = "building" | "start" | "stream" | "content";

type Nature = "transient" | "denied" | "network" | "programming" | "other";

export function classify(error: unknown, stage: Stage): Fault {
  const cause = unwrap(error);
  const status = statusOf(cause);
  // The SDK's verdict on an answer that was whole: asked for again, it would be paid for again, and be no other.
  const kind = nameOf(cause) === "AI_ToolChoiceViolationError" ? "refused" : kindOf(natureOf(cause, status), stage);
  const retryAfterMs = kind === "busy" ? retryAfterOf(cause) : undefined;
  return {
    kind,
    message: messageOf(cause),
    ...(status === undefined ? {} : { status }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

export function cut(message: string): Fault {
  return { kind: "cut", message };
}

/** What a `RetryError` hides: the user's own middleware may retry. */
export function unwrap(error: unknown): unknown {
  let inner = error;
  for (let depth = 0; depth < 4 && RetryError.isInstance(inner); depth++) inner = inner.lastError;
  return inner;
}

function kindOf(nature: Nature, stage: Stage): Fault["kind"] {
  if (stage === "content") return "cut";
  if (nature === "transient") return "busy";
  if (nature === "denied") return "refused";
  if (stage === "stream") return "cut";
  if (nature === "network") return "busy";
  return nature === "programming" || stage === "building" ? "refused" : "busy";
}

function natureOf(error: unknown, status: number | undefined): Nature {
  // First: the packages mark a lost connection as retryable, also where it was lost in mid-answer.
  if (status === undefined && isNetwork(error)) return "network";
  if (isObject(error) && error["isRetryable"] === true) return "transient";
  if (status !== undefined) return status >= 500 || [408, 409, 429].includes(status) ? "transient" : "denied";
  return isProgramming(error) ? "programming" : "other";
}

/** Errors of the SDK that speak of the answer, not of the request. */
const aboutAnswer = new Set([
  "AI_APICallError",
  "AI_DownloadError",
  "AI_EmptyResponseBodyError",
  "AI_InvalidResponseDataError",
  "AI_JSONParseError",
  "AI_NoContentGeneratedError",
  "AI_StreamProviderError",
]);

function isProgramming(error: unknown): boolean {
  const name = nameOf(error);
  if (AISDKError.isInstance(error)) return !aboutAnswer.has(name);
  return ["TypeError", "RangeError", "ReferenceError", "SyntaxError"].includes(name);
}

const networkCode =
  /^(?:E(?:CONN|HOST|NET)\w+|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN|UND_ERR_\w+|Connection(?:Refused|Closed)|FailedToOpenSocket)$/;
const networkText = /^(?:fetch failed|failed to fetch|terminated|network error|load failed)$/i;

function isNetwork(error: unknown): boolean {
  let link = error;
  for (let depth = 0; depth < 6 && isObject(link); depth++) {
    if (typeof link["code"] === "string" && networkCode.test(link["code"])) return true;
    if (["TimeoutError", "AbortError", "AI_DownloadError"].includes(nameOf(link))) return true;
    if (typeof link["message"] === "string" && networkText.test(link["message"])) return true;
    link = link["cause"];
  }
  return false;
}

function nameOf(error: unknown): string {
  return isObject(error) && typeof error["name"] === "string" ? error["name"] : "";
}

function statusOf(error: unknown): number | undefined {
  if (!isObject(error)) return undefined;
  for (const field of ["statusCode", "status", "code"]) {
    const value = error[field];
    if (typeof value === "number" && value >= 400 && value <= 599) return value;
  }
  return undefined;
}

/** `retry-after-ms`, else `retry-after` in seconds or as a date; a date is measured against the server's own clock. */
function retryAfterOf(error: unknown): number | undefined {
  const headers = headersOf(error);
  if (!headers) return undefined;
  const exact = numberOf(headers["retry-after-ms"]);
  if (exact !== undefined) return exact;
  const after = headers["retry-after"];
  const seconds = numberOf(after);
  if (seconds !== undefined) return Math.round(seconds * 1_000);
  // Only what has a month's name is a date: `Date.parse` makes one of "-5" too.
  const until = Date.parse(after !== undefined && /[a-z]{3}/i.test(after) ? after : "");
  if (Number.isNaN(until)) return undefined;
  const served = Date.parse(headers["date"] ?? "");
  return Math.max(0, until - (Number.isNaN(served) ? Date.now() : served));
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d+(?:\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}

function headersOf(error: unknown): Record<string, string> | undefined {
  if (!isObject(error)) return undefined;
  const source = APICallError.isInstance(error) ? error : error["cause"];
  if (!APICallError.isInstance(source) || !source.responseHeaders) return undefined;
  return Object.fromEntries(Object.entries(source.responseHeaders).map(([key, value]) => [key.toLowerCase(), value]));
}

/** Where a body did not fit the package's schema, its wording is in `responseBody` only, and the message is an HTTP phrase. */
function messageOf(error: unknown): string {
  if (APICallError.isInstance(error) && error.data === undefined) {
    const body = error.responseBody?.trim() ?? "";
    const told = [error.message, body.startsWith("<") ? "" : body].filter((text) => text !== "").join(": ");
    return errorText(told || `HTTP ${error.statusCode ?? "error"}`, limits.errorCharsMax);
  }
  if (typeof error === "string" || error instanceof Error) return errorText(error, limits.errorCharsMax);
  if (isObject(error) && typeof error["message"] === "string") return errorText(error["message"], limits.errorCharsMax);
  return errorText(safeJson(error), limits.errorCharsMax);
}

function safeJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
