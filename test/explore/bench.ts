/**
 * Bench: one agent's machine with a shell so thin that nothing else can be at fault. It folds writes as the runtime does
 * (`batchOf`, `TurnLog`), keeps what a store would keep, and keeps every effect that was ordered until it is answered.
 * A commit lands at once; a death forgets all but the store. Forked, never shared: exploration walks a tree of them.
 */
import { type Assembly, newAssembly } from "../../src/core/assembly.ts";
import { decide } from "../../src/core/decide.ts";
import type { AgentEvent, Decision, Effect, Moment } from "../../src/core/events.ts";
import { nothing } from "../../src/core/evidence.ts";
import { defaultPolicy, type RecoveryPolicy } from "../../src/core/policy.ts";
import type { LedgerRow, Tombstone, TurnRow } from "../../src/core/records.ts";
import { type AgentState, blank } from "../../src/core/state.ts";
import type { Chunk, StoredPart } from "../../src/core/transcript.ts";
import type { NoticeKind } from "../../src/ports/behaviour.ts";
import type { Fact } from "../../src/runtime/agent.ts";
import { type Batch, batchOf, type Memory } from "../../src/runtime/batch.ts";
import { TurnLog } from "../../src/runtime/turn-log.ts";
import { copyRun, type Run } from "./model.ts";

export interface Tool {
  readonly policy: "report" | "retry" | "reconcile";
  readonly executable: boolean;
}

export interface Config {
  readonly asks: Moment["asks"];
  readonly policy: RecoveryPolicy;
  readonly tools: { readonly [name: string]: Tool };
  readonly prefill: boolean;
  readonly maxSteps: number;
  readonly origin: string;
}

export const plainConfig: Config = {
  asks: { recovery: false, beforeTool: false, error: false },
  policy: defaultPolicy,
  tools: {
    pay: { policy: "report", executable: true },
    get: { policy: "retry", executable: true },
    ship: { policy: "reconcile", executable: true },
    view: { policy: "report", executable: false },
  },
  prefill: false,
  maxSteps: 10,
  origin: "mock:m",
};

/** What a store would hold. */
export interface Disk {
  state: AgentState;
  readonly logs: Map<string, readonly Chunk[]>;
  readonly turns: Map<string, TurnRow>;
  readonly ledger: Map<string, LedgerRow>;
  /** Rows of parts by message, and the conversation's order. */
  readonly parts: Map<string, { readonly index: number; readonly parts: readonly StoredPart[] }[]>;
  readonly placed: Map<string, number>;
  readonly notices: string[];
  readonly done: Tombstone[];
}

/** One decision and all that it came to. */
export interface Taken {
  readonly event: AgentEvent;
  readonly before: AgentState;
  readonly decision: Decision<AgentState>;
  readonly batch: Batch;
}

const notices: ReadonlySet<NoticeKind> = new Set(["response", "step", "tool"] as const);
export const birth = 1_000_000;

export class Bench {
  readonly config: Config;
  now = birth;
  jitter = 0;
  state: AgentState = blank;
  memory: Memory = { log: null, rows: new Map(), ledger: new Map() };
  disk: Disk = newDisk();
  /** Ordered and not answered yet, by this process. */
  owed: Effect[] = [];
  /** The answers that the model is giving, by effect id. */
  runs = new Map<string, Run>();
  /** The process has handed over: it performs nothing new. */
  draining = false;
  #elapsed = 0;
  /** Looks at every decision. */
  watch: (bench: Bench, taken: Taken) => void = () => {};

  constructor(config: Partial<Config> = {}) {
    this.config = { ...plainConfig, ...config };
  }

  fork(): Bench {
    const copy = new Bench(this.config);
    const { now, jitter, state, draining } = this;
    Object.assign(copy, { now, jitter, state, draining, owed: [...this.owed], watch: this.watch });
    copy.#elapsed = this.#elapsed;
    copy.memory = {
      log: copyLog(this.memory.log),
      rows: new Map(this.memory.rows),
      ledger: new Map(this.memory.ledger),
    };
    copy.disk = copyDisk(this.disk);
    for (const [effect, run] of this.runs) copy.runs.set(effect, copyRun(run));
    return copy;
  }

  get turn(): NonNullable<AgentState["turn"]> {
    if (!this.state.turn) throw new Error("no turn is in flight");
    return this.state.turn;
  }

  get log(): TurnLog {
    if (!this.memory.log) throw new Error("no turn has a log");
    return this.memory.log;
  }

  moment(): Moment {
    const { log } = this.memory;
    const current = log && log.turn === this.state.turn?.id ? log : null;
    return {
      now: this.now,
      jitter: this.jitter,
      offset: current?.next ?? 0,
      evidence: current?.evidence() ?? nothing,
      work: current?.work ?? 0,
      policy: this.config.policy,
      asks: this.config.asks,
    };
  }

