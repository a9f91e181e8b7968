/**
 * Waker: finds the agents that are owed something.
 *
 *   K1. What is due is found by `due` alone: boot loads nothing to decide what there is to do.
 *   K2. Loading and deciding are bounded; turns that run are not. A fresh command never waits behind recoveries.
 *   K3. An agent that cannot be loaded backs off and never starves the rest.
 */
import { PerdureError } from "../core/errors.ts";
import type { AgentKey } from "../core/ids.ts";
import type { Due } from "../ports/directory.ts";
import type { Services } from "../ports/services.ts";

/** One `due` page. */
const pageCount = 64;
/** Backoff of an agent that cannot be loaded. */
const backoff = { firstMs: 1_000, mostMs: 60_000 };

interface Failing {
  readonly until: number;
  readonly times: number;
  readonly error: unknown;
}

export interface WakerParts {
  readonly services: Services;
  /** Agents that may be loaded for recovery at once. */
  readonly recoveriesMax: number;
  /** It is in memory, or on its way there. */
  known(key: AgentKey): boolean;
  load(key: AgentKey): Promise<unknown>;
  /** The store belongs to another owner. */
  lost(): void;
}

export class Waker {
  readonly #parts: WakerParts;
  readonly #failing = new Map<AgentKey, Failing>();
  #open = true;
  #sweeping = false;
  /** When the last sweep began. */
  #sweptAt = 0;
  /** Asked for while a sweep was under way. */
  #again = false;
  #alarm: { readonly at: number; readonly cancel: () => void } | null = null;

  constructor(parts: WakerParts) {
    this.#parts = parts;
  }

  /** Looks for what is due now, and loads it. */
  wake(): void {
    if (!this.#open) return;
    if (this.#sweeping) this.#again = true;
    else void this.#run();
  }

  close(): void {
    this.#open = false;
    this.#alarm?.cancel();
    this.#alarm = null;
  }

  /** Why an agent is left alone for now; undefined when it is not. */
  refusal(key: AgentKey): unknown {
    const failing = this.#failing.get(key);
    return failing && failing.until > this.#now() ? failing.error : undefined;
  }

  succeeded(key: AgentKey): void {
    this.#failing.delete(key);
  }

  /** Returns how often in a row it has failed now. */
  failed(key: AgentKey, error: unknown): number {
    const times = (this.#failing.get(key)?.times ?? 0) + 1;
    const delayMs = Math.min(backoff.firstMs * 2 ** (times - 1), backoff.mostMs);
    this.#failing.set(key, { until: this.#now() + delayMs, times, error });
    this.#arm(this.#now() + delayMs);
    return times;
  }

  #now(): number {
    return this.#parts.services.clock.now();
  }

  async #run(): Promise<void> {
    this.#sweeping = true;
    do {
      this.#again = false;
      await this.#sweep();
    } while (this.#again && this.#open);
    this.#sweeping = false;
    await this.#armNext();
  }

  async #sweep(): Promise<void> {
    this.#sweptAt = this.#now();
    const slots = new Set<Promise<unknown>>();
    let after: Due | undefined;
    while (this.#open) {
      const page = await this.#page(this.#now(), pageCount, after);
      for (const { agent } of page) {
        if (this.#parts.known(agent) || this.refusal(agent) !== undefined) continue;
        if (slots.size >= this.#parts.recoveriesMax) await Promise.race(slots);
        if (!this.#open) break;
        const slot = this.#parts.load(agent).catch(() => {});
        slots.add(slot);
        void slot.finally(() => slots.delete(slot));
      }
      after = page.at(-1);
      if (page.length < pageCount) break;
    }
    await Promise.allSettled(slots);
  }

  /** A store that does not answer is asked again in a while: nobody else would wake what is due. */
  async #page(until: number, countMax: number, after?: Due): Promise<readonly Due[]> {
    try {
      return await this.#parts.services.directory.due(until, countMax, after);
    } catch (error) {
      if (PerdureError.is(error, "OWNER_LOST")) this.#parts.lost();
      else this.#arm(this.#now() + backoff.firstMs);
      return [];
    }
  }

  /** The earliest need that lies ahead, of an agent that is not in memory. */
  async #armNext(): Promise<void> {
    const now = this.#now();
    const beyond = { wake: now, agent: "\uffff" };
    const [next] = await this.#page(Number.MAX_SAFE_INTEGER, 1, beyond);
    // A sweep takes its time: a backoff that ended meanwhile was not looked at by it.
    const retries = [...this.#failing.values()].map(({ until }) => until).filter((until) => until > this.#sweptAt);
    const at = Math.min(next?.wake ?? Number.POSITIVE_INFINITY, ...retries);
    if (Number.isFinite(at)) this.#arm(at);
  }

  #arm(at: number): void {
    if (!this.#open || (this.#alarm && this.#alarm.at <= at)) return;
    this.#alarm?.cancel();
    const cancel = this.#parts.services.timers.after(Math.max(0, at - this.#now()), () => {
      this.#alarm = null;
      this.wake();
    });
    this.#alarm = { at, cancel };
  }
}
