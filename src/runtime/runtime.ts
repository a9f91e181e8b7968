/**
 * Runtime: the agents of one process. Claims and loads them, wakes those that are owed something, lets go of those that
 * are quiet, and hands over when the process ends in order.
 *
 *   K1. What is due is found by `due` alone: boot loads nothing to decide what there is to do.
 *   K2. Loading and deciding are bounded; turns that run are not. A fresh command never waits behind recoveries.
 *   K3. An agent that cannot be loaded backs off and never starves the rest.
 *   K4. A hand-over cuts model streams at once, lets started tools finish within the grace, and spends no attempt.
 */
import { PerdureError } from "../core/errors.ts";
import type { AgentKey } from "../core/ids.ts";
import type { Directory } from "../ports/directory.ts";
import type { Services } from "../ports/services.ts";
import { type CommitResult, claimsMax } from "../ports/store.ts";
import { Agent } from "./agent.ts";
import { closed } from "./closed.ts";
import { Committer } from "./committer.ts";
import { Hub } from "./hub.ts";
import { receive } from "./inbox.ts";
import { loadAgent } from "./load.ts";
import { Notices } from "./notices.ts";
import { Performer } from "./perform.ts";

export interface RuntimeOptions {
  /** Agents that may be loaded for recovery at once. */
  readonly recoveriesMax?: number;
  /** A quiet agent leaves memory after this. */
  readonly idleMs?: number;
}

/** One `due` page. */
const pageCount = 64;
/** Backoff of an agent that cannot be loaded. */
const again = { firstMs: 1_000, mostMs: 60_000 };

export class Runtime {
  readonly services: Services;
  readonly hub = new Hub();
  readonly committer: Committer;
  readonly #performer: Performer;
  readonly #notices: Notices;
  readonly #recoveriesMax: number;
  readonly #idleMs: number;
  readonly #agents = new Map<AgentKey, Promise<Agent>>();
  readonly #live = new Set<Agent>();
  readonly #idle = new Map<Agent, () => void>();
  readonly #failing = new Map<AgentKey, { readonly until: number; readonly times: number; readonly error: unknown }>();
  #open = false;
  #draining = false;
  #sweep: Promise<void> | null = null;
  #alarm: (() => void) | null = null;

  constructor(services: Services, options: RuntimeOptions = {}) {
    this.services = services;
    this.committer = new Committer(services.store, services.clock, services.timers);
    this.#performer = new Performer(services);
    this.#notices = new Notices(services);
    this.#recoveriesMax = options.recoveriesMax ?? 32;
    this.#idleMs = options.idleMs ?? 30_000;
  }

  /** The store is open and this process owns it. Starts what is due, without waiting for it. */
  start(): void {
    this.#open = true;
    this.wake();
  }