  /** One event: decided, folded, landed. */
  take(fact: Fact): Decision<AgentState> {
    const before = this.state;
    const event = { ...fact, at: this.moment() } as AgentEvent;
    const decision = decide(before, event);
    this.state = decision.state;
    const context = { memory: this.memory, state: decision.state, now: this.now, elapsed: this.#tick(), notices };
    const batch = batchOf(decision.writes, context);
    land(this.disk, batch, decision.state);
    this.watch(this, { event, before, decision, batch });
    for (const effect of decision.effects) this.#owe(effect);
    return decision;
  }

  /** Chunks of the model or of a tool. */
  append(chunks: readonly Chunk[]): void {
    const { log, disk } = this;
    disk.logs.set(log.turn, [...(disk.logs.get(log.turn) ?? []), ...chunks]);
    for (const chunk of chunks) log.append(chunk, this.turn.cuts.length, this.#tick());
  }

  /** The process dies and another claims the agent. What was owed is forgotten; the store is not. */
  die(absentMs = 1_000): Decision<AgentState> {
    this.now += absentMs;
    this.owed = [];
    this.runs = new Map();
    this.draining = false;
    this.state = JSON.parse(JSON.stringify(this.disk.state)) as AgentState;
    this.memory = reload(this.disk, this.state);
    return this.take({ type: "claimed", absentMs });
  }

  handOver(): Decision<AgentState> {
    this.draining = true;
    return this.take({ type: "handed-over" });
  }

  #owe(effect: Effect): void {
    if (effect.type === "abort" || (this.draining && effect.type !== "map-error")) return;
    this.owed.push(effect);
  }

  /** Every delta is five seconds after the one before: the counting of work does not depend on what was forgotten. */
  #tick(): number {
    this.#elapsed += 10_000;
    return this.#elapsed;
  }
}

function newDisk(): Disk {
  const maps = { logs: new Map(), turns: new Map(), ledger: new Map(), parts: new Map(), placed: new Map() };
  return { state: blank, ...maps, notices: [], done: [] };
}

function copyDisk(disk: Disk): Disk {
  return {
    state: disk.state,
    logs: new Map(disk.logs),
    turns: new Map(disk.turns),
    ledger: new Map(disk.ledger),
    parts: new Map(disk.parts),
    placed: new Map(disk.placed),
    notices: [...disk.notices],
    done: [...disk.done],
  };
}

function copyLog(log: TurnLog | null): TurnLog | null {
  if (!log) return null;
  const copy = new TurnLog(log.turn);
  const { next, placed, work } = log;
  return Object.assign(copy, { next, placed, work, assembly: copyAssembly(log.assembly), closed: [...log.closed] });
}

function copyAssembly({ parts, open, labels, opened }: Assembly): Assembly {
  const copies = new Map(parts.map((live) => [live, { ...live, part: { ...live.part } }]));
  const stillOpen = [...open].map(([slot, live]) => [slot, copies.get(live)!] as const);
  return { parts: [...copies.values()], open: new Map(stillOpen), labels: new Set(labels), opened };
}

function land(disk: Disk, batch: Batch, state: AgentState): void {
  disk.state = state;
  if (batch.clear) {
    for (const [id, row] of disk.turns) if (row.status === "settled") disk.logs.delete(id);
    disk.parts.clear();
    disk.placed.clear();
  }
  for (const { turn, first, chunks } of batch.chunks) {
    const log = disk.logs.get(turn) ?? [];
    if (first !== log.length) throw new Error(`chunks of ${turn} land at ${first} of ${log.length}`);
    disk.logs.set(turn, [...log, ...chunks]);
  }
  for (const message of batch.messages) landMessage(disk, message);
  for (const row of batch.turns) disk.turns.set(row.id, row);
  for (const row of batch.ledger) disk.ledger.set(`${row.turn}#${row.ordinal}`, row);
  disk.notices.push(...batch.outboxPut.map(({ id }) => id));
  disk.done.push(...batch.consumed);
}

function landMessage(disk: Disk, message: Batch["messages"][number]): void {
  switch (message.op) {
    case "place":
      if (disk.placed.has(message.id)) throw new Error(`${message.id} is placed twice`);
      disk.placed.set(message.id, message.depth);
      return;
    case "parts": {
      const rows = disk.parts.get(message.id) ?? [];
      if (message.index <= (rows.at(-1)?.index ?? -1))
        throw new Error(`row ${message.index} of ${message.id} is there`);
      disk.parts.set(message.id, [...rows, { index: message.index, parts: message.parts }]);
      return;
    }
    case "put":
    case "replace":
    case "drop":
      return;
  }
}

/** As `loadAgent` does it. */
function reload(disk: Disk, state: AgentState): Memory {
  const memory: Memory = { log: null, rows: new Map(), ledger: new Map() };
  for (const [id, row] of disk.turns) if (row.status !== "settled") memory.rows.set(id, row);
  const { turn } = state;
  if (!turn) return memory;
  const log = new TurnLog(turn.id);
  log.next = turn.stepFrom;
  log.assembly = newAssembly();
  disk.logs.get(turn.id)?.forEach((chunk, offset) => {
    if (offset >= turn.stepFrom) log.restore(chunk, offset, turn);
  });
  const rows = disk.parts.get(turn.messageId);
  log.placed = rows !== undefined;
  log.closed.push(...(rows ?? []).flatMap(({ parts }) => parts));
  memory.log = log;
  for (const [id, row] of disk.ledger) if (row.turn === turn.id) memory.ledger.set(id, row);
  return memory;
}
