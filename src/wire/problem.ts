/** How a refusal looks on the wire. One table, so that every door answers the same status for the same code. */
import type { ErrorCode, Problem } from "../core/errors.ts";

/** A request that is refused before anything was stored. `status` only where the code's own does not say it all. */
export interface Rejection extends Problem {
  readonly kind: "rejected";
  readonly status?: number;
}

/** Total on purpose: a new code does not compile until somebody has chosen its status. */
export const statusOf: Readonly<Record<ErrorCode, number>> = {
  AGENT_NOT_FOUND: 404,
  AGENT_QUARANTINED: 503,
  BAD_ID: 400,
  BAD_REQUEST: 400,
  CLAIM_NOT_ACCEPTED: 409,
  CONTENT_CONFLICT: 409,
  DUPLICATE_AGENT: 500,
  FORBIDDEN: 403,
  HOST_CLOSED: 503,
  INBOX_FULL: 429,
  METHOD_NOT_ALLOWED: 405,
  MODEL_NOT_CONFIGURED: 500,
  NOT_IMPLEMENTED: 501,
  OWNER_ALIVE: 503,
  OWNER_LOST: 503,
  PORT_IN_USE: 500,
  PROVIDER_PACKAGE_MISSING: 500,
  REENTRANT_WAIT: 500,
  STATE_VERSION_UNKNOWN: 503,
  STORE_DAMAGED: 500,
  STORE_NEWER: 500,
  STORE_UNAVAILABLE: 503,
  STORE_UNWRITABLE: 503,
  TURN_NOT_FOUND: 404,
  UNSUPPORTED_FILESYSTEM: 500,
};

/** Seconds after which the same request may do better; null where time alone changes nothing. */
export function retryAfterOf(code: ErrorCode): number | null {
  switch (code) {
    case "STORE_UNAVAILABLE":
    case "HOST_CLOSED":
    case "INBOX_FULL":
    case "OWNER_ALIVE":
    case "OWNER_LOST":
      return 1;
    default:
      return null;
  }
}

/** The body of a refusal, as JSON text. `useChat` shows it as it is, so it is kept compact. */
export function problemText(problem: Pick<Problem, "code" | "message" | "next">): string {
  const { code, message, next } = problem;
  return JSON.stringify({ error: { code, message, next, page: `docs/errors/${code}.md` } });
}

/** What a client is told of an error that nobody foresaw: nothing of what was in it. */
export const internalText = JSON.stringify({
  error: {
    code: "INTERNAL",
    message: "Something went wrong inside the server.",
    next: "A turn that was accepted goes on. Send the same request again: it has the same answer.",
  },
});

export function rejection(code: ErrorCode, message: string, next: string, status?: number): Rejection {
  const refused = { kind: "rejected", code, message, next } as const;
  return status === undefined ? refused : { ...refused, status };
}
