/**
 * MemoryStore: the reference of both ports, and the simulator's store. Its durability is that of its `MemoryDisk`:
 * a new store on the same disk, opened without closing the old one, is what a process finds after a kill.
 */
import { assert } from "../../core/assert.ts";
import type { AgentKey } from "../../core/ids.ts";
import type { Json } from "../../core/json.ts";
import type { Command, LedgerRow, OutboxRow, PlacedMessage, Tombstone, TurnRow } from "../../core/records.ts";
import type { StoredMessage } from "../../core/transcript.ts";
import type { Accepted, Directory, Due } from "../../ports/directory.ts";
import type { AgentCommit, Claim, CommitResult, Head, Loaded } from "../../ports/store.ts";
import { claimsMax, type OwnerLabel, type RetentionLimits, type SegmentPage, type Store } from "../../ports/store.ts";
import { commitItem, setAside } from "./apply.ts";
import { type AgentRecord, compareKeys, MemoryDisk, newRecord } from "./disk.ts";
import { damagedState, diskFull, notOpen, ownerLost } from "./errors.ts";
import { decode } from "./journal.ts";
import { chunkPage, dumpRecord, ledgerRows, messageOf, messagePage, recentPage } from "./read.ts";
import { retainSlice } from "./retain.ts";
import { Watchers } from "./watchers.ts";

export { MemoryDisk } from "./disk.ts";

export class MemoryStore implements Store, Directory {
  readonly disk: MemoryDisk;
  readonly #watchers = new Watchers();
  /** 0: not opened, or closed. */
  #generation = 0;

  /** @param disk the data to work on; a fresh and empty disk by default. */
  constructor(disk: MemoryDisk = new MemoryDisk()) {
    this.disk = disk;
  }

  /** Takes the disk, whoever holds it: an older session on it is dead from here on, as after a kill. Never refused. */
  async open(_owner: OwnerLabel): Promise<void> {
    this.disk.generation += 1;
    this.#generation = this.disk.generation;
  }

  async claim(agent: AgentKey, at: number): Promise<Claim> {
    this.#writable();
    const record = this.disk.agents.get(agent) ?? newRecord(this.disk.epochFloor, null, at);
    this.disk.agents.set(agent, record);
    const quarantined = record.head.claims >= claimsMax;
    const claims = quarantined ? record.head.claims : record.head.claims + 1;
    record.head = { ...record.head, epoch: record.head.epoch + 1, base: record.head.seq, claims };
    return { kind: quarantined ? "quarantined" : "claimed", head: headOf(agent, record) };
  }

  async load(agent: AgentKey): Promise<Loaded> {
    const record = this.#record(agent);
    assert(record !== undefined, `load of ${agent} before its claim`);
    setAside(record);
    return {
      head: headOf(agent, record),
      state: stateOf(agent, record),
      inbox: [...record.inbox.values()].flatMap((row) => decode<Command>(row.text) ?? []),
      outbox: [...record.outbox.values()].flatMap((row) => decode<OutboxRow>(row.text) ?? []),
    };
  }

