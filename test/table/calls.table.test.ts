// Calls through their ledger: who repeats whom, under which key, who is asked before, and what a silence means.
import { describe, expect, test } from "vitest";
import { keyOf, stricter } from "../../src/core/calls.ts";
import { limits } from "../../src/core/limits.ts";
import type { RecoveryKind } from "../../src/core/records.ts";
import { callGateSilent, callNotRun, callStopped, callTimedOut, callUnavailable } from "../../src/core/texts.ts";
import { Bench, type Config } from "../explore/bench.ts";
import { obey } from "../explore/laws.ts";
import * as model from "../explore/model.ts";
import { endRun, endTool, equip, gate, output, owed, says, speak, stop, submit } from "../explore/model.ts";

const gated: Partial<Config> = { asks: { recovery: false, beforeTool: true, error: false } };
const named = (policy: RecoveryKind): Partial<Config> => ({ tools: { pay: { policy, executable: true } } });

function called(config: Partial<Config> = {}, ...labels: readonly string[]): Bench {
  const bench = new Bench(config);
  bench.watch = obey;
  submit(bench, "t1");
  ask(bench, ...(labels.length === 0 ? ["c0"] : labels));
  return bench;
}

function ask(bench: Bench, ...labels: readonly string[]): void {
  speak(
    bench,
    owed(bench, "run")!,
    labels.flatMap((label) => says.call("pay", label)),
  );
  endRun(bench, owed(bench, "run")!, "tool-calls");
}

/** The first call's outcome becomes unknown; whatever its policy says then is let end. */
function lost(policy: RecoveryKind): Bench {
  const bench = called(named(policy));
  bench.now += 60_000;
  bench.take({ type: "due" });
  expect(row(bench, 0)).toMatchObject({ state: "unknown", key: "t1-0" });
  return bench;
}

const row = (bench: Bench, ordinal: number) => bench.disk.ledger.get(`t1#${ordinal}`);
const shown = (bench: Bench): unknown[] =>
  (bench.disk.logs.get("t1") ?? []).flatMap((chunk) =>
    chunk.type.startsWith("tool-output") ? [chunk["output"] ?? chunk["errorText"]] : [],
  );

describe("a call that repeats one of unknown outcome", () => {
  const keys: Record<RecoveryKind, string> = { retry: "t1-0", report: "t1-1", reconcile: "t1-1" };

  test.each(Object.keys(keys) as RecoveryKind[])("[C8][C4] has an ordinal of its own, and is linked: %s", (policy) => {
    const bench = lost(policy);
    ask(bench, "c1");
    const [call] = bench.turn.calls;
    expect(call).toMatchObject({ ordinal: 1, repeats: 0 });
    expect(keyOf(bench.turn, call!)).toBe(keys[policy]);
    expect(row(bench, 1)).toMatchObject({ ordinal: 1, key: keys[policy], runs: 1 });
  });

  test("[C8] of a repeat, the first key is kept", () => {
    const bench = lost("retry");
    for (const ordinal of [1, 2]) {
      ask(bench, `c${ordinal}`);
      bench.now += 60_000;
      bench.take({ type: "due" });
      expect(row(bench, ordinal)).toMatchObject({ state: "unknown", key: "t1-0" });
    }
  });

  test.each([
    ["input", () => says.call("pay", "c1", { n: 2 })],
    ["tool", () => says.call("get", "c1")],
  ])("[C8] one of another %s is not linked", (_, words) => {
    const bench = lost("retry");
    Object.assign(bench, {
      config: { ...bench.config, tools: { ...bench.config.tools, get: bench.config.tools["pay"] } },
    });
    speak(bench, owed(bench, "run")!, words());
    endRun(bench, owed(bench, "run")!, "tool-calls");
    expect(bench.turn.calls).toMatchObject([{ repeats: null }]);
    expect(row(bench, 1)).toMatchObject({ key: "t1-1" });
  });

  test("[C8] one whose outcome is known is not linked to", () => {
    const bench = called(named("retry"));
    endTool(bench, owed(bench, "execute")!, output("paid"));
    ask(bench, "c1");
    expect(bench.turn.calls).toMatchObject([{ ordinal: 1, repeats: null }]);
  });

  test("[C6] strictness", () => {
    const order = ["report", "reconcile", "retry"] as const;
    for (const [i, a] of order.entries()) {
      for (const [j, b] of order.entries()) expect(stricter(a, b)).toBe(order[Math.min(i, j)]);
    }
  });
});

