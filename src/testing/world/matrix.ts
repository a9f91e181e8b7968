/**
 * Crash matrix: a scripted turn and one that waits behind it, played once to list what the process asks of its store,
 * then again and again with a death before or after each of these. The crash points are the calls, so none is missed.
 */
import { canonical } from "../../core/json.ts";
import { resolvePolicy } from "../../core/policy.ts";
import type { Fault } from "./faults.ts";
import type { Disk } from "./machine.ts";
import type { Scenario, StepPlan, TurnPlan } from "./scenario.ts";
import { runWorld, type StoreCall, type WorldResult } from "./world.ts";

export interface MatrixOptions {
  /** A fresh and empty disk. */
  disk(): Promise<Disk>;
  /** Crashes twice: at every pair of operations that may change what is durable. */
  readonly pairs?: boolean;
  /** Another adapter, that must end in an equal durable state after every single crash. */
  readonly compare?: () => Promise<Disk>;
  readonly scenario?: Scenario;
  readonly seed?: number;
}

export interface CrashPoint {
  readonly call: number;
  readonly side: "before" | "after";
}

export interface MatrixReport {
  /** What was asked of the store without a crash, in order. */
  readonly operations: readonly StoreCall[];
  readonly singles: number;
  readonly pairs: number;
  /** Broken rules, and durable states that differ; each with its crash points. */
  readonly failures: readonly string[];
  readonly ms: number;
}

export async function crashMatrix(options: MatrixOptions): Promise<MatrixReport> {
  const begun = performance.now();
  const matrix = new Matrix(options);
  const calm = await matrix.play([]);
  for (const point of pointsOf(calm.calls, 0, () => true)) await matrix.single(point);
  if (options.pairs) for (const point of pointsOf(calm.calls, 0, isWrite)) await matrix.pairsOf(point);
  const { singles, pairs, failures } = matrix;
  return { operations: calm.calls, singles, pairs, failures, ms: Math.round(performance.now() - begun) };
}

function isWrite(call: StoreCall): boolean {
  return call.write;
}

/** Both sides of every operation after the n-th that is wanted. */
function pointsOf(calls: readonly StoreCall[], after: number, wanted: (call: StoreCall) => boolean): CrashPoint[] {
  return calls.flatMap((call, index) => {
    if (index < after || !wanted(call)) return [];
    return [
      { call: index + 1, side: "before" },
      { call: index + 1, side: "after" },
    ] as const;
  });
}

class Matrix {
  readonly #options: MatrixOptions;
  singles = 0;
  pairs = 0;
  readonly failures: string[] = [];

  constructor(options: MatrixOptions) {
    this.#options = options;
  }

  async single(point: CrashPoint): Promise<void> {
    this.singles++;
    const result = await this.play([point]);
    const { compare } = this.#options;
    if (!compare) return;
    const other = await this.play([point], compare);
    for (const [agent, dump] of result.dumps) {
      if (canonical(dump) === canonical(other.dumps.get(agent))) continue;
      this.failures.push(`[S3] ${agent} differs after a crash ${point.side} ${point.call}`);
    }
  }

  /** The second crash strikes what the first one left, in all of its operations. */
  async pairsOf(first: CrashPoint): Promise<void> {
    const once = await this.play([first]);
    for (const second of pointsOf(once.calls, first.call, isWrite)) {
      this.pairs++;
      await this.play([first, second]);
    }
  }

  async play(points: readonly CrashPoint[], make = this.#options.disk): Promise<WorldResult> {
    const faults = points.map((at): Fault => ({ kind: "death", at, downMs: 10 }));
    const { seed = 1, scenario = twoTurns } = this.#options;
    const disk = await make();
    try {
      const result = await runWorld({ seed, scenario, faults, disk, bootMs: 1, dump: points.length < 2 });
      if (result.violation) {
        const { rule, text } = result.violation;
        this.failures.push(
          `[${rule}] on ${disk.name}, ${points.map(({ call, side }) => `${side} ${call}`).join(" and ")}: ${text}`,
        );
      }
      return result;
    } finally {
      await disk.dispose();
    }
  }
}

const step: StepPlan = { reasoning: "", text: "", calls: [], finish: "stop" };
const turn: Omit<TurnPlan, "id" | "steps"> = {
  waitMs: null,
  sendMs: 0,
  repeat: false,
  conflict: false,
  stopMs: null,
  insists: false,
  note: false,
  offline: false,
};
const tool = { timeoutMs: 60_000, workMs: 5, preliminary: 0 };

/** Reasoning, text, two parallel tools, text; and a second message that comes in while the first is answered. */
export const twoTurns: Scenario = {
  agents: [
    {
      key: "play/matrix",
      more: 0,
      turns: [
        {
          ...turn,
          id: "first",
          steps: [
            {
              reasoning: "let me think about it",
              text: "I will look at both. ",
              calls: [
                { id: "a", tool: "pay" },
                { id: "b", tool: "lookup" },
              ],
              finish: "tool-calls",
            },
            { ...step, text: "This is what they said." },
          ],
        },
        { ...turn, id: "second", steps: [{ ...step, text: "And that is all." }] },
      ],
    },
  ],
  models: [
    {
      origin: "scripted:m0",
      profile: { prefill: false },
      deltaCharsMax: 12,
      repeatCharsMax: 0,
      reusesLabels: false,
      thinksAgain: false,
      gapMsMax: 5,
      namesItems: false,
      refusesPrefill: false,
      lacks: null,
      skewMs: 0,
    },
  ],
  tools: [
    { name: "pay", policy: "report", ...tool },
    { name: "lookup", policy: "retry", ...tool },
  ],
  asks: { recovery: true, beforeTool: false, error: false, notices: ["response"] },
  policy: resolvePolicy(true),
  idleMs: 1_000,
};
