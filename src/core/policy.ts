import { defaultTerminalMessage } from "./limits.ts";

/** `chatRecovery`, resolved. Copied into the incident when it opens: a recorded incident replays without its config. */
export interface RecoveryPolicy {
  readonly maxAttempts: number;
  readonly stableTimeoutMs: number;
  readonly noProgressTimeoutMs: number;
  readonly maxRecoveryWork: number;
  readonly maxInterruptedAttempts: number;
  readonly maxOomRetries: number;
  readonly terminalMessage: string;
}

export const defaultPolicy: RecoveryPolicy = {
  maxAttempts: 10,
  stableTimeoutMs: 10_000,
  noProgressTimeoutMs: 300_000,
  maxRecoveryWork: 1_000,
  maxInterruptedAttempts: 5,
  maxOomRetries: 3,
  terminalMessage: defaultTerminalMessage,
};

/** Recovery is always on: `true`, `false` and nothing mean the defaults (I1). Numbers that make no sense fall back to them. */
export function resolvePolicy(option: unknown): RecoveryPolicy {
  if (typeof option !== "object" || option === null) return defaultPolicy;
  const given = option as Partial<Record<keyof RecoveryPolicy, unknown>>;
  const count = (key: Exclude<keyof RecoveryPolicy, "terminalMessage">, least: number): number => {
    const value = given[key];
    if (typeof value !== "number" || !(value >= least)) return defaultPolicy[key];
    // `Infinity` disables a bound. It is stored as JSON, which has none.
    return Math.min(Math.floor(value), Number.MAX_SAFE_INTEGER);
  };
  return {
    maxAttempts: count("maxAttempts", 1),
    stableTimeoutMs: count("stableTimeoutMs", 0),
    noProgressTimeoutMs: count("noProgressTimeoutMs", 0),
    maxRecoveryWork: count("maxRecoveryWork", 0),
    maxInterruptedAttempts: count("maxInterruptedAttempts", 1),
    maxOomRetries: count("maxOomRetries", 0),
    terminalMessage: typeof given.terminalMessage === "string" ? given.terminalMessage : defaultPolicy.terminalMessage,
  };
}
