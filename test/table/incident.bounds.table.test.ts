// The incident at its bounds: who is counted, how long is waited, when and why it is given up.
import { describe, expect, test } from "vitest";
import {
  backoffMs,
  type Cause,
  decideIncident,
  exhausted,
  type Incident,
  type IncidentEvent,
  type IncidentLedger,
  none,
} from "../../src/core/incident.ts";
import { limits } from "../../src/core/limits.ts";
import { defaultPolicy, type RecoveryPolicy } from "../../src/core/policy.ts";
import type { SealReason } from "../../src/core/records.ts";

const now = 1_000_000;
const policy: RecoveryPolicy = {
  ...defaultPolicy,
  maxAttempts: 3,
  maxInterruptedAttempts: 2,
  maxRecoveryWork: 10,
  noProgressTimeoutMs: 1_000,
};
const calm: IncidentLedger = {
  openedAt: now,
  cause: "cut",
  attempt: 0,
  waits: 0,
  progressedAt: now,
  work: 0,
  unclean: 0,
  policy,
};

function interrupt(
  incident: Incident,
  cause: Cause,
  fields: Partial<IncidentEvent & { type: "interrupted" }> = {},
): Incident {
  const event = { type: "interrupted", now, cause, consult: false, work: 0, barren: 0, jitter: 0, policy } as const;
  return decideIncident(incident, { ...event, ...fields });
}

function ledgerOf(incident: Incident): IncidentLedger {
  if (incident.kind === "none") throw new Error("nothing was interrupted");
  return incident.ledger;
}

describe("giving up", () => {
  interface Limit {
    readonly reason: SealReason;
    readonly at: Partial<IncidentLedger>;
    readonly over: Partial<IncidentLedger>;
    readonly barren?: { readonly at: number; readonly over: number };
  }

  /** In the order of precedence. */
  const bounds: readonly Limit[] = [
    { reason: "work_budget_exceeded", at: { work: 10 }, over: { work: 11 } },
    { reason: "no_progress_timeout", at: { progressedAt: now - 1_000 }, over: { progressedAt: now - 1_001 } },
    { reason: "max_attempts_exceeded", at: { attempt: 3 }, over: { attempt: 4 } },
    { reason: "max_attempts_exceeded", at: { unclean: 2 }, over: { unclean: 3 } },
    {
      reason: "max_attempts_exceeded",
      at: {},
      over: {},
      barren: { at: limits.barrenCallsMax - 1, over: limits.barrenCallsMax },
    },
  ];
  const subsets = Array.from({ length: 2 ** bounds.length }, (_, bits) =>
    bounds.map((_, at) => ((bits >> at) & 1) === 1),
  );

  test.each(subsets)("[I5][R7] the first bound that is passed names the reason (%#)", (...over) => {
    let ledger = calm;
    let barren = 0;
    bounds.forEach((bound, at) => {
      ledger = { ...ledger, ...(over[at] ? bound.over : bound.at) };
      barren = (over[at] ? bound.barren?.over : bound.barren?.at) ?? barren;
    });
    const expected = bounds.find((_, at) => over[at])?.reason ?? null;
    expect(exhausted(ledger, now, barren)).toBe(expected);
    const next = interrupt({ kind: "attempting", ledger }, "busy", { barren });
    expect(next.kind === "sealed" ? next.reason : null).toBe(expected);
  });

  test("[I1] the budget of the opening counts, whatever the policy says now", () => {
    const lax: RecoveryPolicy = { ...policy, maxAttempts: 99, maxRecoveryWork: 99 };
    const opened = interrupt(none, "cut");
    const later = interrupt(opened, "cut", { policy: lax });
    expect(ledgerOf(later).policy).toBe(policy);
    const spent: Incident = { kind: "attempting", ledger: { ...calm, attempt: 3 } };
    expect(interrupt(spent, "cut", { policy: lax }).kind).toBe("sealed");
  });

  test("[I5] what was left before the first interruption is not recovery work", () => {
    expect(ledgerOf(interrupt(none, "cut", { work: 99 })).work).toBe(0);
  });
});

