import { describe, expect, test } from "vitest";
import { decide } from "../../src/core/decide.ts";
import type { AgentEvent, Decision } from "../../src/core/events.ts";
import type { AgentState } from "../../src/core/state.ts";
import { Bench } from "../explore/bench.ts";
import { obey } from "../explore/laws.ts";
import { append, clear, continueLast, endRun, owed, says, speak, stop, submit } from "../explore/model.ts";
import { type EventName, events, facts, type PhaseName, phaseOf, phases, told } from "./phases.ts";
import { table } from "./turn.table.ts";

const names = Object.keys(phases) as PhaseName[];
const cells = names.flatMap((phase) => events.map(({ name, fact }) => ({ phase, name, fact })));

function taken(
  bench: Bench,
  fact: (typeof cells)[number]["fact"],
): { before: AgentState; decision: Decision<AgentState> } {
  const before = bench.state;
  const event = { ...fact(bench), at: bench.moment() } as AgentEvent;
  return { before, decision: decide(before, event) };
}

describe("every phase, every event", () => {
  test("[I8] the benches are in the phases that they are named after", () => {
    for (const phase of names) expect(phaseOf(phases[phase]().state)).toBe(phase);
  });

  test.each(cells)("[T1][T3][R3][R6][C2][I8] $phase, $name", ({ phase, name, fact }) => {
    const { before, decision } = taken(phases[phase](), fact);
    expect(told(decision, before)).toBe(table[phase][name]);
  });
});

describe("with a turn that waits", () => {
  const busy = cells.filter(({ phase, name }) => phase !== "idle" && name !== "clear");

  test.each(busy)(
    "[T3] the next turn runs in the commit that ends this one, else all is as without: $phase, $name",
    (cell) => {
      const bench = phases[cell.phase]();
      submit(bench, "t2");
      const { before, decision } = taken(bench, cell.fact);
      const alone = table[cell.phase][cell.name];
      const next = " place in_t2 turn running +start !rerun";
      expect(told(decision, before)).toBe(alone.includes(" ends ") ? alone.replace(/^idle/, "running") + next : alone);
    },
  );

  const endings = (name: EventName): PhaseName[] => names.filter((phase) => table[phase][name].includes(" ends "));

  test("[C12] a stop ends whatever runs, a clear too", () => {
    expect(endings("stop")).toEqual(names.filter((phase) => phase !== "idle"));
    expect(endings("clear")).toEqual(endings("stop"));
  });

  test("[C2] a command never waits: it is done in every phase", () => {
    const commands = ["submit", "continue", "append", "stop", "stop, another", "clear"] as const;
    for (const phase of names) for (const name of commands) expect(table[phase][name]).toMatch(/ done( |$)/);
  });
});

function queued(): Bench {
  const bench = phases.running();
  bench.watch = obey;
  submit(bench, "t2");
  bench.take(append("m1"));
  submit(bench, "t3");
  return bench;
}

const order = (bench: Bench): string[] => [...bench.disk.placed].sort(([, a], [, b]) => a - b).map(([id]) => id);

describe("the queue", () => {
  test("[T12] what waits enters the conversation when its turn starts, behind all that settled before", () => {
    const bench = queued();
    expect(order(bench)).toEqual(["in_t1"]);
    endRun(bench, owed(bench, "run")!);
    expect(order(bench)).toEqual(["in_t1", "msg_t1", "in_t2"]);
    speak(bench, owed(bench, "run")!, says.text());
    endRun(bench, owed(bench, "run")!);
    expect(order(bench)).toEqual(["in_t1", "msg_t1", "in_t2", "msg_t2", "m1", "in_t3"]);
  });

  test("[T11] a turn that is stopped while it waits ends in a log of its own, and never enters the conversation", () => {
    const bench = queued();
    const running = bench.turn;
    bench.take(stop("t2"));
    expect(bench.turn).toEqual(running);
    expect(bench.disk.logs.get("t2")).toEqual([
      { type: "start", messageId: "msg_t2" },
      { type: "abort", reason: "stopped" },
    ]);
    expect(bench.disk.turns.get("t2")).toMatchObject({ status: "settled", outcome: "stopped" });
    bench.take(stop(null));
    expect(order(bench)).toEqual(["in_t1", "msg_t1", "m1", "in_t3"]);
  });

  test("[C13] a clear ends what runs and what waits, in one commit", () => {
    const bench = queued();
    const { writes, state } = bench.take(clear());
    const ended = writes.flatMap((write) =>
      write.op === "turn" ? [[write.id, write.change.outcome, write.change.reason]] : [],
    );
    expect(ended).toEqual(["t2", "t3", "t1"].map((id) => [id, "stopped", "cleared"]));
    expect(writes.flatMap((write) => (write.op === "drop" ? [write.id] : []))).toEqual(["in_t2", "m1", "in_t3"]);
    expect(state).toMatchObject({ turn: null, queue: [], leaf: null });
    expect(order(bench)).toEqual([]);
    submit(bench, "t4");
    expect([...bench.disk.placed]).toEqual([["in_t4", 0]]);
  });

  test("[T2] a turn that goes on writes the message that exists", () => {
    const bench = phases.running();
    bench.watch = obey;
    continueLast(bench, "t2");
    endRun(bench, owed(bench, "run")!);
    expect(bench.turn).toMatchObject({ id: "t2", messageId: "msg_t1", rows: 1 });
    speak(bench, owed(bench, "run")!, says.text());
    endRun(bench, owed(bench, "run")!);
    expect([...bench.disk.parts].map(([id, rows]) => [id, rows.length])).toEqual([["msg_t1", 2]]);
    expect(order(bench)).toEqual(["in_t1", "msg_t1"]);
  });

  test("[T1] a turn that has nothing to go on with ends at once", () => {
    const bench = new Bench();
    bench.watch = obey;
    continueLast(bench, "t1");
    expect(bench.state).toMatchObject({ turn: null, last: { outcome: "completed", reason: "nothing_to_continue" } });
    expect(bench.disk.logs.get("t1")?.map(({ type }) => type)).toEqual(["start", "finish"]);
  });
});

test("[I2][I6] deaths during a wait change nothing but the clock: one wake is pending", () => {
  const bench = phases.waiting();
  const { turn } = bench;
  for (let times = 0; times < 5; times++) {
    expect(bench.die(10_000).writes).toEqual([]);
    const [before, after] = [turn.incident, bench.turn.incident];
    if (before.kind !== "waiting" || after.kind !== "waiting") throw new Error("it does not wait");
    const progressedAt = before.ledger.progressedAt + (times + 1) * 10_000;
    expect(bench.turn).toEqual({ ...turn, incident: { ...before, ledger: { ...before.ledger, progressedAt } } });
  }
});

test("[C3] the tombstone lands with the effect", () => {
  for (const phase of names) {
    const bench = phases[phase]();
    const { decision } = taken(bench, facts.submit[""]);
    expect(decision.writes[0]).toMatchObject({ op: "done", tombstone: { turn: "t3" } });
  }
});
