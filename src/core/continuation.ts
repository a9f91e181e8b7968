/**
 * The continuation function (section 5 of the house): what an interrupted step calls for. Total over the *set* of its
 * durable parts, with precedence calls > text > reasoning > nothing. Whether a stream was ever opened plays no part (R3).
 */
import type { Evidence } from "./evidence.ts";
import type { ModelProfile } from "./profile.ts";

export type Plan =
  /** Nothing that a model could go on from: the step runs again. What was shown stays shown. */
  | "rerun"
  /** Text was cut, or its end was not seen: the answer goes on in the same message. */
  | "continue"
  /** A call was asked for: the text is closed, broken calls get their error, whole ones are run or accounted for. */
  | "calls";

export function continuation(evidence: Evidence): Plan {
  if (evidence.calls.length > 0) return "calls";
  if (evidence.text === "some") return "continue";
  // Reasoning alone has no partner to be sent with, blank text may not be sent, and other parts say nothing to a model.
  return "rerun";
}

/** How the next request asks for the rest. Decided by the profile of the model it goes to (P1). */
export type Mode = "fresh" | "prefill" | "ask";

export function modeOf(plan: Plan, profile: ModelProfile): Mode {
  if (plan !== "continue") return "fresh";
  return profile.prefill ? "prefill" : "ask";
}
