// The incident as one table: every state, every event. `=` means the same reference: nothing to write.
import { describe, expect, test } from "vitest";
import { decideIncident, type Incident, type IncidentEvent, type IncidentLedger } from "../../src/core/incident.ts";
import { limits } from "../../src/core/limits.ts";
import { defaultPolicy } from "../../src/core/policy.ts";

type Kind = Incident["kind"];
type Interrupted = Extract<IncidentEvent, { type: "interrupted" }>;

const now = 1_000_000;
const policy = defaultPolicy;
const ledger: IncidentLedger = {
  openedAt: now - 5_000,
  cause: "cut",
  attempt: 1,
  waits: 0,
  progressedAt: now - 5_000,
  work: 3,
  unclean: 1,
  policy,
};

function interruption(fields: Partial<Interrupted> = {}): Interrupted {
  return { type: "interrupted", now, cause: "cut", consult: false, work: 0, barren: 0, jitter: 0, policy, ...fields };
}

const states: { readonly [K in Kind]: Extract<Incident, { kind: K }> } = {
  none: { kind: "none" },
  consulting: { kind: "consulting", ledger, deadline: now + 10 },
  waiting: { kind: "waiting", ledger, until: now + 10 },
  attempting: { kind: "attempting", ledger },
  recovered: { kind: "recovered", ledger },
  declined: { kind: "declined", ledger },
  sealed: { kind: "sealed", ledger, reason: "max_attempts_exceeded" },
};

const events = {
  interrupted: {
    crash: interruption({ cause: "crash" }),
    cut: interruption(),
    prepare: interruption({ cause: "prepare" }),
    busy: interruption({ cause: "busy" }),
    handover: interruption({ cause: "handover" }),
    "cut after progress": interruption({ work: 2 }),
    "cut, hook asked": interruption({ consult: true }),
    "busy, hook there": interruption({ cause: "busy", consult: true }),
    "cut, nothing left": interruption({ barren: limits.barrenCallsMax }),
  },
  verdict: {
    "go on": { type: "verdict", now, proceed: true, jitter: 0 },
    "no more": { type: "verdict", now, proceed: false, jitter: 0 },
  },
  due: { early: { type: "due", now: now + 9, jitter: 0 }, "in time": { type: "due", now: now + 10, jitter: 0 } },
  progressed: { "by a step": { type: "progressed", now, work: 1 } },
  absent: { "a while": { type: "absent", ms: 60_000 } },
  settled: { well: { type: "settled" } },
} as const satisfies { [T in IncidentEvent["type"]]: { [variant: string]: Extract<IncidentEvent, { type: T }> } };

type Events = typeof events;
type Cell = { [T in keyof Events]: `${T}: ${keyof Events[T] & string}` }[keyof Events];
type Expected = Kind | "=";

const cells = Object.entries(events).flatMap(([type, variants]) =>
  Object.keys(variants).map((variant) => `${type}: ${variant}` as Cell),
);

const still = "=";
const table: Record<Kind, Record<Cell, Expected>> = {
  none: {
    "interrupted: crash": "attempting",
    "interrupted: cut": "attempting",
    "interrupted: prepare": "attempting",
    "interrupted: busy": "waiting",
    "interrupted: handover": "attempting",
    "interrupted: cut after progress": "attempting",
    "interrupted: cut, hook asked": "consulting",
    "interrupted: busy, hook there": "waiting",
    "interrupted: cut, nothing left": "sealed",
    "verdict: go on": still,
    "verdict: no more": still,
    "due: early": still,
    "due: in time": still,
    "progressed: by a step": still,
    "absent: a while": still,
    "settled: well": still,
  },
  consulting: {
    "interrupted: crash": "waiting",
    "interrupted: cut": "waiting",
    "interrupted: prepare": "waiting",
    "interrupted: busy": "waiting",
    "interrupted: handover": "attempting",
    "interrupted: cut after progress": "attempting",
    "interrupted: cut, hook asked": "consulting",
    "interrupted: busy, hook there": "waiting",
    "interrupted: cut, nothing left": "sealed",
    "verdict: go on": "attempting",
    "verdict: no more": "declined",
    "due: early": still,
    "due: in time": "attempting",
    "progressed: by a step": still,
    "absent: a while": "consulting",
    "settled: well": "recovered",
  },
  waiting: {
    "interrupted: crash": still,
    "interrupted: cut": still,
    "interrupted: prepare": still,
    "interrupted: busy": still,
    "interrupted: handover": still,
    "interrupted: cut after progress": still,
    "interrupted: cut, hook asked": still,
    "interrupted: busy, hook there": still,
    "interrupted: cut, nothing left": still,
    "verdict: go on": still,
    "verdict: no more": still,
    "due: early": still,
    "due: in time": "attempting",
    "progressed: by a step": still,
    "absent: a while": "waiting",
    "settled: well": "recovered",
  },
  attempting: {
    "interrupted: crash": "waiting",
    "interrupted: cut": "waiting",
    "interrupted: prepare": "waiting",
    "interrupted: busy": "waiting",
    "interrupted: handover": "attempting",
    "interrupted: cut after progress": "attempting",
    "interrupted: cut, hook asked": "consulting",
    "interrupted: busy, hook there": "waiting",
    "interrupted: cut, nothing left": "sealed",
    "verdict: go on": still,
    "verdict: no more": still,
    "due: early": still,
    "due: in time": still,
    "progressed: by a step": "attempting",
    "absent: a while": "attempting",
    "settled: well": "recovered",
  },
  recovered: always(still),
  declined: always(still),
  sealed: always(still),
};

function always(expected: Expected): Record<Cell, Expected> {
  return Object.fromEntries(cells.map((cell) => [cell, expected])) as Record<Cell, Expected>;
}

describe("every state, every event", () => {
  const rows = Object.entries(states).flatMap(([kind, state]) =>
    cells.map((cell) => ({ kind: kind as Kind, cell, state })),
  );

  test.each(rows)("[I2][I5][I7][H5][H7] $kind, $cell", ({ kind, cell, state }) => {
    const next = decideIncident(state, eventOf(cell));
    const expected = table[kind][cell];
    if (expected === "=") expect(next).toBe(state);
    else expect(next.kind).toBe(expected);
  });

  test("[I5] an incident that is over absorbs everything", () => {
    for (const kind of ["recovered", "declined", "sealed"] as const) {
      for (const cell of cells) expect(decideIncident(states[kind], eventOf(cell))).toBe(states[kind]);
    }
  });
});

function eventOf(cell: Cell): IncidentEvent {
  const [type, variant] = cell.split(": ") as [keyof Events, string];
  return (events[type] as { [variant: string]: IncidentEvent })[variant]!;
}
