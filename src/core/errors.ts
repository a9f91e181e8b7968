import type { Json } from "./json.ts";

/** Every code that Perdure can answer with. One page each in docs/errors. */
export const errorCodes = [
  "AGENT_NOT_FOUND",
  "AGENT_QUARANTINED",
  "BAD_ID",
  "BAD_REQUEST",
  "CLAIM_NOT_ACCEPTED",
  "CONTENT_CONFLICT",
  "DUPLICATE_AGENT",
  "FORBIDDEN",
  "HOST_CLOSED",
  "INBOX_FULL",
  "METHOD_NOT_ALLOWED",
  "MODEL_NOT_CONFIGURED",
  "NOT_IMPLEMENTED",
  "OWNER_ALIVE",
  "OWNER_LOST",
  "PORT_IN_USE",
  "PROVIDER_PACKAGE_MISSING",
  "REENTRANT_WAIT",
  "STATE_VERSION_UNKNOWN",
  "STORE_DAMAGED",
  "STORE_NEWER",
  "STORE_UNAVAILABLE",
  "STORE_UNWRITABLE",
  "TURN_NOT_FOUND",
  "UNSUPPORTED_FILESYSTEM",
] as const;

export type ErrorCode = (typeof errorCodes)[number];

export interface Problem {
  readonly code: ErrorCode;
  /** What happened. */
  readonly message: string;
  /** What Perdure does now, and what the reader can do. */
  readonly next: string;
  /** The same request may succeed later without a change. */
  readonly retriable?: boolean;
  readonly details?: { readonly [key: string]: Json };
}

/** The one error class. Its text says what happened, what happens next, and where the page is. */
export class PerdureError extends Error {
  override readonly name = "PerdureError";
  readonly problem: Problem;

  constructor(problem: Problem, options?: { readonly cause?: unknown }) {
    super(`${problem.message} ${problem.next} (${problem.code}: docs/errors/${problem.code}.md)`, options);
    this.problem = problem;
  }

  get code(): ErrorCode {
    return this.problem.code;
  }

  static is(error: unknown, code?: ErrorCode): error is PerdureError {
    return error instanceof PerdureError && (code === undefined || error.problem.code === code);
  }
}

/** The text of anything that was thrown, bounded. Never a stack: content of users may sit in it. */
export function errorText(error: unknown, charsMax = 2_000): string {
  const text =
    error instanceof Error ? error.message || error.name : typeof error === "string" ? error : "unknown error";
  return text.length > charsMax ? `${text.slice(0, charsMax - 1)}…` : text;
}
