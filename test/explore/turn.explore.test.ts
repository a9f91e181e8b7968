import { describe, expect, test } from "vitest";
import type { AgentEvent } from "../../src/core/events.ts";
import { defaultPolicy } from "../../src/core/policy.ts";
import type { EndReason } from "../../src/core/records.ts";
import { nextDeadline } from "../../src/core/state.ts";
import { Bench, type Config } from "./bench.ts";
import { obey, untouched } from "./laws.ts";
import { output } from "./model.ts";
import { answers as a, type BenchMove, commands, performers as p, processes } from "./moves.ts";
import { pointOf } from "./point.ts";
import { walk } from "./walk.ts";

interface World {
  readonly name: string;
  readonly config?: Partial<Config>;
  /** Made first, one after the other. */
  readonly start: readonly BenchMove[];
  readonly moves: readonly BenchMove[];
  readonly depth: number;
}

const small = {
  ...defaultPolicy,
  maxAttempts: 2,
  maxInterruptedAttempts: 1,
  maxRecoveryWork: 2,
  noProgressTimeoutMs: 20_000,
};
const { die, handOver, due } = processes;
const { submit, continueLast, append, stop, stopTurn, clear } = commands;
const begun = [submit("t1"), a.request];
const reconciled = [p.found, p.absent, p.unknown];
/** `EXPLORE_DEEPER=1` goes one move further everywhere. */
const deeper = Number(process.env["EXPLORE_DEEPER"] ?? 0);

const worlds: readonly World[] = [
  {
    name: "text, cut in every way",
    start: begun,
    moves: [a.text, a.wholeText, a.thought, a.request, a.end, a.cut, a.busy, a.hooksFail, die, handOver, due, stop],
    depth: 5,
  },
  {
    name: "calls in parallel, results in any order",
    start: [...begun, a.calls],
    moves: [a.end, a.cut, die, handOver, due, p.equip, p.equipFails, p.firstEnds, p.lastEnds, p.toolFails, stop],
    depth: 7,
  },
  {
    name: "calls that are checked and reconciled",
    config: { asks: { recovery: false, beforeTool: true, error: false }, maxSteps: 2 },
    start: [...begun, a.call("ship"), a.end],
    moves: [a.half, die, handOver, due, p.equip, p.allow, p.rewrite, p.block, p.substitute, p.lastEnds, ...reconciled],
    depth: 7,
  },
  {
    name: "hooks that are asked",
    config: { asks: { recovery: true, beforeTool: false, error: true }, policy: small },
    start: begun,
    moves: [a.request, a.text, a.end, a.cut, a.busy, a.refused, die, handOver, due, p.goOn, p.giveUp, p.mapped, stop],
    depth: 7,
  },
  {
    name: "a queue",
    start: [],
    moves: [
      submit("t1"),
      submit("t2"),
      continueLast("t3"),
      append("m1"),
      stop,
      stopTurn("t2"),
      clear,
      a.text,
      a.end,
      die,
    ],
    depth: 6,
  },
  {
    name: "a message that is gone on with",
    start: [submit("t1"), a.thought, a.text, a.end, continueLast("t2")],
    moves: [
      a.request,
      a.text,
      a.call("pay"),
      a.end,
      a.cut,
      die,
      handOver,
      p.equip,
      p.lastEnds,
      stop,
      continueLast("t3"),
    ],
    depth: 5,
  },
  {
    name: "a small budget",
    config: { policy: small },
    start: begun,
    moves: [a.request, a.text, a.cut, a.busy, a.hooksFail, die, handOver, due],
    depth: 6,
  },
  {
    name: "every kind of content, filtered",
    config: { prefill: true },
    start: begun,
    moves: [a.text, a.thought, a.source, a.half, a.call("view"), a.filter, a.end, a.refused, die, p.equip],
    depth: 5,
  },
];

const reached = new Set<string>();

function watched(config: Partial<Config>): Bench {
  const bench = new Bench(config);
  bench.watch = (at, taken) => {
    obey(at, taken);
    const { last } = taken.decision.state;
    if (last) reached.add(last.reason ?? last.outcome);
  };
  return bench;
}

/** Answers of effects that have passed, or never were, and a clock that was read too early. */
function visit(bench: Bench): void {
  const at = bench.moment();
  const turn = bench.state.turn?.id ?? "t1";
  const facts = [
    { type: "requested", effect: "t1:99", origin: "x:y", maxSteps: 3 },
    { type: "step-ended", effect: "t1:99", summary: { finishReason: "stop" }, facts: [] },
    { type: "step-failed", effect: "t1:99", fault: { kind: "refused", message: "no" }, prefilled: false },
    { type: "hooks-failed", effect: "t1:99", error: "no" },
    { type: "equipped", effect: "t1:equip:99", facts: [] },
    { type: "gated", turn: "t9", ordinal: 0, decision: { action: "allow" } },
    { type: "gated", turn, ordinal: 99, decision: { action: "allow" } },
    { type: "tool-ended", turn: "t9", ordinal: 0, run: 1, result: output("late") },
    { type: "tool-ended", turn, ordinal: 0, run: 99, result: output("late") },
    { type: "reconciled", turn, ordinal: 0, run: 99, result: "absent" },
    { type: "verdict", turn, attempt: 99, proceed: false },
    { type: "error-mapped", effect: "t9:error", text: "no" },
    { type: "stashed", turn: "t9", data: 1 },
  ] as const;
  for (const fact of facts) untouched(bench.state, { ...fact, at } as AgentEvent, "late");
  const early = (nextDeadline(bench.state) ?? 0) - 1;
  if (early > bench.state.now) untouched(bench.state, { type: "due", at: { ...at, now: early } }, "early");
}

describe("every sequence of events keeps every law", () => {
  const all = "[T1][T3][T4][T6][T7][C4][C6][C7][I8][R1][R6][L1]";
  test.each(worlds)(
    `${all} $name`,
    ({ name, config = {}, start, moves, depth: least }) => {
      const depth = least + deeper;
      const started = performance.now();
      const root = start.reduce((bench, move) => move.make(bench)!, watched(config));
      const { sequences, points } = walk({ root, moves, depth, keyOf: pointOf, visit });
      console.log(
        `${name}: depth ${depth}, ${sequences} sequences, ${points} points, ${Math.round(performance.now() - started)} ms`,
      );
      expect(points).toBeGreaterThan(100);
    },
    600_000,
  );
});

/** What this machine can come to. A reason that nothing leads to stays on the list as a promise that is not kept yet. */
const ends: Record<`${"completed" | "stopped" | "failed"}` | EndReason, boolean> = {
  completed: true,
  nothing_to_continue: true,
  stopped: true,
  cleared: true,
  failed: false,
  provider_refused: true,
  continue_disabled: true,
  work_budget_exceeded: true,
  no_progress_timeout: true,
  max_attempts_exceeded: true,
  hook_failed: false,
  recovery_aborted: false,
  out_of_memory: false,
  stable_timeout: false,
  recovery_error: false,
};

test("[T1][I5] every end that the machine can make was reached, and no other", () => {
  const expected = Object.entries(ends).flatMap(([end, can]) => (can ? [end] : []));
  expect([...reached].sort()).toEqual(expected.sort());
});