describe("counting", () => {
  interface Count {
    readonly attempt: number;
    readonly waits?: number;
    readonly unclean?: number;
    readonly work?: number;
  }
  type Happening = Cause | `${Cause}+` | "step" | "wait";

  /** `crash+`: after progress. `step`: a step was completed or a tool settled. `wait`: a wait has passed. */
  const rows: readonly [string, readonly Happening[], Count][] = [
    ["[I7] the first interruption makes attempt 1", ["cut"], { attempt: 1 }],
    ["[I7] each one without progress is one more", ["cut", "wait", "prepare"], { attempt: 2 }],
    [
      "[I3] progress makes the next one the first again",
      ["cut", "wait", "cut", "wait", "cut+"],
      { attempt: 1, work: 2 },
    ],
    ["[I3] a completed step is progress", ["cut", "wait", "cut", "wait", "step", "cut"], { attempt: 1, work: 1 }],
    [
      "[I3] progress before a hand-over is progress",
      ["cut", "cut", "wait", "handover+", "cut"],
      { attempt: 1, work: 2 },
    ],
    [
      "[I3] progress before a busy answer is progress",
      ["cut", "wait", "cut", "wait", "busy+", "wait", "cut"],
      { attempt: 1, waits: 1, work: 2 },
    ],
    ["[I3] a hand-over spends nothing", ["cut", "handover", "handover", "handover"], { attempt: 1 }],
    ["[I3] the first hand-over of all spends nothing", ["handover"], { attempt: 0 }],
    ["[I4] a busy provider spends nothing", ["busy", "wait", "busy", "wait", "busy"], { attempt: 0, waits: 3 }],
    [
      "[I4] waits are counted anew after progress",
      ["busy", "wait", "busy", "wait", "step", "busy"],
      { attempt: 0, waits: 1, work: 1 },
    ],
    ["[I5] deaths are counted beside attempts", ["crash", "crash"], { attempt: 2, unclean: 2 }],
    ["[I5] content alone does not clear the deaths", ["crash", "crash+"], { attempt: 1, unclean: 2, work: 2 }],
    ["[I5] a completed step does", ["crash", "step", "crash"], { attempt: 1, unclean: 1, work: 1 }],
    ["[K4] a hand-over does", ["crash", "handover", "crash"], { attempt: 2, unclean: 1 }],
    ["[I2] what comes during a wait is not counted", ["cut", "cut", "crash", "crash", "busy"], { attempt: 2 }],
  ];

  test.each(rows)("%s: %s", (_, happenings, expected) => {
    let incident: Incident = none;
    for (const happening of happenings) {
      if (happening === "step") incident = decideIncident(incident, { type: "progressed", now, work: 1 });
      else if (happening === "wait") incident = decideIncident(incident, { type: "due", now: now + 60_000, jitter: 0 });
      else
        incident = interrupt(incident, happening.replace("+", "") as Cause, { work: happening.endsWith("+") ? 2 : 0 });
    }
    const { attempt, waits, unclean, work } = ledgerOf(incident);
    expect({ attempt, waits, unclean, work }).toEqual({ waits: 0, unclean: 0, work: 0, ...expected });
  });

  test("[I3] progress is dated", () => {
    const late = interrupt({ kind: "attempting", ledger: calm }, "cut", { now: now + 900, work: 1 });
    expect(ledgerOf(late).progressedAt).toBe(now + 900);
    expect(ledgerOf(interrupt({ kind: "attempting", ledger: calm }, "cut", { now: now + 900 })).progressedAt).toBe(now);
  });
});

describe("waiting", () => {
  const almost = 0.99;
  /** Cause, attempt, waits, jitter, what the provider asked for, the wait. */
  const rows: readonly [string, Cause, number, number, number, number | undefined, number][] = [
    ["[I7] the first attempt is made at once", "cut", 1, 0, 0, undefined, 0],
    ["[I7] the first attempt is made at once", "crash", 1, 0, almost, undefined, 0],
    ["[I7] the second waits", "cut", 2, 0, 0, undefined, 500],
    ["[I7] jitter takes up to half away", "cut", 2, 0, almost, undefined, 253],
    ["[I7] it doubles", "crash", 3, 0, 0, undefined, 1_000],
    ["[I7] it doubles", "prepare", 7, 0, 0, undefined, 16_000],
    ["[I7] up to the cap", "cut", 8, 0, 0, undefined, 30_000],
    ["[I7] up to the cap", "cut", 80, 0, almost, undefined, 15_150],
    ["[I4] the first wait for a busy provider", "busy", 0, 1, 0, undefined, 500],
    ["[I4] the third", "busy", 0, 3, 0, undefined, 2_000],
    ["[I4] whatever the attempts", "busy", 9, 1, 0, undefined, 500],
    ["[I4] what the provider asked for is the least", "busy", 0, 1, 0, 7_000, 7_000],
    ["[I4] what the provider asked for is the least", "busy", 0, 3, almost, 100, 1_010],
    ["[I3] a hand-over waits for nothing", "handover", 9, 9, 0, undefined, 0],
  ];

  test.each(rows)(
    "%s (%s, attempt %i, waits %i, jitter %d, asked %s)",
    (_, cause, attempt, waits, jitter, asked, ms) => {
      const ledger = { ...calm, cause, attempt, waits, policy: defaultPolicy };
      expect(backoffMs(ledger, jitter, asked)).toBe(ms);
    },
  );

  test("[I4] the wait is what the interruption says", () => {
    const incident = interrupt(none, "busy", { retryAfterMs: 900, consult: true });
    expect(incident).toMatchObject({ kind: "waiting", until: now + 900 });
  });

  test("[I7][H5] a hook that goes on waits as long as no hook would have", () => {
    const second: Incident = { kind: "attempting", ledger: { ...calm, attempt: 1 } };
    const asked = interrupt(second, "cut", { consult: true });
    expect(asked).toMatchObject({ kind: "consulting", deadline: now + limits.hookMs });
    const told = decideIncident(asked, { type: "verdict", now: now + 40, proceed: true, jitter: 0 });
    expect(told).toMatchObject({ kind: "waiting", until: now + 540 });
    const silent = decideIncident(asked, { type: "due", now: now + limits.hookMs, jitter: 0 });
    expect(silent).toMatchObject({ kind: "waiting", until: now + limits.hookMs + 500 });
  });
});

describe("absence", () => {
  test.each(["consulting", "waiting", "attempting"] as const)(
    "[I6] time without an owner does not count: %s",
    (kind) => {
      const states = {
        consulting: { kind: "consulting", ledger: calm, deadline: now },
        waiting: { kind: "waiting", ledger: calm, until: now },
        attempting: { kind: "attempting", ledger: calm },
      } as const;
      const gone = decideIncident(states[kind], { type: "absent", ms: 3_600_000 });
      expect(gone).toEqual({ ...states[kind], ledger: { ...calm, progressedAt: now + 3_600_000 } });
      expect(exhausted(ledgerOf(gone), now + 3_600_000 + 1_000, 0)).toBeNull();
      expect(exhausted(ledgerOf(gone), now + 3_600_000 + 1_001, 0)).toBe("no_progress_timeout");
    },
  );
});
