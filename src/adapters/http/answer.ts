/** Answers that are not streams. */
import { type ErrorCode, PerdureError, type Problem } from "../../core/errors.ts";
import { internalText, problemText, type Rejection, rejection, retryAfterOf, statusOf } from "../../wire/problem.ts";

/** A refusal as a throwable, so that a check deep in a handler ends the request. */
export class Refused extends Error {
  readonly rejection: Rejection;
  readonly headers: Readonly<Record<string, string>>;

  constructor(refused: Rejection, headers: Readonly<Record<string, string>> = {}) {
    super(refused.message);
    this.rejection = refused;
    this.headers = headers;
  }
}

export function refuse(code: ErrorCode, message: string, next: string, status?: number): never {
  throw new Refused(rejection(code, message, next, status));
}

/** `allow`: the methods that the route has, as the header says them. */
export function notAllowed(allow: string): never {
  const next = `This route takes ${allow}.`;
  throw new Refused(rejection("METHOD_NOT_ALLOWED", "The route does not take this method.", next), { allow });
}

export function hostClosed(): never {
  refuse(
    "HOST_CLOSED",
    "This server is shutting down.",
    "Accepted turns go on when it is back. Send the request again.",
  );
}

export function json(text: string, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(text, {
    status,
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      ...headers,
    },
  });
}

/** The answer to anything that was thrown. Only errors that nobody foresaw reach `onError`. */
export function errorAnswer(error: unknown, onError?: (error: unknown) => void): Response {
  if (error instanceof Refused) return problemAnswer(error.rejection, error.rejection.status, error.headers);
  if (PerdureError.is(error) && statusOf[error.code] !== 500) return problemAnswer(error.problem);
  // What is left is the operator's business: paths and causes do not go to clients.
  try {
    onError?.(error);
  } catch {
    // A listener that throws must not cost the client its answer.
  }
  return json(internalText, 500);
}

function problemAnswer(problem: Problem, status = statusOf[problem.code], headers: Refused["headers"] = {}): Response {
  const retryAfter = retryAfterOf(problem.code);
  return json(problemText(problem), status, {
    ...headers,
    ...(retryAfter === null ? {} : { "retry-after": String(retryAfter) }),
  });
}
