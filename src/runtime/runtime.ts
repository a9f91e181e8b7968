/**
 * Runtime: the agents of one process. Claims and loads them, lets go of those that are quiet, and hands over when the
 * process ends in order.
 *
 *   K4. A hand-over cuts model streams at once, lets started tools finish within the grace, and spends no attempt.
 *   K5. A quiet agent leaves memory, and is found again by what comes next.
 */
import { PerdureError } from "../core/errors.ts";
import type { AgentKey } from "../core/ids.ts";
import type { Services } from "../ports/services.ts";
import { type CommitResult, claimsMax } from "../ports/store.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import { Agent } from "./agent.ts";
import { closed } from "./closed.ts";
import { Committer } from "./committer.ts";
import { Hub } from "./hub.ts";
import { consume } from "./inbox.ts";
import { loadAgent } from "./load.ts";
import { Notices } from "./notices.ts";
import { Performer } from "./perform.ts";
import { Retention } from "./retention.ts";
import { Waker } from "./waker.ts";
import { within } from "./within.ts";

export interface RuntimeOptions {
  /** Agents that may be loaded for recovery at once. Default 32. */
  readonly recoveriesMax?: number;
  /** A quiet agent leaves memory after this, in milliseconds. Default 30 000. */
  readonly idleMs?: number;
  /** The chunks of a settled turn can be read for this long, in milliseconds; then its final message is shown. Default one hour. */
  readonly chunksMs?: number;
  /** Another owner has taken the store: nothing can be done here any more. */
  readonly onLost?: () => void;
}

/** What `onStart` may take. */
const startMs = 30_000;

export class Runtime {
  readonly services: Services;
  readonly hub = new Hub();
  readonly committer: Committer;
  readonly #options: RuntimeOptions;
  readonly #performer: Performer;
  readonly #notices: Notices;
  readonly #waker: Waker;
  readonly #retention: Retention;
  readonly #loading = new Map<AgentKey, Promise<Agent>>();
  readonly #live = new Map<AgentKey, Agent>();
  readonly #idle = new Map<Agent, () => void>();
  #phase: "new" | "open" | "draining" | "closed" = "new";

