/**
 * What went wrong with a model call, as far as it decides what happens next. Adapters classify; core decides.
 *
 *   refused  the provider said no to this very request: sent again unchanged it would say no again.
 *   busy     not now: rate limit, overload, a failed start. Waited out.
 *   cut      the answer broke off: reset, end without a finish, an error frame in mid-stream. An interruption.
 */
export interface Fault {
  readonly kind: "refused" | "busy" | "cut";
  readonly message: string;
  readonly status?: number;
  /** What the provider asked us to wait, in milliseconds. */
  readonly retryAfterMs?: number;
}
