/**
 * Mirror: what is durable, as the commits that landed say it; kept beside the store, from outside. Every landing is
 * checked when it happens. What is shown, answered or performed is compared with it.
 */
import { canonical } from "../../core/json.ts";
import { limits } from "../../core/limits.ts";
import type { LedgerRow, OutboxRow, Tombstone, TurnRow } from "../../core/records.ts";
import { type AgentState, nextDeadline, nextWake } from "../../core/state.ts";
import type { Chunk, StoredPart } from "../../core/transcript.ts";
import type { AgentCommit, MessageWrite } from "../../ports/store.ts";
import { type Complaint, Grammar } from "./grammar.ts";

export interface TurnMirror {
  row: TurnRow;
  /** The JSON text of each chunk. */
  readonly texts: string[];
  readonly chunks: Chunk[];
  readonly grammar: Grammar;
  readonly ledger: Map<number, LedgerRow>;
  /** In the world's own time. */
  startedMs: number;
  endedMs: number;
}

export interface MessageMirror {
  readonly role: string;
  readonly parts: StoredPart[];
  depth: number | null;
}

export interface AgentMirror {
  readonly key: string;
  /** The process whose commit landed last. */
  by: string;
  epoch: number;
  seq: number;
  state: AgentState | null;
  readonly turns: Map<string, TurnMirror>;
  readonly messages: Map<string, MessageMirror>;
  /** Ids of placed messages, by depth. */
  readonly placed: string[];
  readonly tombstones: Map<string, Tombstone>;
  readonly outbox: Map<string, OutboxRow>;
  /** Turns in the order of their acceptance. */
  readonly order: string[];
}

export class Mirror {
  readonly agents = new Map<string, AgentMirror>();
  /** States that are durable: whatever a reader is told comes from one of these. */
  readonly durable = new WeakSet<object>();
  readonly #complain: Complaint;
  readonly #now: () => number;
  readonly #onState: (agent: AgentMirror, before: AgentState | null) => void;

  constructor(
    complain: Complaint,
    now: () => number,
    onState: (agent: AgentMirror, before: AgentState | null) => void,
  ) {
    this.#complain = complain;
    this.#now = now;
    this.#onState = onState;
  }

  agent(key: string): AgentMirror {
    const known = this.agents.get(key);
    if (known) return known;
    const fresh: AgentMirror = {
      key,
      by: "",
      epoch: 0,
      seq: 0,
      state: null,
      turns: new Map(),
      messages: new Map(),
      placed: [],
      tombstones: new Map(),
      outbox: new Map(),
      order: [],
    };
    this.agents.set(key, fresh);
    return fresh;
  }

  turn(key: string, id: string): TurnMirror | undefined {
    return this.agents.get(key)?.turns.get(id);
  }

  /** A commit has landed, or has landed before. */
  landed(item: AgentCommit, by: string): void {
    const agent = this.agent(item.agent);
    if (item.seq <= agent.seq && item.epoch === agent.epoch) return;
    if (item.seq !== agent.seq + 1) this.#complain("ST1", `${agent.key} landed seq ${item.seq} on ${agent.seq}`);
    if (item.epoch !== agent.epoch) this.#adopted(agent, item);
    agent.epoch = item.epoch;
    agent.by = by;
    agent.seq = item.seq;
    const before = agent.state;
    for (const row of item.turns ?? []) this.#turnRow(agent, row);
    for (const { turn, first, chunks } of item.chunks ?? []) this.#append(agent, turn, first, chunks);
    for (const write of item.messages ?? []) this.#message(agent, write);
    for (const row of item.ledger ?? []) this.#ledger(agent, row);
    for (const stone of item.consumed ?? []) agent.tombstones.set(stone.id, stone);
    for (const row of item.outboxPut ?? []) agent.outbox.set(row.id, row);
    for (const id of item.outboxDone ?? []) agent.outbox.delete(id);
    if (item.state) this.#state(agent, item, before);
    this.#whole(agent, item);
  }

