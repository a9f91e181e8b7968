import { PerdureError } from "../core/errors.ts";

/** What everybody is told once the host goes away. */
export function closed(): PerdureError {
  return new PerdureError({
    code: "HOST_CLOSED",
    message: "This host is closing or closed.",
    next: "Nothing was accepted. Send the same request to the host that takes over: it is safe to repeat.",
    retriable: true,
  });
}