  get ready(): boolean {
    return this.#open && !this.#draining && this.committer.available;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** The agent, loaded. Rejects with the error that keeps it from being loaded. */
  agent(key: AgentKey): Promise<Agent> {
    if (!this.#open) return Promise.reject(closed());
    const known = this.#agents.get(key);
    if (known) return known;
    const failing = this.#failing.get(key);
    if (failing && failing.until > this.services.clock.now()) return Promise.reject(failing.error);
    const loading = this.#load(key);
    this.#agents.set(key, loading);
    loading.catch((error: unknown) => {
      this.#agents.delete(key);
      this.#failed(key, error);
    });
    return loading;
  }

  /** Those that are in memory now. */
  loaded(key: AgentKey): Agent | null {
    for (const agent of this.#live) if (agent.key === key) return agent;
    return null;
  }

  /** Looks for what is due. */
  wake(): void {
    if (!this.#open || this.#draining || this.#sweep !== null) return;
    this.#alarm?.();
    this.#alarm = null;
    this.#sweep = this.#runSweep().finally(() => {
      this.#sweep = null;
    });
  }

  /** Hands over: see K4. Resolves when nothing runs and all that was said is durable, at the latest after the grace. */
  async handOver(graceMs: number): Promise<void> {
    if (!this.#open || this.#draining) return;
    this.#draining = true;
    this.#performer.draining = true;
    this.#alarm?.();
    await this.#sweep;
    for (const agent of this.#live)
      if (agent.state.turn?.phase.kind !== "calling") agent.report({ type: "handed-over" });
    const work = [...this.#performer.running, ...this.#notices.running];
    await Promise.race([Promise.allSettled(work), this.#sleep(graceMs)]);
    for (const agent of this.#live) agent.report({ type: "handed-over" });
    await Promise.race([this.committer.drained(), this.#sleep(graceMs)]);
    this.hub.close();
    for (const agent of [...this.#live]) await this.#letGo(agent);
    this.#open = false;
  }

  /** Ends at once, without a word: for tests of what a death leaves. */
  abandon(): void {
    this.#open = false;
    this.#alarm?.();
    this.hub.close();
    for (const agent of this.#live) {
      agent.drop();
      this.#performer.release(agent, "the runtime was abandoned");
    }
    this.#live.clear();
  }

  async #load(key: AgentKey): Promise<Agent> {
    const { services } = this;
    const behaviour = services.behaviour(key);
    const claim = await services.store.claim(key, services.clock.now());
    if (claim.kind === "quarantined") throw quarantined(key);
    if (claim.kind === "held") throw lost(key);
    const { state, memory, inbox, outbox, at } = await loadAgent(services.store, key);
    const started = await this.#started(key, behaviour);
    if (!this.#open) throw closed();
    const agent = new Agent({
      key,
      services,
      committer: this.committer,
      hub: this.hub,
      behaviour,
      epoch: claim.head.epoch,
      seq: claim.head.seq,
      state,
      memory,
      perform: (self, effect) => this.#performer.perform(self, effect),
      deliver: (self, rows) => this.#notices.deliver(self, rows),
      died: (self, result) => this.#onDeath(self, result),
      idle: (self) => this.#onIdle(self),
    });
    this.#live.add(agent);
    this.#failing.delete(key);
    if (!started) this.#emit("chat:onstart:degraded", key, {});
    agent.begin(Math.max(0, services.clock.now() - Math.max(at, state.now)));
    for (const command of inbox) void receive(agent, command, services, true).catch(() => {});
    if (outbox.length > 0) this.#notices.deliver(agent, outbox);
    if (agent.quiet) this.#onIdle(agent);
    return agent;
  }

  /** A hook of the user's that fails or hangs must not keep an agent from being answered. */
  async #started(_key: AgentKey, behaviour: Agent["behaviour"]): Promise<boolean> {
    let cancel = (): void => {};
    const late = new Promise<boolean>((resolve) => {
      cancel = this.services.timers.after(30_000, () => resolve(false));
    });
    const start = behaviour.start().then(
      () => true,
      () => false,
    );
    return Promise.race([start, late]).finally(() => cancel());
  }

  #failed(key: AgentKey, error: unknown): void {
    if (PerdureError.is(error, "AGENT_NOT_FOUND") || PerdureError.is(error, "HOST_CLOSED")) return;
    const times = (this.#failing.get(key)?.times ?? 0) + 1;
    const delay = Math.min(again.firstMs * 2 ** (times - 1), again.mostMs);
    this.#failing.set(key, { until: this.services.clock.now() + delay, times, error });
    this.#emit("agent:unloadable", key, { times, code: PerdureError.is(error) ? error.code : "UNKNOWN" });
    this.#arm(delay);
  }

  /** The instance is over; what it was owed is found by the next one. */
  #onDeath(agent: Agent, result: CommitResult): void {
    this.#forget(agent, `the agent's instance ended: ${result.kind}`);
    this.#emit("agent:instance-died", agent.key, { result: result.kind });
    this.hub.forget(agent.key);
    this.hub.notify(agent.key);
    this.#arm(0);
  }

  #forget(agent: Agent, reason: string): void {
    this.#live.delete(agent);
    this.#agents.delete(agent.key);
    this.#idle.get(agent)?.();
    this.#idle.delete(agent);
    this.#performer.release(agent, reason);
  }

  #onIdle(agent: Agent): void {
    this.#idle.get(agent)?.();
    const cancel = this.services.timers.after(this.#idleMs, () => {
      this.#idle.delete(agent);
      if (this.#live.has(agent) && agent.quiet && !this.#notices.pending(agent)) void this.#letGo(agent);
    });
    this.#idle.set(agent, cancel);
  }

  async #letGo(agent: Agent): Promise<void> {
    this.#forget(agent, "the agent left memory");
    agent.drop();
    this.hub.forget(agent.key);
    await this.services.store.release(agent.key, agent.epoch).catch(() => false);
  }

  async #runSweep(): Promise<void> {
    const { directory, clock } = this.services;
    const slots = new Set<Promise<unknown>>();
    let after: Awaited<ReturnType<Directory["due"]>>[number] | undefined;
    while (this.#open && !this.#draining) {
      const page = await directory.due(clock.now(), pageCount, after).catch(() => []);
      for (const { agent: key } of page) {
        if (this.#agents.has(key) || (this.#failing.get(key)?.until ?? 0) > clock.now()) continue;
        if (slots.size >= this.#recoveriesMax) await Promise.race(slots);
        const slot = this.agent(key).catch(() => {});
        slots.add(slot);
        void slot.finally(() => slots.delete(slot));
      }
      after = page.at(-1);
      if (page.length < pageCount) break;
    }
    await Promise.allSettled(slots);
    await this.#armNext();
  }

  /** The earliest need that lies ahead, of an agent that is not in memory. */
  async #armNext(): Promise<void> {
    const { directory, clock } = this.services;
    const now = clock.now();
    const [next] = await directory.due(Number.MAX_SAFE_INTEGER, 1, { wake: now, agent: "\uffff" }).catch(() => []);
    const retries = [...this.#failing.values()].map(({ until }) => until).filter((until) => until > now);
    const at = Math.min(next?.wake ?? Number.POSITIVE_INFINITY, ...retries);
    if (Number.isFinite(at)) this.#arm(at - now);
  }

  #arm(delayMs: number): void {
    if (!this.#open || this.#draining) return;
    this.#alarm?.();
    this.#alarm = this.services.timers.after(Math.max(0, delayMs), () => {
      this.#alarm = null;
      this.wake();
    });
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.services.timers.after(ms, resolve);
    });
  }

  #emit(type: string, agent: AgentKey, payload: Record<string, string | number>): void {
    this.services.telemetry.emit({ type, agent, at: this.services.clock.now(), payload });
  }
}

function quarantined(key: AgentKey): PerdureError {
  return new PerdureError({
    code: "AGENT_QUARANTINED",
    message: `Agent "${key}" was loaded ${claimsMax} times and ended the process each time before it could be saved.`,
    next: "It is left alone for a while and tried again later; other agents are not affected.",
    retriable: true,
  });
}

function lost(key: AgentKey): PerdureError {
  return new PerdureError({
    code: "OWNER_LOST",
    message: `Agent "${key}" is held by another owner.`,
    next: "Nothing was accepted. Repeat the request: it is answered by the owner.",
    retriable: true,
  });
}
