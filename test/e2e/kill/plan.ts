/** Plans: where each run is killed, and what its client does. Values: the same seed makes the same plans. */
import { between, type Dice, pick, prng, seedOf } from "../../../src/testing/prng.ts";
import { type Scenario, secondTexts } from "./script.ts";

export const points = [
  "accepted",
  "request-sent",
  "stream-open",
  "mid-reasoning",
  "mid-text",
  "mid-tool-input",
  "input-complete",
  "tool-started",
  "effect-done",
  "result-stored",
  "one-of-two",
  "step-end",
  "finish",
  "message-final",
  "queued",
  "recovery",
] as const;
export type Point = (typeof points)[number];
export type When = "before" | "after";

/** A kill by the process itself, at the n-th occurrence of a point since its start. */
export interface PointKill {
  readonly point: Point;
  readonly when: When;
  readonly nth: number;
  /** `before`: what was committed together with the point, and ahead of it, lands. Else nothing of the batch does. */
  readonly split: boolean;
}

/** A kill from outside, so long after the first message was sent, or after the restart. */
export interface RandomKill {
  readonly point: "random";
  readonly afterMs: number;
}

export type Kill = PointKill | RandomKill;

export interface Plan {
  readonly run: number;
  readonly seed: number;
  readonly scenario: Scenario;
  readonly kills: readonly Kill[];
  /** The text of a message that is sent while the first turn runs; null: none. */
  readonly second: string | null;
  /** The second message is sent once so many chunks of the first turn were seen. */
  readonly secondAfter: number;
  /** The first message is sent by the SDK's own transport. */
  readonly stock: boolean;
  /** Hooks that the agent overrides. */
  readonly hooks: { readonly recovery: boolean; readonly gate: boolean; readonly notices: boolean };
  /** The model goes on with a trailing assistant text. */
  readonly prefill: boolean;
  /** The last look is taken at a new process. */
  readonly freshLook: boolean;
  readonly restartMs: number;
}

export interface Cell {
  readonly point: Point | "random";
  readonly when: When;
}

export const cells: readonly Cell[] = [
  ...points.flatMap((point): Cell[] => [
    { point, when: "before" },
    { point, when: "after" },
  ]),
  { point: "random", when: "after" },
];

export function cellName({ point, when }: Cell): string {
  return point === "random" ? point : `${point}/${when}`;
}

/** How often each cell is to be hit at least, in `count` runs over `all` of them. */
export function hitsDue(count: number, all: number): number {
  return Math.floor(Math.min(5, (5 * count * cells.length) / (200 * all)));
}

export function chosen(point: string | null): readonly Cell[] {
  const found = cells.filter((cell) => point === null || cell.point === point || cellName(cell) === point);
  if (found.length > 0) return found;
  throw new RangeError(`There is no point "${point}". Points: ${[...points, "random"].join(", ")}.`);
}

/** Run `run` of seed `seed`: independent of how many runs there are. */
export function planOf(run: number, seed: number, among: readonly Cell[]): Plan {
  const dice = prng(seedOf("kill", seed, run));
  const cell = among[run % among.length] as Cell;
  const scenario = scenarioFor(cell, dice);
  const kills = killsFor(cell, dice);
  const second = cell.point === "queued" || dice() < 0.5 ? pick(dice, secondTexts) : null;
  return {
    run,
    seed,
    scenario,
    kills,
    second,
    secondAfter: cell.point === "queued" ? 1 : between(dice, 1, 12),
    stock: cell.point !== "queued" && dice() < 0.25,
    hooks: { recovery: dice() < 0.3, gate: dice() < 0.3, notices: dice() < 0.5 },
    prefill: dice() < 0.2,
    freshLook: dice() < 0.25,
    restartMs: pick(dice, [0, 0, 10, 60]),
  };
}

/** Scenarios that pass the point. */
function scenarioFor({ point }: Cell, dice: Dice): Scenario {
  switch (point) {
    case "mid-tool-input":
    case "input-complete":
    case "tool-started":
    case "effect-done":
    case "result-stored":
    case "one-of-two":
      return pick(dice, ["tools", "parallel", "tools", "parallel", "bare"] as const);
    case "step-end":
    case "queued":
      return pick(dice, ["tools", "parallel", "faulty"] as const);
    case "mid-reasoning":
    case "mid-text":
      return pick(dice, ["tools", "parallel", "plain", "faulty"] as const);
    default:
      return pick(dice, ["tools", "parallel", "plain", "bare", "faulty"] as const);
  }
}

function killsFor(cell: Cell, dice: Dice): Kill[] {
  const first = killAt(cell, dice);
  // Only what is interrupted can be interrupted in its recovery.
  const kills =
    cell.point === "recovery"
      ? [killAt({ point: pick(dice, interrupting), when: pick(dice, whens) }, dice), first]
      : [first];
  while (kills.length < 3 && dice() < 0.4) kills.push(killAt(laterThan(kills, dice), dice));
  return kills;
}

const whens = ["before", "after"] as const;
const interrupting = ["mid-reasoning", "mid-text", "request-sent", "tool-started", "mid-tool-input"] as const;

/** What is likely to be passed still, once the turn was killed at the points before. */
function laterThan(kills: readonly Kill[], dice: Dice): Cell {
  const latest = Math.max(...kills.map(({ point }) => (point === "random" ? 0 : points.indexOf(point))));
  const again = points.filter((point, index) => index >= latest || point === "recovery" || point === "mid-text");
  const point = pick(dice, [...again, "recovery", "random"] as const);
  return { point, when: pick(dice, whens) };
}

const nthMax: Partial<Record<Point, number>> = {
  "request-sent": 2,
  "mid-reasoning": 3,
  "mid-text": 4,
  "mid-tool-input": 2,
  "effect-done": 2,
  "result-stored": 2,
  recovery: 2,
};

function killAt({ point, when }: Cell, dice: Dice): Kill {
  if (point === "random") return { point, afterMs: between(dice, 1, 700) };
  return { point, when, nth: between(dice, 1, nthMax[point] ?? 1), split: dice() < 0.5 };
}
