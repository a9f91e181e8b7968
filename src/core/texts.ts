/** The sentences that models and readers are shown. Each says what is known, and no more (C5, C6). */

/** A call whose input was cut. */
export const callCut =
  "This tool call was interrupted before its input was complete. It was not executed and had no effect. Make the call again if it is still needed.";

/** A call that was started and whose end nobody saw. */
export const callUnknown =
  "The outcome of this tool call is unknown: it was started, and the process ended before its result was recorded. It may or may not have taken effect. It was not run again. Check before repeating it.";

export const callTimedOut =
  "The outcome of this tool call is unknown: it was started and gave no result in time. It may still take effect. It was not run again. Check before repeating it.";

export const callStopped =
  "The outcome of this tool call is unknown: the turn was stopped while it ran. It may or may not have taken effect.";

/** A call that was asked for and never started. */
export const callNotRun = "This tool call was not executed, because the turn ended first. It had no effect.";

export const callsTooMany =
  "This tool call was not executed: the answer asked for too many calls at once. It had no effect.";

export const callFiltered =
  "This tool call was not executed, because the answer that asked for it was withheld. It had no effect.";

export const callGateSilent =
  "This tool call was not executed: the check before it gave no answer in time. It had no effect.";

export function callBlocked(reason: string): string {
  return reason === "" ? "This tool call was blocked and not executed. It had no effect." : reason;
}

export function callUnavailable(tool: string): string {
  return `The tool "${tool}" is not available. The call was not executed and had no effect.`;
}

/** Asks a model that does not go on with its own text for the rest. Sent with the request, never stored. */
export const askForRest =
  "Your answer above was cut off. Continue it from exactly where it ends: begin with the very next character, repeat nothing of it, and add no introduction or remark. If it was already complete, answer with nothing.";

/** Asks for a further answer where the conversation ends in a finished one (`continueLastTurn`). */
export const askToGoOn = "Continue.";
