// Whatever goes wrong again and again, a turn ends: in bounded time, after a bounded number of model calls.
import { describe, expect, test } from "vitest";
import { limits } from "../../src/core/limits.ts";
import { nextDeadline } from "../../src/core/state.ts";
import { Bench, birth, type Config } from "./bench.ts";
import { obey } from "./laws.ts";
import { endRun, failHooks, failRun, owed, request, says, speak, submit } from "./model.ts";

interface Fate {
  readonly name: string;
  readonly config?: Partial<Config>;
  /** What the first answer leaves before it is cut. */
  readonly first?: "text" | "call";
  again(bench: Bench): void;
  readonly reason: string;
  /** Model calls, the first included. */
  readonly runsMax: number;
  /** What the turn takes by the clock, at the most. */
  readonly minutesMax: number;
}

const asksRecovery = { asks: { recovery: true, beforeTool: false, error: false } };

function runs(bench: Bench): ReturnType<typeof owed<"run">> & object {
  const effect = owed(bench, "run");
  if (!effect) throw new Error("no run is owed");
  return effect;
}

/** Time passes until what is waited for is due. */
function pass(bench: Bench): void {
  bench.now = Math.max(bench.now, nextDeadline(bench.state) ?? 0);
  bench.take({ type: "due" });
}

function whenRunning(act: (bench: Bench) => void): (bench: Bench) => void {
  return (bench) => (bench.turn.phase.kind === "running" ? act(bench) : pass(bench));
}

const cut = { kind: "cut", message: "reset" } as const;

const fates: readonly Fate[] = [
  {
    name: "the value hooks fail before anything was said",
    again: whenRunning((bench) => failHooks(bench, runs(bench))),
    reason: "max_attempts_exceeded",
    runsMax: 11,
    minutesMax: 6,
  },
  {
    name: "the value hooks fail after a first text",
    first: "text",
    again: whenRunning((bench) => failHooks(bench, runs(bench))),
    reason: "max_attempts_exceeded",
    runsMax: 12,
    minutesMax: 6,
  },
  {
    name: "the value hooks fail where tools are to be run",
    first: "call",
    again: (bench) => (owed(bench, "equip") ? failHooks(bench, owed(bench, "equip")!) : pass(bench)),
    reason: "max_attempts_exceeded",
    runsMax: 1,
    minutesMax: 6,
  },
  {
    name: "the value hooks hang",
    first: "text",
    again: pass,
    reason: "no_progress_timeout",
    runsMax: 12,
    minutesMax: 15,
  },
  {
    name: "every answer breaks off before it says anything",
    first: "text",
    again: whenRunning((bench) => failRun(bench, runs(bench), cut)),
    reason: "max_attempts_exceeded",
    runsMax: 12,
    minutesMax: 6,
  },
  {
    name: "every answer breaks off after one more word",
    again: whenRunning((bench) => {
      speak(bench, runs(bench), says.text());
      failRun(bench, runs(bench), cut);
    }),
    reason: "work_budget_exceeded",
    runsMax: 1_002,
    minutesMax: 1,
  },
  {
    name: "every answer is refused as busy",
    again: whenRunning((bench) => failRun(bench, runs(bench), { kind: "busy", message: "429" })),
    reason: "no_progress_timeout",
    runsMax: 20,
    minutesMax: 6,
  },
  {
    name: "the process dies in every model call",
    first: "text",
    again: whenRunning((bench) => {
      request(bench, runs(bench));
      bench.die();
    }),
    reason: "max_attempts_exceeded",
    runsMax: 7,
    minutesMax: 1,
  },
  {
    name: "the process hands over in every model call",
    first: "text",
    again: whenRunning((bench) => {
      request(bench, runs(bench));
      bench.handOver();
      bench.die();
    }),
    reason: "max_attempts_exceeded",
    runsMax: limits.barrenCallsMax + 1,
    minutesMax: 1,
  },
  {
    name: "the process dies while the recovery hook is asked",
    config: asksRecovery,
    first: "text",
    again: (bench) => void bench.die(),
    reason: "max_attempts_exceeded",
    runsMax: 1,
    minutesMax: 1,
  },
];

function start({ config = {}, first }: Fate): Bench {
  const bench = new Bench(config);
  bench.watch = obey;
  submit(bench, "t1");
  if (first === undefined) return bench;
  const effect = runs(bench);
  speak(bench, effect, first === "text" ? says.text() : says.call());
  if (first === "text") failRun(bench, effect, cut);
  else bench.die();
  return bench;
}

describe("what goes wrong for ever", () => {
  test.each(fates)("[T1][R7][I3][I5] $name", (fate) => {
    const bench = start(fate);
    let calls = 0;
    for (let times = 0; bench.state.turn && times < 3_000; times++) {
      calls = bench.turn.runs;
      fate.again(bench);
    }
    expect(bench.state.last).toEqual({ turn: "t1", outcome: "sealed", reason: fate.reason });
    expect(calls).toBeLessThanOrEqual(fate.runsMax);
    expect(bench.now - birth).toBeLessThanOrEqual(fate.minutesMax * 60_000);
  });

  test("[I3][I5] a long turn whose every step is cut once, before its first word, ends well", () => {
    const bench = start({ name: "", config: { maxSteps: 40 }, again: () => {}, reason: "", runsMax: 0, minutesMax: 0 });
    for (let step = 0; step < 30; step++) {
      failRun(bench, runs(bench), cut);
      if (bench.turn.phase.kind === "recovering") pass(bench);
      speak(bench, runs(bench), says.call("view", `c${step}`));
      endRun(bench, runs(bench), "tool-calls");
    }
    speak(bench, runs(bench), says.text());
    endRun(bench, runs(bench));
    expect(bench.state.last).toEqual({ turn: "t1", outcome: "completed" });
    expect(bench.now).toBe(birth);
  });
});
