/**
 * Every bound of the house, in one place. Units are the last word of a name.
 * A bound that a user can set has its default here and its option in `RecoveryPolicy` or the host's options.
 */
export const limits = {
  /** Longest id that a client may choose (agent ids, message ids, command ids). */
  idCharsMax: 256,
  /** Turns that may wait behind the one in flight. */
  queuedTurnsMax: 64,
  /** What waits, as it stands in the state. */
  queueBytesMax: 16 * 1024,
  /** Calls of one model step that are run; more are answered with an error. */
  callsPerStepMax: 64,
  /** Calls of unknown outcome that a turn remembers, to link a repeat to its first key. */
  unknownCallsMax: 32,
  /** The agent's state as JSON text. A commit above it is a programmer's error. */
  stateBytesMax: 64 * 1024,
  /** What `stash()` may hold. */
  stashBytesMax: 16 * 1024,
  /** Error texts that are stored and shown. */
  errorCharsMax: 2_000,

  /** Steps of a turn when the class does not say. */
  stepsMax: 10,
  /** Model calls of a turn in a row that left nothing durable, whatever cut them. */
  barrenCallsMax: 20,

  /** Value hooks and the building of a request, for one step. */
  prepareMs: 60_000,
  /** One model call, from the request to its end. */
  modelCallMs: 60 * 60_000,
  /** One run of a tool, when the tool does not say. */
  toolMs: 10 * 60_000,
  /** A decision hook: onChatRecovery, beforeToolCall, onChatError, reconcile. */
  hookMs: 30_000,
  /** Delivery of one notice hook. */
  noticeMs: 30_000,
  /** Deliveries of one notice before it is given up, with an event. */
  noticeAttemptsMax: 5,

  /** Backoff before recovery attempt n >= 2 without progress: base * 2^(n-2), at most the cap, jittered down by up to half. */
  backoffBaseMs: 500,
  backoffCapMs: 30_000,

  /** Overlap of a continuation with what was seen: shorter repeats stay, longer than the window are not looked for. */
  overlapCharsMin: 16,
  overlapCharsMax: 400,
  /** Silence after which held text is let go undecided. */
  overlapSilenceMs: 500,
} as const;

/** The default sentence that a sealed turn shows. */
export const defaultTerminalMessage = "The assistant was interrupted and could not recover. Please try again.";
