// Every sequence of what can happen to an incident: it stays within its budget, and nothing of it is left waiting.
import { describe, expect, test } from "vitest";
import { type Cause, decideIncident, type Incident, type IncidentEvent, none } from "../../src/core/incident.ts";
import { limits } from "../../src/core/limits.ts";
import { defaultPolicy } from "../../src/core/policy.ts";
import type { SealReason } from "../../src/core/records.ts";
import { freeze, must } from "./laws.ts";
import { type Move, walk } from "./walk.ts";

interface Node {
  readonly incident: Incident;
  readonly now: number;
}

const birth = 1_000_000;
const policy = {
  ...defaultPolicy,
  maxAttempts: 2,
  maxInterruptedAttempts: 2,
  maxRecoveryWork: 2,
  noProgressTimeoutMs: 1_200,
};
const kinds = new Set<Incident["kind"]>();
const reasons = new Set<SealReason>();

function happen(name: string, eventOf: (node: Node) => IncidentEvent | null, ms = 0): Move<Node> {
  return {
    name,
    make({ incident, now: before }) {
      const now = before + ms;
      const event = eventOf({ incident, now });
      if (event === null) return null;
      freeze(event);
      const next = decideIncident(freeze(incident), event);
      must(JSON.stringify(decideIncident(incident, event)) === JSON.stringify(next), "I1", "two answers");
      obey(incident, next, event, now);
      return { incident: next, now: event.type === "due" ? Math.max(now, event.now) : now };
    },
  };
}

function cut(cause: Cause, consult: boolean, work = 0, barren = 0): Move<Node> {
  const name = `${cause}${consult ? ", asked" : ""}${work ? " +" : ""}${barren ? ", barren" : ""}`;
  const retryAfterMs = cause === "busy" ? 700 : undefined;
  const fields = { cause, consult, work, barren, retryAfterMs, jitter: 0.5, policy };
  return happen(name, ({ now }) => ({ type: "interrupted", now, ...fields }));
}

/** When the incident has to be looked at again. */
function dueAt(incident: Incident): number | null {
  if (incident.kind === "consulting") return incident.deadline;
  return incident.kind === "waiting" ? incident.until : null;
}

const moves: readonly Move<Node>[] = [
  cut("crash", false),
  cut("crash", true, 1),
  cut("cut", false),
  cut("cut", true),
  cut("prepare", false),
  cut("busy", true),
  cut("handover", true),
  cut("handover", false, 1),
  cut("cut", false, 0, limits.barrenCallsMax),
  happen("goes on", ({ now }) => ({ type: "verdict", now, proceed: true, jitter: 0 })),
  happen("no more", ({ now }) => ({ type: "verdict", now, proceed: false, jitter: 0 })),
  happen("due", ({ incident }) => {
    const now = dueAt(incident);
    return now === null ? null : { type: "due", now, jitter: 0 };
  }),
  happen("early", ({ incident, now }) => (dueAt(incident) === null ? null : { type: "due", now, jitter: 0 })),
  happen("progress", ({ now }) => ({ type: "progressed", now, work: 1 }), 100),
  happen("absent", () => ({ type: "absent", ms: 5_000 }), 5_000),
  happen("time passes", ({ now }) => ({ type: "due", now, jitter: 0 }), 1_000),
  happen("settled", () => ({ type: "settled" })),
];

const over = (incident: Incident): boolean => ["recovered", "declined", "sealed"].includes(incident.kind);

function obey(before: Incident, after: Incident, event: IncidentEvent, now: number): void {
  kinds.add(after.kind);
  if (after.kind === "sealed") reasons.add(after.reason);
  if (over(before)) must(after === before, "I5", `${before.kind} does not absorb ${event.type}`);
  if (before.kind === "waiting" && event.type === "interrupted") must(after === before, "I2", "a wait was cut short");
  if (after.kind === "none") return;
  const { ledger } = after;
  const more = after.kind === "sealed" ? 1 : 0;
  must(ledger.policy === policy, "I1", "the budget was exchanged");
  must(ledger.attempt <= policy.maxAttempts + more, "I5", `attempt ${ledger.attempt}`);
  must(ledger.unclean <= policy.maxInterruptedAttempts + more, "I5", `${ledger.unclean} deaths`);
  if (before.kind !== after.kind && !over(after) && after.kind !== "attempting") {
    must(Number.isFinite(dueAt(after)) && dueAt(after)! > now, "I8", `${after.kind} without a time`);
  }
  if (before.kind === "none") return;
  must(ledger.openedAt === before.ledger.openedAt, "I1", "it was opened twice");
  must(ledger.work >= before.ledger.work, "I3", "work was taken back");
  must(ledger.progressedAt >= before.ledger.progressedAt, "I6", "progress was taken back");
}

function keyOf({ incident, now }: Node): string {
  const text = JSON.stringify(incident).replace(/"openedAt":\d+/, "");
  return text.replace(/\b\d{7,}\b/g, (moment) => String(Number(moment) - now));
}

describe("every sequence of events", () => {
  test("[I1][I2][I5][I6][I8] keeps the incident within its budget", () => {
    const started = performance.now();
    const root = { incident: none, now: birth };
    const { sequences, points } = walk({ root, moves, depth: 6, keyOf, visit: () => {} });
    const ms = Math.round(performance.now() - started);
    console.log(`incident: depth 6, ${sequences} sequences, ${points} points, ${ms} ms`);
    expect(points).toBeGreaterThan(500);
  });

  test("[I5] every state was reached, and every reason to give up", () => {
    expect([...kinds].sort()).toEqual(
      ["attempting", "consulting", "declined", "none", "recovered", "sealed", "waiting"].sort(),
    );
    expect([...reasons].sort()).toEqual(["max_attempts_exceeded", "no_progress_timeout", "work_budget_exceeded"]);
  });
});
