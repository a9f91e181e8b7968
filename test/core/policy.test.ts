import { describe, expect, test } from "vitest";
import { decideIncident, none } from "../../src/core/incident.ts";
import { limits } from "../../src/core/limits.ts";
import { defaultPolicy, type RecoveryPolicy, resolvePolicy } from "../../src/core/policy.ts";

type Counts = Exclude<keyof RecoveryPolicy, "terminalMessage">;

/** The least value that makes sense. */
const least: Record<Counts, 0 | 1> = {
  maxAttempts: 1,
  stableTimeoutMs: 0,
  noProgressTimeoutMs: 0,
  maxRecoveryWork: 0,
  maxInterruptedAttempts: 1,
  maxOomRetries: 0,
};
const counts = Object.entries(least) as [Counts, 0 | 1][];

describe("chatRecovery", () => {
  test.each([true, false, undefined, null, 0, "", {}])(
    "[I1] recovery is always on: %j means the defaults",
    (option) => {
      expect(resolvePolicy(option)).toEqual(defaultPolicy);
    },
  );

  test("[I1] the defaults", () => {
    expect(defaultPolicy).toEqual({
      maxAttempts: 10,
      stableTimeoutMs: 10_000,
      noProgressTimeoutMs: 300_000,
      maxRecoveryWork: 1_000,
      maxInterruptedAttempts: 5,
      maxOomRetries: 3,
      terminalMessage: expect.stringMatching(/\S/),
    });
  });

  test.each(counts)("[I1] %s: the least is %i, fractions are cut, nonsense is the default", (key, min) => {
    const resolved = (value: unknown): number => resolvePolicy({ [key]: value })[key];
    expect(resolved(min)).toBe(min);
    expect(resolved(7.9)).toBe(7);
    for (const value of [min - 1, Number.NaN, Number.NEGATIVE_INFINITY, "7", null, undefined, {}]) {
      expect(resolved(value), String(value)).toBe(defaultPolicy[key]);
    }
  });

  test.each(counts)("[I1] %s: Infinity disables the bound, also once it was stored", (key) => {
    const policy = resolvePolicy({ [key]: Number.POSITIVE_INFINITY });
    expect(JSON.parse(JSON.stringify(policy))).toEqual(policy);
    expect(policy[key]).toBeGreaterThan(10 ** 15);
  });

  test("[I1] a bound that is disabled seals nothing after a restart", () => {
    const policy = resolvePolicy({ maxRecoveryWork: Number.POSITIVE_INFINITY });
    const cut = { type: "interrupted", now: 1, cause: "cut", consult: false, barren: 0, jitter: 0, policy } as const;
    const opened = JSON.parse(JSON.stringify(decideIncident(none, { ...cut, work: 0 })));
    expect(decideIncident(opened, { ...cut, work: 5_000 }).kind).toBe("attempting");
  });

  test("[I5] the terminal message is the user's", () => {
    expect(resolvePolicy({ terminalMessage: "Bye." }).terminalMessage).toBe("Bye.");
    expect(resolvePolicy({ terminalMessage: "" }).terminalMessage).toBe("");
    expect(resolvePolicy({ terminalMessage: 7 }).terminalMessage).toBe(defaultPolicy.terminalMessage);
  });
});

test("[V1][V2][R7] the numbers that SPEC.md names are the limits", () => {
  expect(limits).toMatchObject({
    overlapCharsMin: 16,
    overlapCharsMax: 400,
    overlapSilenceMs: 500,
    barrenCallsMax: 20,
    stateBytesMax: 64 * 1024,
    queuedTurnsMax: 64,
    callsPerStepMax: 64,
  });
});
