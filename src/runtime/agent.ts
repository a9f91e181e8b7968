/**
 * Agent: one loaded agent. A serial event queue, one caller of decide, a pipeline of commits.
 *
 *   R1. Nothing is performed, shown or answered before the commit that ordered it has landed. Readers see landed state.
 *   R2. decide may run ahead of the store; a commit that is fenced, conflicting or refused ends this instance, its
 *       memory is never rolled back, and whoever waited finds the next instance.
 */
import { decide } from "../core/decide.ts";
import type { AgentEvent, Decision, Effect, Moment } from "../core/events.ts";
import { nothing } from "../core/evidence.ts";
import type { AgentKey } from "../core/ids.ts";
import type { Json } from "../core/json.ts";
import type { LedgerRow, OutboxRow } from "../core/records.ts";
import { type AgentState, nextDeadline, nextWake } from "../core/state.ts";
import type { Chunk } from "../core/transcript.ts";
import type { Behaviour } from "../ports/behaviour.ts";
import type { Services } from "../ports/services.ts";
import type { AgentCommit, CommitResult, MessageWrite } from "../ports/store.ts";
import { batchOf, type Memory } from "./batch.ts";
import { closed } from "./closed.ts";
import type { Committer } from "./committer.ts";
import type { Hub } from "./hub.ts";
import { type Caller, type Landed, noOrders, type Orders, Pipeline } from "./pipeline.ts";

/** An event as those who report it know it; the moment is added here. */
export type Fact = AgentEvent extends infer E ? (E extends { at: Moment } ? Omit<E, "at"> : never) : never;

export interface AgentParts {
  readonly key: AgentKey;
  readonly services: Services;
  readonly committer: Committer;
  readonly hub: Hub;
  readonly behaviour: Behaviour;
  readonly epoch: number;
  readonly seq: number;
  readonly state: AgentState;
  readonly memory: Memory;
  /** Performs an effect whose commit has landed. */
  perform(agent: Agent, effect: Effect): void;
  /** Notices that have landed. */
  deliver(agent: Agent, rows: readonly OutboxRow[]): void;
  /** This instance is over. */
  died(agent: Agent, result: CommitResult): void;
  /** Nothing is left to do here. */
  idle(agent: Agent): void;
}

/** Rows that no decision is needed for: evidence that came late, deliveries. */
export interface Note {
  readonly ledger?: readonly LedgerRow[];
  readonly outboxPut?: readonly OutboxRow[];
  readonly outboxDone?: readonly string[];
}

type Submitter = Caller & { readonly messages: readonly MessageWrite[] };

export class Agent {
  readonly key: AgentKey;
  readonly behaviour: Behaviour;
  readonly epoch: number;
  readonly memory: Memory;
  readonly #parts: AgentParts;
  readonly #pipeline: Pipeline;
  /** Ahead of the store. */
  #state: AgentState;
  #landed: AgentState;
  #alive = true;
  #retired = false;
  /** What the last decision took to land: no deadline runs while the store takes nothing (rule 10 of the house). */
  #lagMs = 0;
  #alarm: { readonly at: number; readonly cancel: () => void } | null = null;
  readonly #facts: { readonly fact: Fact; readonly caller: Submitter | null }[] = [];
  #deciding = false;

