/** Scenario: who plays in a world, and what each of them would do if nothing ever failed. Data, made from the seed. */

import type { RecoveryPolicy } from "../../core/policy.ts";
import { resolvePolicy } from "../../core/policy.ts";
import type { ModelProfile } from "../../core/profile.ts";
import type { RecoveryKind } from "../../core/records.ts";
import type { NoticeKind } from "../../ports/behaviour.ts";
import { between, type Dice, pick, prng, seedOf } from "../prng.ts";

export interface Scenario {
  readonly agents: readonly Cast[];
  /** The n-th incarnation runs the n-th model; the last one stays. A deploy may change it. */
  readonly models: readonly ModelPlan[];
  readonly tools: readonly ToolPlan[];
  readonly asks: {
    readonly recovery: boolean;
    readonly beforeTool: boolean;
    readonly error: boolean;
    readonly notices: readonly NoticeKind[];
  };
  readonly policy: RecoveryPolicy;
  readonly idleMs: number;
}

export interface Cast {
  readonly key: string;
  readonly turns: readonly TurnPlan[];
  /** When its last turn has ended, the client asks for more of it, so many times. */
  readonly more: number;
}

/** One message of a client, and what the model makes of it. */
export interface TurnPlan {
  readonly id: string;
  readonly steps: readonly StepPlan[];
  /** The client waits for the end of the turn before, then for so long. Null: it does not wait, and the turn queues. */
  readonly waitMs: number | null;
  readonly sendMs: number;
  /** The client sends it once more when it has its answer. */
  readonly repeat: boolean;
  /** The client sends other content under the same id. */
  readonly conflict: boolean;
  /** The client stops the turn so long after it was accepted. */
  readonly stopMs: number | null;
  /** The model makes a call again whose outcome is unknown. */
  readonly insists: boolean;
  /** A message without a turn comes before it. */
  readonly note: boolean;
  /** The command comes through the directory while no process lives. */
  readonly offline: boolean;
}

export interface StepPlan {
  /** Sources that it names before it says anything. */
  readonly sources?: number;
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly CallPlan[];
  readonly finish: string;
}

export interface CallPlan {
  readonly id: string;
  readonly tool: string;
}

export interface ModelPlan {
  readonly origin: string;
  readonly profile: ModelProfile;
  readonly deltaCharsMax: number;
  /** In ask mode it repeats so many characters at most. */
  readonly repeatCharsMax: number;
  /** It gives labels like `call_0` again and again. */
  readonly reusesLabels: boolean;
  /** It thinks again before it goes on. */
  readonly thinksAgain: boolean;
  readonly gapMsMax: number;
  /** Its texts are items with ids of their own. */
  readonly namesItems: boolean;
  /** Its profile promises a prefill, and it refuses one. */
  readonly refusesPrefill: boolean;
  /** A tool that the class has not, in the process that runs this model. */
  readonly lacks: string | null;
  /** How far the wall clock of that process is off. */
  readonly skewMs: number;
}

export interface ToolPlan {
  readonly name: string;
  readonly policy: RecoveryKind;
  readonly timeoutMs: number;
  readonly workMs: number;
  readonly preliminary: number;
}

export function scenarioOf(seed: number): Scenario {
  const dice = prng(seedOf(seed, "scenario"));
  const agents = between(dice, 1, 10) > 7 ? 2 : 1;
  return {
    agents: Array.from({ length: agents }, (_, index) => castOf(dice, index)),
    models: Array.from({ length: between(dice, 1, 3) }, (_, index) => modelOf(dice, index)),
    tools: [
      { name: "pay", policy: "report", ...toolOf(dice) },
      { name: "lookup", policy: "retry", ...toolOf(dice) },
      { name: "book", policy: "reconcile", ...toolOf(dice) },
    ],
    asks: {
      recovery: dice() < 0.4,
      beforeTool: dice() < 0.3,
      error: dice() < 0.3,
      notices: (["response", "step", "tool"] as const).filter(() => dice() < 0.5),
    },
    policy: policyOf(dice),
    idleMs: pick(dice, [200, 30_000]),
  };
}

