/**
 * Schedule: the one queue of a world. Every answer of every port waits here until the seed picks it, so that the seed
 * chooses the interleaving; time moves only when nothing else can.
 */
import type { Dice } from "../prng.ts";

/** Whose step it is: an incarnation of the process, or the world outside, which never dies. */
export interface Owner {
  readonly name: string;
  dead: boolean;
  /** It makes no step, and does not know it. */
  frozen?: boolean;
}

export interface Step {
  readonly owner: Owner;
  /** Only made when somebody looks. */
  readonly label: string | (() => string);
  /** Of the store: a crash point with a number. */
  readonly port?: string;
  run(): unknown;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly step: Step;
  cancelled: boolean;
}

export class Schedule {
  /** Virtual milliseconds since the world began. */
  now = 0;
  /** Steps that were made. */
  steps = 0;
  readonly #dice: Dice;
  readonly #onStep: ((line: string) => void) | undefined;
  readonly #ready: Step[] = [];
  #timers: Timer[] = [];
  /** Steps of frozen owners. */
  #held: Step[] = [];
  #order = 0;

  constructor(dice: Dice, onStep?: (line: string) => void) {
    this.#dice = dice;
    this.#onStep = onStep;
  }

  put(step: Step): void {
    if (!step.owner.dead) this.#ready.push(step);
  }

  /** Puts the step after some virtual time. Calls the returned function to forget it. */
  after(ms: number, step: Step): () => void {
    const timer = { at: this.now + Math.max(0, ms), order: this.#order++, step, cancelled: false };
    if (!step.owner.dead) this.#timers.push(timer);
    return () => {
      timer.cancelled = true;
    };
  }

  /** Resolves when the seed lets `owner` go on, after `ms`. Never, once the owner is dead. */
  pause(owner: Owner, label: string, ms = 0): Promise<void> {
    return new Promise((resolve) => {
      const step = { owner, label, run: resolve };
      if (ms > 0) this.after(ms, step);
      else this.put(step);
    });
  }

  /** Never. For what hangs. */
  hang(): Promise<never> {
    return new Promise(() => {});
  }

  /** The owner's steps wait, and so do those that its timers become. */
  freeze(owner: Owner): void {
    owner.frozen = true;
  }

  thaw(owner: Owner): void {
    owner.frozen = false;
    const held = this.#held.filter((step) => step.owner === owner);
    this.#held = this.#held.filter((step) => step.owner !== owner);
    for (const step of held) this.put(step);
  }

  note(line: string): void {
    this.#onStep?.(`${String(this.now).padStart(9)} ${line}`);
  }

  /** The next step, picked and taken out. Null: nothing is left to happen, ever. */
  next(): Step | null {
    for (;;) {
      while (this.#ready.length > 0) {
        const index = Math.floor(this.#dice() * this.#ready.length);
        const step = this.#ready[index] as Step;
        const last = this.#ready.pop() as Step;
        if (step !== last) this.#ready[index] = last;
        if (step.owner.frozen) this.#held.push(step);
        else if (!step.owner.dead) return step;
      }
      if (!this.#advance()) return null;
    }
  }

  /** Makes a step, and lets everything that follows from it at once happen. */
  async make(step: Step): Promise<void> {
    this.steps++;
    if (this.#onStep) this.note(`${step.owner.name} ${typeof step.label === "string" ? step.label : step.label()}`);
    const outcome = step.run();
    if (outcome instanceof Promise) await outcome;
    await settled(this.steps);
  }

  /** To the time of the earliest timer: all timers of that time are ready together. */
  #advance(): boolean {
    const alive = this.#timers.filter((timer) => !timer.cancelled && !timer.step.owner.dead);
    if (alive.length === 0) {
      this.#timers = [];
      return false;
    }
    const at = alive.reduce((least, timer) => Math.min(least, timer.at), Number.POSITIVE_INFINITY);
    this.now = Math.max(this.now, at);
    this.#timers = alive.filter((timer) => timer.at > at);
    const due = alive.filter((timer) => timer.at <= at).sort((a, b) => a.order - b.order);
    this.#ready.push(...due.map(({ step }) => guarded(step, due)));
    return true;
  }
}

/** A timer that is cancelled by another one of the same time does not fire. */
function guarded(step: Step, due: readonly Timer[]): Step {
  const timer = due.find((candidate) => candidate.step === step);
  return { ...step, run: () => (timer?.cancelled ? undefined : step.run()) };
}

/**
 * Everything that follows at once: a tick comes after the last microtask. Now and then a turn of Node's own loop, so
 * that rejections that nobody handles are told of, and the process stays responsive.
 */
function settled(count: number): Promise<void> {
  if (count % 256 === 0) return new Promise((resolve) => setImmediate(resolve));
  return new Promise((resolve) => process.nextTick(resolve));
}