  async commit(batch: readonly AgentCommit[]): Promise<readonly CommitResult[]> {
    if (this.#generation === 0) throw notOpen();
    if (this.#lost()) return batch.map(() => ({ kind: "fenced" }));
    if (this.disk.full) return batch.map(() => ({ kind: "unavailable", code: "DISK_FULL" }));
    const results = batch.map((item) => commitItem(this.disk.agents.get(item.agent), item));
    batch.forEach((item, i) => {
      if (results[i]?.kind === "landed") this.#watchers.notify(item.agent);
    });
    return results;
  }

  async release(agent: AgentKey, epoch: number): Promise<boolean> {
    this.#writable();
    const record = this.disk.agents.get(agent);
    if (record === undefined || record.head.epoch !== epoch || record.inbox.size > 0) return false;
    // The epoch is spent with it, so that a commit that comes after is fenced.
    record.head = { ...record.head, epoch: epoch + 1, base: record.head.seq, claims: 0 };
    return true;
  }

  async chunks(agent: AgentKey, turn: string, from: number, bytesMax: number): Promise<SegmentPage> {
    return chunkPage(this.#record(agent), turn, from, bytesMax);
  }

  async messages(agent: AgentKey, after: number, countMax: number): Promise<readonly PlacedMessage[]> {
    return messagePage(this.#record(agent), after, countMax);
  }

  async recent(agent: AgentKey, before: number | null, bytesMax: number): Promise<readonly PlacedMessage[]> {
    return recentPage(this.#record(agent), before, bytesMax);
  }

  async message(agent: AgentKey, id: string): Promise<StoredMessage | null> {
    const row = this.#record(agent)?.messages.get(id);
    return row === undefined ? null : messageOf(row);
  }

  async turn(agent: AgentKey, id: string): Promise<TurnRow | null> {
    const row = this.#record(agent)?.turns.get(id);
    return row === undefined ? null : (decode<TurnRow>(row.text) ?? null);
  }

  async tombstone(agent: AgentKey, id: string): Promise<Tombstone | null> {
    const row = this.#record(agent)?.tombstones.get(id);
    return row === undefined ? null : { id, hash: row.hash, turn: row.turn, at: row.at };
  }

  async ledger(agent: AgentKey, turn: string): Promise<readonly LedgerRow[]> {
    return ledgerRows(this.#record(agent)?.ledger.get(turn));
  }

  async retain(now: number, limits: RetentionLimits): Promise<boolean> {
    this.#writable();
    return retainSlice(this.disk, now, limits);
  }

  async destroy(agent: AgentKey): Promise<void> {
    this.#writable();
    const record = this.disk.agents.get(agent);
    if (record === undefined) return;
    this.disk.epochFloor = Math.max(this.disk.epochFloor, record.head.epoch + 1);
    this.disk.agents.delete(agent);
    this.#watchers.notify(agent);
  }

  async close(): Promise<void> {
    this.#generation = 0;
    this.#watchers.clear();
  }

  async enqueue(agent: AgentKey, command: Command): Promise<Accepted> {
    this.#writable();
    const text = JSON.stringify(command);
    const record = this.disk.agents.get(agent) ?? newRecord(this.disk.epochFloor, 0, command.at);
    const known = record.inbox.get(command.id) ?? record.tombstones.get(command.id);
    if (known !== undefined) {
      return known.hash === command.hash ? { kind: "duplicate", turn: known.turn } : { kind: "conflict" };
    }
    const turn = command.kind === "submit" || command.kind === "continue" ? command.turn : null;
    record.inbox.set(command.id, { hash: command.hash, turn, text });
    record.head = { ...record.head, wake: 0 };
    this.disk.agents.set(agent, record);
    this.#watchers.notify(agent);
    return { kind: "accepted" };
  }

  async due(now: number, countMax: number, after?: Due): Promise<readonly Due[]> {
    this.#standing();
    const order = (a: Due, b: Due): number => a.wake - b.wake || compareKeys(a.agent, b.agent);
    const all = [...this.disk.agents].flatMap(([agent, { head }]) => {
      return head.wake !== null && head.wake <= now ? [{ agent, wake: head.wake }] : [];
    });
    const left = after === undefined ? all : all.filter((due) => order(due, after) > 0);
    return left.sort(order).slice(0, countMax);
  }

  watch(agent: AgentKey, listener: () => void): () => void {
    return this.#watchers.add(agent, listener);
  }

  async head(agent: AgentKey): Promise<Head | null> {
    const record = this.#record(agent);
    return record === undefined ? null : headOf(agent, record);
  }

  async peek(agent: AgentKey): Promise<Json> {
    const record = this.#record(agent);
    return record === undefined ? null : stateOf(agent, record);
  }

  async list(after: AgentKey | null, countMax: number): Promise<readonly Head[]> {
    this.#standing();
    const rows = [...this.disk.agents].filter(([key]) => after === null || compareKeys(key, after) > 0);
    rows.sort(([a], [b]) => compareKeys(a, b));
    return rows.slice(0, countMax).map(([key, record]) => headOf(key, record));
  }

  /**
   * Outside the ports, for tests and doctors: everything durable of an agent as one canonical value, equal on every
   * adapter after equal histories (claims, times of the head and borders of segments are left out). Null: unknown.
   */
  dump(agent: AgentKey): unknown {
    const record = this.#record(agent);
    return record === undefined ? null : dumpRecord(record);
  }

  #lost(): boolean {
    return this.#generation !== this.disk.generation;
  }

  #standing(): void {
    if (this.#generation === 0) throw notOpen();
    if (this.#lost()) throw ownerLost();
  }

  #writable(): void {
    this.#standing();
    if (this.disk.full) throw diskFull();
  }

  #record(agent: AgentKey): AgentRecord | undefined {
    this.#standing();
    return this.disk.agents.get(agent);
  }
}

function headOf(agent: AgentKey, record: AgentRecord): Head {
  const { epoch, seq, claims, wake, at } = record.head;
  return { agent, epoch, seq, claims, wake, at };
}

function stateOf(agent: AgentKey, record: AgentRecord): Json {
  const state = record.state === null ? null : decode<Json>(record.state);
  if (state === undefined) throw damagedState(agent);
  return state;
}
