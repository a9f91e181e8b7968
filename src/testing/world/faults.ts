/**
 * Faults: what goes wrong in a world, as a list that was drawn before it began. Data: a failing seed is shrunk by
 * leaving faults out, with everything else as it was.
 */
import { between, type Dice, pick, prng, seedOf } from "../prng.ts";

/** When: before the n-th step of the world; or before or after the n-th call of the store. */
export type Strike = { readonly step: number } | { readonly call: number; readonly side: "before" | "after" };

export type HookName = "start" | "prepare" | "recover" | "beforeTool" | "mapError" | "notice";

export type Fault =
  /** The process dies, and another one is there after `downMs`. */
  | { readonly kind: "death"; readonly at: Strike; readonly downMs: number }
  | { readonly kind: "hand-over"; readonly at: Strike; readonly graceMs: number; readonly downMs: number }
  /** The process stops, another one takes over, and then the first one goes on as if nothing had been. */
  | { readonly kind: "freeze"; readonly at: Strike; readonly thawMs: number; readonly downMs: number }
  /** The store takes no writes for a while; with `reads`, it answers nothing at all. */
  | { readonly kind: "outage"; readonly at: Strike; readonly ms: number; readonly reads: boolean }
  /** The n-th commit lands and is answered `unavailable`. */
  | { readonly kind: "ambiguous"; readonly commit: number }
  /** Somebody else claims an agent that is in memory. */
  | { readonly kind: "fence"; readonly at: Strike; readonly agent: number }
  /** The n-th model call goes wrong after some of its parts. */
  | {
      readonly kind: "model";
      readonly call: number;
      readonly manner: ModelManner;
      readonly after: number;
      readonly retryAfterMs?: number;
    }
  | { readonly kind: "hook"; readonly hook: HookName; readonly ask: number; readonly manner: HookManner }
  | { readonly kind: "tool"; readonly run: number; readonly manner: ToolManner }
  /** The n-th answer to a client is lost on its way. */
  | { readonly kind: "answer"; readonly rpc: number };

export type ModelManner = "busy" | "cut" | "refused" | "hangs";
export type HookManner = "throws" | "hangs" | "late" | "no";
export type ToolManner = "throws-before" | "throws-after" | "hangs-before" | "hangs-after" | "late";

export function faultsOf(seed: number): readonly Fault[] {
  const dice = prng(seedOf(seed, "faults"));
  const faults: Fault[] = [];
  const rate = pick(dice, [0, 1, 2, 3, 4]);
  const some = (most: number): number => Math.min(most, Math.floor(dice() * (rate + 1) * 0.8));
  const deaths = dice() < 0.3 ? between(dice, 3, 12) : some(4);
  let step = 0;
  for (let n = 0; n < deaths; n++) {
    step += between(dice, 1, pick(dice, [20, 80, 200]));
    faults.push(end(dice, step));
  }
  for (let n = some(2); n > 0; n--)
    faults.push({ kind: "outage", at: strike(dice), ms: pick(dice, [5, 50, 3_000, 120_000]), reads: dice() < 0.3 });
  for (let n = some(3); n > 0; n--) faults.push({ kind: "ambiguous", commit: between(dice, 1, 30) });
  if (rate > 1 && dice() < 0.2) faults.push({ kind: "fence", at: strike(dice), agent: between(dice, 0, 1) });
  for (let n = some(4); n > 0; n--) faults.push(modelFault(dice));
  for (let n = some(3); n > 0; n--) faults.push(hookFault(dice));
  for (let n = some(2); n > 0; n--) faults.push(toolFault(dice));
  for (let n = some(2); n > 0; n--) faults.push({ kind: "answer", rpc: between(dice, 1, 12) });
  return faults;
}

function end(dice: Dice, step: number): Fault {
  const downMs = pick(dice, [0, 10, 1_000, 600_000]);
  if (dice() < 0.7) return { kind: "death", at: { step }, downMs };
  if (dice() < 0.75) return { kind: "hand-over", at: { step }, graceMs: pick(dice, [0, 20, 5_000]), downMs };
  return { kind: "freeze", at: { step }, thawMs: pick(dice, [1, 100, 10_000]), downMs };
}

function strike(dice: Dice): Strike {
  return { step: between(dice, 1, 400) };
}

function modelFault(dice: Dice): Fault {
  const manner = pick<ModelManner>(dice, ["busy", "busy", "cut", "cut", "cut", "cut", "refused", "hangs"]);
  const wait = manner === "busy" && dice() < 0.5 ? { retryAfterMs: pick(dice, [0, 700, 20_000]) } : {};
  return {
    kind: "model",
    call: between(dice, 1, 8),
    manner,
    after: manner === "busy" ? 0 : between(dice, 0, 25),
    ...wait,
  };
}

function hookFault(dice: Dice): Fault {
  const hook = pick<HookName>(dice, [
    "start",
    "prepare",
    "recover",
    "recover",
    "recover",
    "beforeTool",
    "mapError",
    "notice",
  ]);
  return {
    kind: "hook",
    hook,
    ask: between(dice, 1, 5),
    manner: pick<HookManner>(dice, ["throws", "hangs", "late", "no"]),
  };
}

function toolFault(dice: Dice): Fault {
  const manner = pick<ToolManner>(dice, ["throws-before", "throws-after", "hangs-before", "hangs-after", "late"]);
  return { kind: "tool", run: between(dice, 1, 6), manner };
}

/** The faults of a world, found by what they wait for. */
export class FaultBook {
  readonly list: readonly Fault[];
  /** Faults that struck, by their kind. */
  readonly struck = new Map<string, number>();
  readonly #counts = new Map<string, number>();

  constructor(list: readonly Fault[]) {
    this.list = list;
  }

  count(what: string): number {
    const count = (this.#counts.get(what) ?? 0) + 1;
    this.#counts.set(what, count);
    return count;
  }

  counted(what: string): number {
    return this.#counts.get(what) ?? 0;
  }

  /** The first fault that fits, which is told of. */
  find<K extends Fault["kind"]>(
    kind: K,
    fits: (fault: Extract<Fault, { kind: K }>) => boolean,
  ): Extract<Fault, { kind: K }> | null {
    for (const fault of this.list) {
      if (fault.kind !== kind || !fits(fault as Extract<Fault, { kind: K }>)) continue;
      this.strike(kind);
      return fault as Extract<Fault, { kind: K }>;
    }
    return null;
  }

  strike(kind: string): void {
    this.struck.set(kind, (this.struck.get(kind) ?? 0) + 1);
  }
}
