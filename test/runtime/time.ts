/**
 * Time that moves only when a test says so. What takes no time in life (a commit's window, the first retry of a store)
 * passes by itself in `until`; backoffs, deadlines and idle times do not.
 */
import { setImmediate as tick } from "node:timers/promises";
import type { Clock, Timers } from "../../src/ports/clock.ts";

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

const began = Date.UTC(2026, 0, 1);
/** Timers of up to this are the small change of time. */
const smallMs = 30;
/** Rounds of the event loop in which nothing happened: nothing more will. */
const quietRounds = 30;

export class FakeTime implements Clock, Timers {
  #at = began;
  #timers: Timer[] = [];

  now(): number {
    return this.#at;
  }

  elapsed(): number {
    return this.#at - began;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#at + Math.max(0, ms), callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((some) => some !== timer);
    };
  }

  /** Milliseconds to each timer that is armed, the nearest first. */
  get armed(): number[] {
    return this.#timers.map((timer) => timer.at - this.#at).sort((a, b) => a - b);
  }

  /** Lets time pass, timer by timer, and whatever they set going run. */
  async advance(ms: number): Promise<void> {
    const until = this.#at + ms;
    for (;;) {
      await this.settle();
      const next = this.#next();
      if (!next || next.at > until) break;
      this.#at = next.at;
    }
    this.#at = until;
    await this.settle();
  }

  /** Runs what needs no time. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 3; quiet++) {
      if (this.#fire()) quiet = 0;
      await tick();
    }
  }

  /** Goes on until it is so. Fails when it never will be, without waiting for longer timers. */
  async until(so: () => boolean, what = "what the test waits for"): Promise<void> {
    for (let quiet = 0; !so(); quiet++) {
      if (this.#fire()) quiet = 0;
      await tick();
      if (quiet < 2 || so()) continue;
      const next = this.#next();
      if (next && next.at - this.#at <= smallMs) {
        this.#at = next.at;
        quiet = 0;
      } else if (quiet > quietRounds) {
        throw new Error(`nothing more happens, and not: ${what}. Timers in ${this.armed.join(", ") || "none"} ms`);
      }
    }
  }

  /** The answer of a promise, as far as it needs no longer timer. */
  async of<T>(promise: Promise<T>, what = "an answer"): Promise<T> {
    let done = false;
    const seen = promise.then(
      () => {
        done = true;
      },
      () => {
        done = true;
      },
    );
    await this.until(() => done, what);
    await seen;
    return promise;
  }

  /** Steps the wall clock without letting any timer run: what a machine that slept sees. */
  skip(ms: number): void {
    this.#at += ms;
  }

  #next(): Timer | undefined {
    return this.#timers.reduce<Timer | undefined>(
      (least, timer) => (least && least.at <= timer.at ? least : timer),
      undefined,
    );
  }

  #fire(): boolean {
    const due = this.#timers.filter((timer) => timer.at <= this.#at);
    this.#timers = this.#timers.filter((timer) => timer.at > this.#at);
    for (const timer of due) timer.callback();
    return due.length > 0;
  }
}