  constructor(given: Services, options: RuntimeOptions = {}) {
    const services = { ...given, telemetry: harmless(given.telemetry) };
    this.services = services;
    this.#options = options;
    this.committer = new Committer(services.store, services.clock, services.timers);
    this.#performer = new Performer(services);
    this.#notices = new Notices(services);
    this.#retention = new Retention(services, options.chunksMs);
    this.#waker = new Waker({
      services,
      recoveriesMax: options.recoveriesMax ?? 32,
      known: (key) => this.#loading.has(key),
      load: (key) => this.agent(key),
      lost: () => this.#onLost(),
    });
  }

  /** The store is open and this process owns it. Starts what is due, without waiting for it. */
  start(): void {
    this.#phase = "open";
    this.#waker.wake();
    this.#retention.start();
  }

  get ready(): boolean {
    return this.#phase === "open" && this.committer.available;
  }

  /** New work is taken. */
  get open(): boolean {
    return this.#phase === "open";
  }

  /** The agent, loaded. Rejects with the error that keeps it from being loaded. */
  agent(key: AgentKey): Promise<Agent> {
    if (!this.open) return Promise.reject(closed());
    const known = this.#loading.get(key);
    if (known) return known;
    const refusal = this.#waker.refusal(key);
    if (refusal !== undefined) return Promise.reject(refusal);
    const loading = this.#load(key);
    this.#loading.set(key, loading);
    loading.catch((error: unknown) => {
      this.#loading.delete(key);
      this.#onUnloadable(key, error);
    });
    return loading;
  }

  /** The agent, if it is in memory. */
  loaded(key: AgentKey): Agent | null {
    return this.#live.get(key) ?? null;
  }

  /** See K4. Resolves when nothing runs and all that was said is durable, at the latest after the grace. */
  async handOver(graceMs: number): Promise<void> {
    if (this.#phase !== "open") return;
    this.#phase = "draining";
    this.#performer.draining = true;
    this.#waker.close();
    this.#retention.close();
    const { timers, clock } = this.services;
    const until = clock.elapsed() + graceMs;
    for (const agent of this.#live.values()) {
      if (agent.state.turn?.phase.kind !== "calling") agent.report({ type: "handed-over" });
    }
    await within(timers, graceMs, this.#finished());
    for (const agent of this.#live.values()) agent.retire();
    // A load that is on its way gives its claim back: else an orderly end would count towards the quarantine.
    const quiet = Promise.all([this.committer.drained(), Promise.allSettled(this.#loading.values())]);
    await within(timers, Math.max(until - clock.elapsed(), 100), quiet);
    this.hub.close();
    for (const agent of [...this.#live.values()]) await this.#letGo(agent);
    this.#phase = "closed";
  }

  /** Resolves when nothing is left that may still finish: starts that are on their way included. */
  async #finished(): Promise<void> {
    await Promise.allSettled(this.#loading.values());
    do {
      await this.committer.drained();
      await Promise.allSettled([...this.#performer.running, ...this.#notices.running]);
    } while (this.#performer.running.size + this.#notices.running.size > 0);
  }

  /** Ends at once, without a word: what a death leaves. */
  abandon(): void {
    this.#phase = "closed";
    this.#waker.close();
    this.#retention.close();
    this.hub.close();
    for (const agent of [...this.#live.values()]) {
      agent.drop();
      this.#forget(agent, "the runtime was abandoned");
    }
  }

  async #load(key: AgentKey): Promise<Agent> {
    const { services } = this;
    const behaviour = services.behaviour(key);
    const claim = await services.store.claim(key, services.clock.now());
    if (claim.kind === "quarantined") throw quarantined(key);
    if (claim.kind === "held") throw held(key);
    const { epoch, seq } = claim.head;
    const { state, memory, inbox, outbox, at } = await loadAgent(services.store, key).catch(async (error: unknown) => {
      // What cannot be read has killed nobody: its claim must not count towards the quarantine.
      await services.store.release(key, epoch).catch(() => false);
      throw error;
    });
    // A hook of the user's that fails or hangs must not keep an agent from being answered.
    const started = this.open && (await within(services.timers, startMs, behaviour.start()).catch(() => undefined));
    if (!this.open) {
      await services.store.release(key, epoch).catch(() => false);
      throw closed();
    }
    const agent = this.#bring(key, { behaviour, epoch, seq, state, memory });
    if (started === undefined) this.#emit("chat:onstart:degraded", key, {});
    agent.begin(Math.max(0, services.clock.now() - Math.max(at, state.now)));
    void consume(agent, inbox, services);
    if (outbox.length > 0) this.#notices.deliver(agent, outbox);
    if (agent.quiet) this.#onIdle(agent);
    return agent;
  }

  #bring(
    key: AgentKey,
    loaded: Pick<ConstructorParameters<typeof Agent>[0], "behaviour" | "epoch" | "seq" | "state" | "memory">,
  ): Agent {
    const { services, committer, hub } = this;
    const agent = new Agent({
      ...loaded,
      key,
      services,
      committer,
      hub,
      perform: (self, effect) => this.#performer.perform(self, effect),
      deliver: (self, rows) => this.#notices.deliver(self, rows),
      died: (self, result) => this.#onDeath(self, result),
      idle: (self) => this.#onIdle(self),
    });
    this.#live.set(key, agent);
    this.#waker.succeeded(key);
    return agent;
  }

  #onUnloadable(key: AgentKey, error: unknown): void {
    if (PerdureError.is(error, "AGENT_NOT_FOUND") || PerdureError.is(error, "HOST_CLOSED")) return;
    if (PerdureError.is(error, "OWNER_LOST")) return this.#onLost();
    const times = this.#waker.failed(key, error);
    this.#emit("agent:unloadable", key, { times, code: PerdureError.is(error) ? error.code : "UNKNOWN" });
  }

  /** The store belongs to another owner: what this one still does changes nothing (O4). */
  #onLost(): void {
    if (this.#phase === "closed") return;
    this.#emit("host:owner-lost", "", {});
    this.abandon();
    this.#options.onLost?.();
  }

  /** The instance is over; what it was owed is found by the next one. */
  #onDeath(agent: Agent, result: CommitResult): void {
    this.#forget(agent, `the agent's instance ended: ${result.kind}`);
    this.#emit("agent:instance-died", agent.key, { result: result.kind });
    this.hub.forget(agent.key);
    this.hub.notify(agent.key);
    this.#waker.wake();
  }

  #forget(agent: Agent, reason: string): void {
    this.#live.delete(agent.key);
    this.#loading.delete(agent.key);
    this.#idle.get(agent)?.();
    this.#idle.delete(agent);
    this.#performer.release(agent, reason);
  }

  #onIdle(agent: Agent): void {
    this.#idle.get(agent)?.();
    const cancel = this.services.timers.after(this.#options.idleMs ?? 30_000, () => {
      this.#idle.delete(agent);
      if (this.#live.get(agent.key) === agent && agent.quiet && !this.#notices.pending(agent)) void this.#letGo(agent);
    });
    this.#idle.set(agent, cancel);
  }

  async #letGo(agent: Agent): Promise<void> {
    this.#forget(agent, "the agent left memory");
    agent.drop();
    this.hub.forget(agent.key);
    await this.services.store.release(agent.key, agent.epoch).catch(() => false);
  }

  #emit(type: string, agent: AgentKey, payload: Record<string, string | number>): void {
    this.services.telemetry.emit({ type, agent, at: this.services.clock.now(), payload });
  }
}

/** Whoever listens is a guest: what goes wrong there is not ours, and must not stop what was about to be done. */
function harmless(telemetry: Telemetry): Telemetry {
  return {
    emit(event) {
      try {
        telemetry.emit(event);
      } catch {
        // Nobody is left to be told.
      }
    },
  };
}

function quarantined(key: AgentKey): PerdureError {
  return new PerdureError({
    code: "AGENT_QUARANTINED",
    message: `Agent "${key}" was loaded ${claimsMax} times and ended the process each time before it could be saved.`,
    next: "It is left alone for a while and tried again later; other agents are not affected.",
    retriable: true,
  });
}

function held(key: AgentKey): PerdureError {
  return new PerdureError({
    code: "OWNER_ALIVE",
    message: `Agent "${key}" is held by another live owner.`,
    next: "Nothing was accepted. Repeat the request: it is answered by the owner.",
    retriable: true,
  });
}
