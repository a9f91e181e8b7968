// Random in the large: long ways through everything that can happen, by seed; and from wherever they lead, an end.
import { describe, expect, test } from "vitest";
import { resolvePolicy } from "../../src/core/policy.ts";
import { nextDeadline } from "../../src/core/state.ts";
import { type Dice, pick, prng } from "../../src/testing/prng.ts";
import { Bench } from "./bench.ts";
import { obey } from "./laws.ts";
import { consult, endRun, endTool, equip, gate, mapError, output, reconcile } from "./model.ts";
import { answers, type BenchMove, commands, performers, processes } from "./moves.ts";

const { call, ...said } = answers;
const { submit, continueLast, append, stopTurn, stop, clear } = commands;
const turns = ["t1", "t2", "t3", "t4"];
const moves: readonly BenchMove[] = [
  ...turns.map(submit),
  ...turns.map((turn) => continueLast(`${turn}c`)),
  ...turns.map((turn) => stopTurn(turn)),
  ...["m1", "m2"].map(append),
  stop,
  clear,
  ...["pay", "get", "ship", "view", "gone"].map(call),
  ...Object.values(said),
  ...Object.values(performers),
  ...Object.values(processes),
];
/** Rare, or every way would be short. */
const rare = new Set([stop.name, clear.name, said.refused.name, performers.giveUp.name]);

function wander(seed: number): { bench: Bench; path: string[] } {
  const dice = prng(seed);
  const flip = (): boolean => dice() < 0.5;
  const asks = { recovery: flip(), beforeTool: flip(), error: flip() };
  const policy = resolvePolicy({ maxAttempts: 3, maxRecoveryWork: 30 });
  let bench = new Bench({ asks, prefill: flip(), maxSteps: 3, policy });
  bench.watch = obey;
  const path: string[] = [];
  for (let at = 0; at < 60; at++) {
    const move = choose(dice);
    path.push(move.name);
    bench.jitter = dice();
    const moved = told(path, seed, () => move.make(bench));
    if (moved) bench = moved;
    else path.pop();
  }
  return { bench, path };
}

function choose(dice: Dice): BenchMove {
  const move = pick(dice, moves);
  return rare.has(move.name) && dice() < 0.8 ? choose(dice) : move;
}

/** A failure carries its seed, and the way. */
function told<T>(path: readonly string[], seed: number, act: () => T): T {
  try {
    return act();
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new Error(`${text}\n  seed ${seed}: ${path.join(" > ")}`, { cause: error });
  }
}

/** Every effect is answered, and well. */
function allGoesWell(bench: Bench): void {
  if (bench.draining) bench.die();
  if (!bench.state.turn) return;
  const [effect] = bench.owed;
  const { phase } = bench.turn;
  if (!effect || phase.kind === "recovering") {
    if (effect?.type === "consult") return consult(bench, effect, true);
    return nothingAnswers(bench);
  }
  bench.owed = bench.owed.filter((known) => known !== effect);
  switch (effect.type) {
    case "run":
      // Nobody reads on what is no longer awaited.
      return phase.kind === "running" && phase.effect === effect.effect ? endRun(bench, effect) : undefined;
    case "equip":
      return equip(bench, effect);
    case "gate":
      return gate(bench, effect, { action: "allow" });
    case "execute":
      return endTool(bench, effect, output("ok"));
    case "reconcile":
      return reconcile(bench, effect, "absent");
    case "map-error":
      return mapError(bench, effect);
  }
}

/** Time passes, and nothing else. */
function nothingAnswers(bench: Bench): void {
  if (bench.draining) bench.die();
  const deadline = nextDeadline(bench.state);
  bench.now = Math.max(bench.now, deadline ?? 0);
  if (deadline !== null) bench.take({ type: "due" });
}

const seeds = Array.from({ length: 8 }, (_, block) => block);
const perBlock = Number(process.env["EXPLORE_SEEDS"] ?? 400) / seeds.length;

describe("a long way", () => {
  test.each(seeds)("[T1][T4][C4][C7][I8][L1] keeps every law, and leads to an end (block %i)", (block) => {
    for (let seed = block * perBlock; seed < (block + 1) * perBlock; seed++) {
      const { bench, path } = wander(seed);
      for (const [name, fate] of Object.entries({ allGoesWell, nothingAnswers })) {
        const last = bench.fork();
        let steps = 0;
        for (; last.state.turn && steps < 600; steps++) told([...path, name], seed, () => fate(last));
        expect(last.state.turn, `seed ${seed}, ${name}: ${path.join(" > ")}`).toBeNull();
      }
    }
  });
});
