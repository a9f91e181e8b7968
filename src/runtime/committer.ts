/**
 * Committer: group commit over all agents of the process.
 *
 *   G1. One batch at a time; an agent's commits land in the order in which they were made.
 *   G2. At once when idle; under load after 4 times the last commit's duration, within 2 to 25 ms; a control commit
 *       does not wait.
 *   G3. An agent whose commit is fenced, conflicting or refused is dead: its later commits fail with it.
 *   G4. While the store is unavailable the same commits are tried again until the answer is definite; nothing of them
 *       is shown or answered.
 */
import type { Clock, Timers } from "../ports/clock.ts";
import type { AgentCommit, CommitResult, Store } from "../ports/store.ts";

export interface Entry {
  readonly commit: AgentCommit;
  /** Somebody waits for it: not for chunks only. */
  readonly control: boolean;
  /** The batch that holds it is on its way: it can no longer be added to. */
  taken: boolean;
  landed(): void;
  /** The agent is dead. */
  failed(result: CommitResult): void;
}

const window = { factor: 4, leastMs: 2, mostMs: 25 };
const retry = { firstMs: 20, mostMs: 1_000 };

export class Committer {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #timers: Timers;
  #queue: Entry[] = [];
  #busy = false;
  #wake: { readonly at: number; readonly cancel: () => void } | null = null;
  #lastMs = 0;
  #lastEnd = Number.NEGATIVE_INFINITY;
  #retryMs = 0;
  #idle: (() => void)[] = [];

  constructor(store: Store, clock: Clock, timers: Timers) {
    this.#store = store;
    this.#clock = clock;
    this.#timers = timers;
  }

  /** The store takes commits. */
  get available(): boolean {
    return this.#retryMs === 0;
  }

  add(entry: Entry): void {
    this.#queue.push(entry);
    this.#schedule(entry.control);
  }

  /** Resolves once nothing is pending. */
  drained(): Promise<void> {
    if (this.#queue.length === 0 && !this.#busy) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #schedule(control: boolean): void {
    if (this.#busy || this.#retryMs > 0) return;
    const windowMs = Math.min(Math.max(window.factor * this.#lastMs, window.leastMs), window.mostMs);
    const now = this.#clock.elapsed();
    const at = control ? now : Math.max(now, this.#lastEnd + windowMs);
    if (this.#wake && this.#wake.at <= at) return;
    this.#wake?.cancel();
    this.#wake = { at, cancel: this.#timers.after(at - now, () => this.#flush()) };
  }

  #flush(): void {
    this.#wake = null;
    if (this.#busy || this.#queue.length === 0) return;
    const batch = this.#queue;
    this.#queue = [];
    this.#busy = true;
    for (const entry of batch) entry.taken = true;
    const start = this.#clock.elapsed();
    this.#store.commit(batch.map((entry) => entry.commit)).then(
      (results) => this.#settle(batch, results, start),
      // A store that rejects has said nothing definite.
      () =>
        this.#settle(
          batch,
          batch.map(() => ({ kind: "unavailable", code: "REJECTED" })),
          start,
        ),
    );
  }

  #settle(batch: readonly Entry[], results: readonly CommitResult[], start: number): void {
    this.#busy = false;
    this.#lastEnd = this.#clock.elapsed();
    this.#lastMs = this.#lastEnd - start;
    const dead = new Map<string, CommitResult>();
    const waiting = new Set<string>();
    const again: Entry[] = [];
    batch.forEach((entry, index) => {
      const { agent } = entry.commit;
      const result = dead.get(agent) ?? results[index] ?? { kind: "unavailable", code: "NO_ANSWER" };
      if (waiting.has(agent) || result.kind === "unavailable") {
        waiting.add(agent);
        again.push(entry);
      } else if (result.kind === "landed") entry.landed();
      else {
        dead.set(agent, result);
        entry.failed(result);
      }
    });
    const late = this.#queue.filter((entry) => dead.has(entry.commit.agent));
    this.#queue = [...again, ...this.#queue.filter((entry) => !dead.has(entry.commit.agent))];
    for (const entry of late) entry.failed(dead.get(entry.commit.agent) ?? { kind: "conflict" });
    this.#next(again.length > 0);
  }

  #next(unavailable: boolean): void {
    if (unavailable) {
      this.#retryMs = Math.min(this.#retryMs * 2 || retry.firstMs, retry.mostMs);
      this.#timers.after(this.#retryMs, () => this.#flush());
      return;
    }
    this.#retryMs = 0;
    if (this.#queue.length > 0) return this.#schedule(this.#queue.some((entry) => entry.control));
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }
}