function policyOf(dice: Dice): RecoveryPolicy {
  if (dice() < 0.7) return resolvePolicy(true);
  return resolvePolicy({
    maxAttempts: between(dice, 1, 4),
    maxInterruptedAttempts: between(dice, 1, 4),
    noProgressTimeoutMs: pick(dice, [1_000, 30_000, 300_000]),
    maxRecoveryWork: pick(dice, [3, 10, 1_000]),
  });
}

function castOf(dice: Dice, index: number): Cast {
  const turns = between(dice, 1, 3);
  const more = dice() < 0.15 ? between(dice, 1, 2) : 0;
  return {
    key: `play/a${index}`,
    more,
    turns: Array.from({ length: turns }, (_, n) => turnOf(dice, `a${index}t${n}`, n)),
  };
}

function turnOf(dice: Dice, id: string, index: number): TurnPlan {
  const steps = pick(dice, [1, 1, 2, 2, 3]);
  return {
    id,
    steps: Array.from({ length: steps }, (_, n) => stepOf(dice, `${id}s${n}`, n === steps - 1)),
    waitMs: index > 0 && dice() < 0.5 ? pick(dice, [0, 100, 60_000]) : null,
    sendMs: pick(dice, [0, 0, 10, 200]),
    repeat: dice() < 0.15,
    conflict: dice() < 0.08,
    stopMs: dice() < 0.08 ? between(dice, 0, 120) : null,
    insists: dice() < 0.5,
    note: dice() < 0.1,
    offline: dice() < 0.1,
  };
}

function stepOf(dice: Dice, id: string, last: boolean): StepPlan {
  const count = last ? 0 : pick(dice, [1, 1, 1, 2, 2, 3]);
  const calls = Array.from({ length: count }, (_, n) => ({
    id: `${id}c${n}`,
    tool: pick(dice, ["pay", "lookup", "book", "gone"].slice(0, dice() < 0.9 ? 3 : 4)),
  }));
  const text = last || dice() < 0.7 ? proseOf(dice, id, between(dice, 1, 14)) : "";
  const finish = last ? pick(dice, ["stop", "stop", "stop", "stop", "length", "content-filter"]) : "tool-calls";
  return {
    ...(dice() < 0.1 ? { sources: between(dice, 1, 2) } : {}),
    reasoning: dice() < 0.4 ? proseOf(dice, `${id}r`, between(dice, 1, 6)) : "",
    text,
    calls,
    finish,
  };
}

/** Words that tell where they stand, with the odd run of white space. */
function proseOf(dice: Dice, id: string, words: number): string {
  const gaps = [" ", " ", " ", " ", "\n", "  "];
  const begin = dice() < 0.15 ? pick(dice, gaps) : "";
  return Array.from({ length: words }, (_, n) => `${id}.${n}${"abcdefgh".slice(0, between(dice, 0, 8))}`)
    .reduce((text, word) => text + pick(dice, gaps) + word, begin)
    .slice(begin === "" ? 1 : 0);
}

function modelOf(dice: Dice, index: number): ModelPlan {
  return {
    origin: `scripted:m${dice() < 0.6 ? 0 : index}`,
    profile: { prefill: dice() < 0.4 },
    deltaCharsMax: pick(dice, [3, 8, 20, 60]),
    repeatCharsMax: pick(dice, [0, 0, 12, 40]),
    reusesLabels: dice() < 0.3,
    thinksAgain: dice() < 0.2,
    gapMsMax: pick(dice, [0, 5, 40]),
    namesItems: dice() < 0.2,
    refusesPrefill: dice() < 0.15,
    lacks: dice() < 0.1 ? pick(dice, ["pay", "lookup", "book"]) : null,
    skewMs: dice() < 0.8 ? 0 : between(dice, -90_000, 90_000),
  };
}

function toolOf(dice: Dice): Omit<ToolPlan, "name" | "policy"> {
  return {
    timeoutMs: pick(dice, [1_000, 60_000]),
    workMs: pick(dice, [0, 5, 300]),
    preliminary: pick(dice, [0, 0, 1, 3]),
  };
}
