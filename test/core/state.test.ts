import { describe, expect, test } from "vitest";
import { decide } from "../../src/core/decide.ts";
import type { AgentEvent } from "../../src/core/events.ts";
import { limits } from "../../src/core/limits.ts";
import { resolvePolicy } from "../../src/core/policy.ts";
import { type AgentState, blank, nextDeadline, nextWake } from "../../src/core/state.ts";
import type { Fact } from "../../src/runtime/agent.ts";
import { stateOf } from "../../src/runtime/load.ts";
import { Bench } from "../explore/bench.ts";
import { done, endRun, failRun, owed, says, speak, submit } from "../explore/model.ts";
import { phases } from "../table/phases.ts";

const charsOf = (bench: Bench): number => JSON.stringify(bench.state).length;
const long = (name: string, at: number, chars: number): string => `${name}${at}-`.padEnd(chars, "x");

/** A turn with all that a state can hold at once: calls, calls of unknown outcome, a stash, a long terminal message. */
function heavy(calls: number): Bench {
  const tools = Object.fromEntries(
    Array.from({ length: calls }, (_, at) => [long("tool", at, 64), { policy: "report", executable: true } as const]),
  );
  const terminalMessage = "x".repeat(limits.errorCharsMax);
  const bench = new Bench({ tools, policy: resolvePolicy({ terminalMessage }) });
  submit(bench, long("turn_", 0, 41));
  for (let step = 0; step < 2; step++) {
    const labels = Object.keys(tools).map((tool, at) =>
      says.call(tool, long(`call${step}`, at, 64), { digest: long("", at, 30) }),
    );
    failRun(bench, owed(bench, "run")!, { kind: "cut", message: "" });
    bench.now += 1_000;
    bench.take({ type: "due" });
    speak(bench, owed(bench, "run")!, labels.flat());
    endRun(bench, owed(bench, "run")!, "tool-calls");
    if (step > 0) continue;
    bench.now += 60_000;
    bench.take({ type: "due" });
  }
  bench.take({ type: "stashed", turn: bench.turn.id, data: "x".repeat(limits.stashBytesMax - 2) });
  return bench;
}

/** Fills the queue as far as the inbox lets it. */
function fillQueue(bench: Bench): void {
  const body = JSON.stringify(bench.state.queue).length;
  for (let size = body, at = 0; size < limits.queueBytesMax && at < limits.queuedTurnsMax; at++) {
    const inputs = [long("in", at, limits.idCharsMax)];
    bench.take({ type: "submit", done: done(null), turn: long("turn_q", at, 41), inputs });
    size = JSON.stringify(bench.state.queue).length;
  }
}

describe("the size of a state", () => {
  test("[L1] with all at once that a turn may hold, and a full queue", () => {
    const bench = heavy(limits.callsPerStepMax);
    fillQueue(bench);
    expect(bench.turn.calls.length).toBe(limits.callsPerStepMax);
    expect(bench.turn.unknowns.length).toBe(limits.unknownCallsMax);
    expect(charsOf(bench)).toBeLessThanOrEqual(limits.stateBytesMax);
  });

  test("[C14] one call more than a step may have is not run, and ends with an error", () => {
    const bench = heavy(limits.callsPerStepMax + 1);
    expect(bench.turn.calls.length).toBe(limits.callsPerStepMax);
    const outputs = bench.disk.logs.get(bench.turn.id)!.filter(({ type }) => type === "tool-output-error");
    expect(outputs.length).toBe(limits.callsPerStepMax + 2);
  });

  test("[L1] does not grow with the steps of a turn", () => {
    const bench = new Bench({ maxSteps: 1_000 });
    submit(bench, "t1");
    const sizes: number[] = [];
    for (let step = 0; step < 200; step++) {
      speak(bench, owed(bench, "run")!, says.call("view", `c${step}`));
      endRun(bench, owed(bench, "run")!, "tool-calls");
      sizes.push(charsOf(bench));
    }
    expect(sizes.at(-1)! - sizes[9]!).toBeLessThan(20);
  });

  test("[L1] of a step that is cut as often as its budget allows", () => {
    const bench = new Bench({ origin: "anthropic.messages:claude-sonnet-4-5-20250929" });
    submit(bench, "t1");
    let most = 0;
    while (bench.state.turn) {
      const run = owed(bench, "run")!;
      speak(bench, run, says.text());
      failRun(bench, run, { kind: "cut", message: "" });
      most = Math.max(most, charsOf(bench));
    }
    expect(most).toBeLessThanOrEqual(limits.stateBytesMax);
  });
});

describe("time", () => {
  test("[I6] never goes backwards within an agent", () => {
    const bench = phases.running();
    const before = bench.state.now;
    bench.now = before - 60_000;
    bench.take({ type: "stashed", turn: "t1", data: 1 });
    expect(bench.state.now).toBe(before);
    const late: Fact = { type: "step-failed", effect: "t1:1", fault: { kind: "busy", message: "" }, prefilled: false };
    const { state } = decide(bench.state, { ...late, at: bench.moment() } as AgentEvent);
    expect(nextDeadline(state)!).toBeGreaterThan(before);
  });
});

describe("who needs an owner, and when", () => {
  type Expected = readonly ["at once" | "at its end" | "never", boolean];
  /** The wake, and whether a live owner has a deadline. */
  const table: Record<keyof typeof phases, Expected> = {
    idle: ["never", false],
    running: ["at once", true],
    equipping: ["at once", true],
    gating: ["at once", true],
    calling: ["at once", true],
    reconciling: ["at once", true],
    consulting: ["at once", true],
    waiting: ["at its end", true],
    failing: ["at once", true],
    "handed over": ["at once", false],
  };

  test.each(Object.keys(table) as (keyof typeof phases)[])("[I8][K1] %s", (name) => {
    const { state } = phases[name]();
    const [wake, deadline] = table[name];
    expect(nextDeadline(state) !== null).toBe(deadline);
    expect(nextWake(state)).toBe({ "at once": 0, "at its end": nextDeadline(state), never: null }[wake]);
  });
});

describe("what is stored", () => {
  test("[E3] a state of an unknown version is left alone, never taken for an idle agent", () => {
    const running = JSON.parse(JSON.stringify(phases.running().state)) as AgentState;
    expect(stateOf("a/b", running as never)).toEqual(running);
    expect(stateOf("a/b", null)).toBe(blank);
    for (const value of [{ ...running, v: 2 }, { ...running, v: "1" }, {}, [], "idle", 0]) {
      expect(() => stateOf("a/b", value as never)).toThrow(/STATE_VERSION_UNKNOWN/);
    }
  });

  test("[E3] every row carries its version", () => {
    const bench = phases.calling();
    const rows = [bench.state, ...bench.disk.turns.values(), ...bench.disk.ledger.values()];
    expect(rows.map(({ v }) => v)).toEqual(rows.map(() => 1));
  });
});