  constructor(parts: AgentParts) {
    this.#parts = parts;
    this.key = parts.key;
    this.behaviour = parts.behaviour;
    this.epoch = parts.epoch;
    this.memory = parts.memory;
    this.#state = parts.state;
    this.#landed = parts.state;
    const { key, epoch, seq, committer, services } = parts;
    this.#pipeline = new Pipeline({
      key,
      epoch,
      seq,
      committer,
      clock: services.clock,
      landed: (landed) => this.#onLanded(landed),
      failed: (result, orders) => this.#onFailed(result, orders),
    });
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** For those who act on what decide has said. */
  get state(): AgentState {
    return this.#state;
  }

  /** What everybody else may see. */
  get landed(): AgentState {
    return this.#landed;
  }

  /** No turn, no queue, nothing on its way. */
  get quiet(): boolean {
    return !this.#state.turn && this.#state.queue.length === 0 && this.#pipeline.empty;
  }

  /** Called once, after load: whoever ran it is gone. */
  begin(absentMs: number): void {
    this.report({ type: "claimed", absentMs });
    this.#arm();
  }

  /** Something happened. Decided at once, or after the event that is being decided. */
  report(fact: Fact): void {
    this.#facts.push({ fact, caller: null });
    this.#drain();
  }

  /** A command: resolves when its effect is durable. */
  submit(fact: Fact, messages: readonly MessageWrite[]): Promise<void> {
    if (this.#retired) return Promise.reject(closed());
    return new Promise((resolve, reject) => {
      this.#facts.push({ fact, caller: { messages, landed: resolve, failed: reject } });
      this.#drain();
    });
  }

  /** Hands over for good: a command that is still on its way in would start a turn that nobody hands over. */
  retire(): void {
    this.#retired = true;
    this.report({ type: "handed-over" });
  }

  /** Chunks of the turn in flight, from its model or its tools. */
  append(turn: string, chunks: readonly Chunk[]): void {
    const { log } = this.memory;
    if (!this.#alive || chunks.length === 0 || log?.turn !== turn || this.#state.turn?.id !== turn) return;
    const run = this.#state.turn.cuts.length;
    const elapsed = this.#parts.services.clock.elapsed();
    const first = log.next;
    for (const chunk of chunks) log.append(chunk, run, elapsed);
    this.#pipeline.addChunks(turn, first, chunks);
  }

  /** A tool's preliminary output: of those that wait for the store only the newest is kept. */
  appendNewest(turn: string, chunk: Chunk): void {
    if (!this.#pipeline.replaceLast(turn, chunk)) return this.append(turn, [chunk]);
    this.memory.log?.replaceLast(chunk, this.#state.turn?.cuts.length ?? 0);
  }

  /** Resolves when little enough waits for the store to read on. */
  flowing(): Promise<void> {
    return this.#pipeline.flowing();
  }

  note(rows: Note): void {
    if (this.#alive) this.#pipeline.add({ ...rows, state: this.#snapshot() }, { ...noOrders });
  }

  /** Ends this instance without a word to the store. */
  drop(): void {
    this.#alive = false;
    this.#alarm?.cancel();
    this.#alarm = null;
    this.#pipeline.close();
  }

  #drain(): void {
    if (this.#deciding) return;
    this.#deciding = true;
    try {
      for (let next = this.#facts.shift(); next; next = this.#facts.shift()) this.#decide(next.fact, next.caller);
    } finally {
      this.#deciding = false;
    }
  }

  #decide(fact: Fact, caller: Submitter | null): void {
    if (!this.#alive) return caller?.failed(new InstanceDead(this.key));
    const decision = decide(this.#state, { ...fact, at: this.#moment() } as AgentEvent);
    const changed = decision.state !== this.#state || decision.writes.length > 0 || caller !== null;
    this.#state = decision.state;
    if (changed) this.#commit(decision, caller);
    else for (const effect of decision.effects) this.#parts.perform(this, effect);
  }

  #commit(decision: Decision<AgentState>, caller: Submitter | null): void {
    const { state, effects, writes } = decision;
    const elapsed = this.#parts.services.clock.elapsed();
    const { notices } = this.behaviour.asks;
    const batch = batchOf(writes, { memory: this.memory, state, now: state.now, elapsed, notices });
    batch.messages.unshift(...(caller?.messages ?? []));
    const { events, ended, clear, ...rows } = batch;
    const fields: Partial<AgentCommit> = {
      ...nonEmpty(rows),
      ...(clear ? { clear } : {}),
      state: this.#snapshot(),
    };
    this.#pipeline.add(fields, { state, effects, events, ended, outbox: batch.outboxPut, caller });
    this.#arm();
  }

  #snapshot(): NonNullable<AgentCommit["state"]> {
    return { value: this.#state as unknown as Json, wake: nextWake(this.#state) };
  }

  #moment(): Moment {
    const { clock, ids } = this.#parts.services;
    const { log } = this.memory;
    const current = log && log.turn === this.#state.turn?.id ? log : null;
    return {
      now: clock.now(),
      jitter: ids.random(),
      offset: current?.next ?? 0,
      evidence: current?.evidence() ?? nothing,
      work: current?.work ?? 0,
      policy: this.behaviour.policy(),
      asks: this.behaviour.asks,
    };
  }

  #onLanded({ commit, orders }: Landed): void {
    const { hub, services } = this.#parts;
    if (orders.state) {
      this.#landed = orders.state;
      this.#lagMs = Math.max(0, services.clock.now() - commit.at);
      this.#arm();
    }
    if (commit.clear) hub.forget(this.key);
    for (const { turn, first, chunks } of commit.chunks ?? []) {
      const texts = chunks.map((chunk) => JSON.stringify(chunk));
      hub.landed(this.key, turn, first, texts);
    }
    for (const turn of orders.ended) hub.ended(this.key, turn);
    hub.notify(this.key);
    for (const event of orders.events) services.telemetry.emit({ ...event, agent: this.key, at: commit.at });
    orders.caller?.landed();
    if (!this.#alive) return;
    if (orders.outbox.length > 0) this.#parts.deliver(this, orders.outbox);
    for (const effect of orders.effects) this.#parts.perform(this, effect);
    if (this.quiet) this.#parts.idle(this);
  }

  #onFailed(result: CommitResult, orders: Orders): void {
    const first = this.#alive;
    this.drop();
    if (first) this.#parts.died(this, result);
    orders.caller?.failed(new InstanceDead(this.key));
  }

  /** The state's least deadline, as a timer: an early firing of what is in the state. */
  #arm(): void {
    const { clock, timers } = this.#parts.services;
    const deadline = nextDeadline(this.#state);
    // What waits for its landing has not begun: its time runs from there.
    const at = deadline === null || this.#state !== this.#landed ? null : deadline + this.#lagMs;
    if (this.#alarm?.at === at) return;
    this.#alarm?.cancel();
    this.#alarm = null;
    if (at === null || !this.#alive) return;
    const cancel = timers.after(Math.max(0, at - clock.now()), () => {
      this.#alarm = null;
      this.report({ type: "due" });
      if (this.#alive) this.#arm();
    });
    this.#alarm = { at, cancel };
  }
}

/** Whoever waited on a dead instance asks the next one. Never shown to users. */
export class InstanceDead extends Error {
  constructor(key: AgentKey) {
    super(`the instance of ${key} is over`);
  }
}

function nonEmpty<T extends object>(fields: T): Partial<T> {
  const kept = Object.entries(fields).filter(([, value]) => !Array.isArray(value) || value.length > 0);
  return Object.fromEntries(kept) as Partial<T>;
}