describe("before a call", () => {
  const answer = (decision: Parameters<typeof gate>[2]): Bench => {
    const bench = called(gated);
    expect(row(bench, 0)).toMatchObject({ state: "announced", runs: 0 });
    gate(bench, owed(bench, "gate")!, decision);
    return bench;
  };

  test("[C9] it is asked, and started once it is allowed", () => {
    const bench = answer({ action: "allow" });
    expect(row(bench, 0)).toMatchObject({ state: "started", runs: 1 });
    expect(bench.owed.map(({ type }) => type)).toEqual(["execute"]);
  });

  test.each([false, true])("[C9][A1] a rewritten input is durable with the start (dynamic: %s)", (dynamic) => {
    const bench = new Bench(gated);
    bench.watch = obey;
    submit(bench, "t1");
    const words = says.call().map((chunk) => (dynamic ? { ...chunk, dynamic: true } : chunk));
    speak(bench, owed(bench, "run")!, words);
    endRun(bench, owed(bench, "run")!, "tool-calls");
    const { writes } = bench.take({
      type: "gated",
      turn: "t1",
      ordinal: 0,
      decision: { action: "allow", input: { n: 7 }, digest: "d7" },
    });
    expect(writes.map(({ op }) => op)).toEqual(["chunk", "ledger"]);
    const chunk = { type: "tool-input-available", toolCallId: "c0", toolName: "pay", input: { n: 7 } };
    expect(writes[0]).toEqual({ op: "chunk", turn: "t1", chunk: dynamic ? { ...chunk, dynamic: true } : chunk });
    expect(bench.turn.calls).toMatchObject([{ digest: "d7", runs: 1 }]);
  });

  test.each([
    ["a block", { action: "block", reason: "not on Sundays" }, "not on Sundays"],
    ["a block without words", { action: "block", reason: "" }, expect.stringContaining("blocked")],
    ["another output", { action: "substitute", output: { cached: 1 } }, { cached: 1 }],
  ] as const)("[C9] %s is the output, and nothing is run", (_, decision, expected) => {
    const bench = answer(decision);
    expect(shown(bench)).toEqual([expected]);
    expect(row(bench, 0)).toMatchObject({ state: "settled", runs: 0, outcome: "output" });
    expect(bench.owed.map(({ type }) => type)).toEqual(["run"]);
  });

  test("[C9][H2] silence means that it is not run, and a late answer is ignored", () => {
    const bench = called(gated);
    const late = owed(bench, "gate")!;
    bench.now += limits.hookMs - 1;
    expect(bench.take({ type: "due" }).writes).toEqual([]);
    bench.now += 1;
    bench.take({ type: "due" });
    expect(shown(bench)).toEqual([callGateSilent]);
    const before = bench.state;
    gate(bench, late, { action: "allow" });
    expect(bench.state).toBe(before);
  });

  test("[C9] after a death it is asked again: its answer was not durable", () => {
    const bench = called(gated);
    bench.die();
    equip(bench, owed(bench, "equip")!);
    expect(bench.owed.map(({ type }) => type)).toEqual(["gate"]);
    gate(bench, owed(bench, "gate")!, { action: "allow" });
    expect(row(bench, 0)).toMatchObject({ state: "started", runs: 1 });
  });

  test("[K4][C9] once handed over, nothing is started any more", () => {
    const bench = called(gated);
    const late = owed(bench, "gate")!;
    bench.handOver();
    gate(bench, late, { action: "allow" });
    expect(row(bench, 0)).toMatchObject({ state: "announced" });
  });
});