  /** What a new owner says first of a turn in flight: that it goes on with it (I7). */
  #adopted(agent: AgentMirror, item: AgentCommit): void {
    const before = agent.state?.turn;
    const after = (item.state?.value as unknown as AgentState | undefined)?.turn;
    if (!before || after?.id !== before.id || after.attempt > before.attempt) return;
    const { kind } = before.phase;
    if (kind === "running" || kind === "calling" || kind === "equipping" || kind === "handed-over") {
      this.#complain("I7", `a new owner of ${agent.key} leaves turn ${before.id} as it was: ${kind}`);
    }
  }

  #state(agent: AgentMirror, item: AgentCommit, before: AgentState | null): void {
    const state = item.state?.value as unknown as AgentState;
    agent.state = state;
    this.durable.add(state);
    if (before && state.now < before.now) this.#complain("I6", `time of ${agent.key} went back`);
    if (item.seq % 8 === 0 && JSON.stringify(state).length > limits.stateBytesMax)
      this.#complain("L1", `the state of ${agent.key} is too large`);
    if (item.state?.wake !== nextWake(state))
      this.#complain("ST5", `the wake of ${agent.key} is not what its state asks for`);
    if (state.turn && nextWake(state) === null)
      this.#complain("I8", `${agent.key} has a turn in flight and no wake: ${state.turn.phase.kind}`);
    if (state.turn && state.turn.phase.kind !== "handed-over" && nextDeadline(state) === null) {
      this.#complain("I8", `${agent.key} waits for something that has no deadline: ${state.turn.phase.kind}`);
    }
    if (!state.turn && state.queue.length > 0) this.#complain("T3", `${agent.key} is idle with a queue`);
    if (before !== state) this.#onState(agent, before);
  }

  #turnRow(agent: AgentMirror, row: TurnRow): void {
    const known = agent.turns.get(row.id);
    if (!known) {
      const complain = this.#complain;
      agent.turns.set(row.id, {
        row,
        texts: [],
        chunks: [],
        grammar: new Grammar(row.id, complain),
        ledger: new Map(),
        startedMs: this.#now(),
        endedMs: Number.POSITIVE_INFINITY,
      });
      agent.order.push(row.id);
      return;
    }
    const rank = { queued: 0, running: 1, settled: 2 } as const;
    if (known.row.status === "settled") this.#complain("T1", `turn ${row.id} was settled and is written again`);
    if (rank[row.status] < rank[known.row.status])
      this.#complain("T1", `turn ${row.id} went from ${known.row.status} to ${row.status}`);
    if (known.row.status !== "queued" && row.messageId !== known.row.messageId)
      this.#complain("T2", `turn ${row.id} changed its message`);
    known.row = row;
    if (row.status === "running") known.startedMs = this.#now();
    if (row.status === "settled") known.endedMs = this.#now();
  }

  #append(agent: AgentMirror, turn: string, first: number, chunks: readonly Chunk[]): void {
    const known = agent.turns.get(turn);
    if (!known) return this.#complain("T4", `chunks of an unknown turn ${turn}`);
    if (first !== known.texts.length)
      this.#complain("T4", `the log of ${turn} has ${known.texts.length} chunks and goes on at ${first}`);
    for (const chunk of chunks) {
      const text = JSON.stringify(chunk);
      known.texts.push(text);
      known.chunks.push(chunk);
      known.grammar.take(chunk);
    }
  }

  #message(agent: AgentMirror, write: MessageWrite): void {
    const known = agent.messages.get(write.op === "put" ? write.message.id : write.id);
    switch (write.op) {
      case "put":
        agent.messages.set(write.message.id, { role: write.message.role, parts: [...write.parts], depth: write.depth });
        return;
      case "place":
        if (known) known.depth = write.depth;
        if (agent.placed.length !== write.depth)
          this.#complain("T12", `message ${write.id} is placed at ${write.depth} of ${agent.placed.length}`);
        agent.placed.push(write.id);
        return;
      case "parts":
        known?.parts.push(...write.parts);
        return;
      case "replace":
        known?.parts.splice(0, known.parts.length, ...write.parts);
        return;
      case "drop":
        agent.messages.delete(write.id);
    }
  }

  #ledger(agent: AgentMirror, row: LedgerRow): void {
    const turn = agent.turns.get(row.turn);
    if (!turn) return this.#complain("C4", `a call of an unknown turn ${row.turn}`);
    const known = turn.ledger.get(row.ordinal);
    if (!known && row.ordinal !== turn.ledger.size)
      this.#complain("C4", `call ${row.turn}#${row.ordinal} is not the next one`);
    if (known) this.#ledgerStep(known, row);
    turn.ledger.set(row.ordinal, row);
  }

  #ledgerStep(known: LedgerRow, row: LedgerRow): void {
    const name = `call ${row.turn}#${row.ordinal}`;
    const { late: _a, ...before } = known;
    const { late: _b, ...after } = row;
    const ended = known.state === "settled" || known.state === "unknown";
    if (ended && canonical(before) !== canonical(after))
      this.#complain("C7", `${name} had ended as ${known.state} and is ${row.state}`);
    if (known.key !== row.key) this.#complain("C6", `${name} changed its key`);
    if (known.label !== row.label || known.tool !== row.tool) this.#complain("C4", `${name} became another call`);
    if (row.runs < known.runs) this.#complain("C6", `${name} forgot a run`);
    if (row.state === "started" && row.runs > 1 && row.policy === "report")
      this.#complain("C6", `${name} is run again, and its tool is to be reported`);
  }

  /** The end of a turn is one commit (T3). */
  #whole(agent: AgentMirror, item: AgentCommit): void {
    for (const row of item.turns ?? []) {
      if (row.status !== "settled") continue;
      const turn = agent.turns.get(row.id);
      if (!turn?.grammar.ended) this.#complain("T3", `turn ${row.id} is settled and its log has no end`);
      if (agent.state?.turn?.id === row.id) this.#complain("T3", `turn ${row.id} is settled and in flight`);
      for (const call of turn?.ledger.values() ?? []) {
        if (call.state === "announced" || call.state === "started")
          this.#complain("T5", `turn ${row.id} ended before its call ${call.ordinal}`);
      }
    }
    for (const { turn } of item.chunks ?? []) {
      const known = agent.turns.get(turn);
      if (known?.grammar.ended && known.row.status !== "settled")
        this.#complain("T3", `the log of ${turn} has ended and its row has not`);
    }
  }
}