describe("a call that runs", () => {
  test("[C10] and gives no result in time has an unknown outcome, and its signal is aborted", () => {
    const bench = called();
    bench.now += 60_000;
    const { effects } = bench.take({ type: "due" });
    expect(effects[0]).toMatchObject({ type: "abort", turn: "t1", what: { ordinal: 0 } });
    expect(shown(bench)).toEqual([callTimedOut]);
  });

  test("[R6][C10] a result that comes after that changes nothing", () => {
    const bench = called();
    const late = owed(bench, "execute")!;
    bench.now += 60_000;
    bench.take({ type: "due" });
    const before = bench.state;
    endTool(bench, late, output("paid"));
    expect(bench.state).toBe(before);
    expect(row(bench, 0)).toMatchObject({ state: "unknown" });
  });

  test("[C11] settles by its own commit, whatever the others do", () => {
    const bench = called({}, "a", "b", "c");
    const [a, b, c] = bench.owed.filter((effect): effect is model.Owed<"execute"> => effect.type === "execute");
    endTool(bench, b!, output("B"));
    endTool(bench, c!, model.failure);
    expect([0, 1, 2].map((ordinal) => row(bench, ordinal)?.state)).toEqual(["started", "settled", "settled"]);
    expect(shown(bench)).toEqual(["B", "it broke"]);
    bench.die();
    expect([0, 1, 2].map((ordinal) => row(bench, ordinal)?.state)).toEqual(["started", "settled", "settled"]);
    equip(bench, owed(bench, "equip")!);
    expect(a?.ordinal).toBe(0);
    expect(bench.turn.step).toBe(1);
  });

  test("[C12] gets an end when its turn is stopped: run or not, both are said", () => {
    const bench = called({}, "a", "b");
    endTool(bench, owed(bench, "execute")!, output("B"));
    bench.take(stop(null));
    expect(shown(bench)).toEqual(["B", callStopped]);
    const waiting = called(gated);
    waiting.take(stop(null));
    expect(shown(waiting)).toEqual([callNotRun]);
    const asking = new Bench();
    asking.watch = obey;
    submit(asking, "t1");
    speak(asking, owed(asking, "run")!, [...says.call("pay", "a"), ...says.half("pay", "b")]);
    asking.take(stop(null));
    expect(shown(asking)).toEqual([callNotRun]);
    expect(asking.disk.logs.get("t1")).toContainEqual(
      expect.objectContaining({ type: "tool-input-error", toolCallId: "b", errorText: callNotRun }),
    );
  });

  test("[C12] a stop survives a death: nothing runs again", () => {
    const bench = called();
    bench.take(stop(null));
    bench.die();
    expect([bench.state.turn, bench.owed]).toEqual([null, []]);
  });

  test("[C5] of a tool that is not there is not executed", () => {
    const bench = new Bench();
    bench.watch = obey;
    submit(bench, "t1");
    speak(bench, owed(bench, "run")!, [...says.call("gone", "a"), ...says.call("view", "b")]);
    endRun(bench, owed(bench, "run")!, "tool-calls");
    expect(shown(bench)).toEqual([callUnavailable("gone"), callUnavailable("view")]);
    expect([0, 1].map((ordinal) => row(bench, ordinal))).toMatchObject([
      { state: "settled", runs: 0, outcome: "error" },
      { state: "settled", runs: 0, outcome: "error" },
    ]);
  });

  test("[C6] of a tool that is gone after a death is reported, whatever its policy was", () => {
    const bench = called(named("retry"));
    Object.assign(bench, { config: { ...bench.config, tools: {} } });
    bench.die();
    equip(bench, owed(bench, "equip")!);
    expect(row(bench, 0)).toMatchObject({ state: "unknown", runs: 1 });
  });

  test("[C4] ordinals go on over steps and deaths", () => {
    const bench = called({}, "a", "b");
    for (const effect of [...bench.owed]) endTool(bench, effect as model.Owed<"execute">, output("ok"));
    bench.die();
    ask(bench, "c");
    expect([...bench.disk.ledger.values()].map(({ ordinal, label }) => [ordinal, label])).toEqual([
      [0, "a"],
      [1, "b"],
      [2, "c"],
    ]);
  });
});
