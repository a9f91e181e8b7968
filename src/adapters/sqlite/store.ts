/** The two ports on one session. Answers are promises so that the connection can move to a worker one day. */
import { setImmediate as pause } from "node:timers/promises";
import { assert } from "../../core/assert.ts";
import type { AgentKey } from "../../core/ids.ts";
import type { Json } from "../../core/json.ts";
import type { Command, LedgerRow, PlacedMessage, Tombstone, TurnRow } from "../../core/records.ts";
import type { StoredMessage } from "../../core/transcript.ts";
import type { Accepted, Directory, Due } from "../../ports/directory.ts";
import type {
  AgentCommit,
  Claim,
  CommitResult,
  Head,
  Loaded,
  OwnerLabel,
  RetentionLimits,
  SegmentPage,
  Store,
} from "../../ports/store.ts";
import { commitBatch } from "./commit.ts";
import { dumpAgent } from "./dump.ts";
import { encode } from "./encode.ts";
import { notOpen } from "./errors.ts";
import { type AgentRow, agentOf, claim, due, headOf, list, release } from "./heads.ts";
import { enqueue, load, stateOf, tombstoneOf } from "./inbox.ts";
import { toKey } from "./keys.ts";
import { openSession, type SqliteOptions } from "./open.ts";
import { chunkPage, ledgerOf, messageOf, messagePage, recentPage, turnOf } from "./read.ts";
import { doom, nothingToRetain, retainSlice, sweepDoomed } from "./retain.ts";
import type { Session } from "./session.ts";
import { Watchers } from "./watchers.ts";

const sweepRows = 1_000;

export class SqliteStore implements Store, Directory {
  readonly #options: SqliteOptions;
  readonly #watchers = new Watchers();
  #session: Session | null = null;
  /** Commits take their turn: a batch lets the event loop run between its groups. */
  #commits: Promise<unknown> = Promise.resolve();

  constructor(options: SqliteOptions) {
    this.#options = options;
  }

  /**
   * Takes the file for this process. Throws `PerdureError`: OWNER_ALIVE (after `wait`), STORE_NEWER and STORE_DAMAGED
   * (the file is untouched), STORE_UNWRITABLE, UNSUPPORTED_FILESYSTEM.
   */
  async open(owner: OwnerLabel): Promise<void> {
    assert(this.#session === null, "a store is opened once");
    this.#session = await openSession(this.#options, owner);
  }

  async close(): Promise<void> {
    this.#watchers.clear();
    await this.#commits.catch(() => {});
    this.#session?.close();
  }

  async claim(agent: AgentKey, at: number): Promise<Claim> {
    return this.#write(({ sql }) => claim(sql, agent, at));
  }

  async load(agent: AgentKey): Promise<Loaded> {
    return this.#read((session) => {
      const head = agentOf(session.sql, toKey(agent));
      assert(head !== undefined, `load of ${agent} before its claim`);
      return load(session, head);
    });
  }

  async commit(batch: readonly AgentCommit[]): Promise<readonly CommitResult[]> {
    const session = this.#opened();
    const before = this.#commits;
    const results = before.then(() => this.#commit(session, batch));
    this.#commits = results.catch(() => {});
    return results;
  }

  async #commit(session: Session, batch: readonly AgentCommit[]): Promise<readonly CommitResult[]> {
    const results = await commitBatch(session, batch);
    batch.forEach(({ agent }, i) => {
      if (results[i]?.kind === "landed") this.#watchers.notify(agent);
    });
    return results;
  }

  async release(agent: AgentKey, epoch: number): Promise<boolean> {
    return this.#write(({ sql }) => release(sql, agent, epoch));
  }

  async chunks(agent: AgentKey, turn: string, from: number, bytesMax: number): Promise<SegmentPage> {
    const none: SegmentPage = { segments: [], next: from, more: false };
    return this.#of(agent, none, ({ id }, { sql }) => chunkPage(sql, id, turn, from, bytesMax));
  }

  async messages(agent: AgentKey, after: number, countMax: number): Promise<readonly PlacedMessage[]> {
    return this.#of(agent, [], ({ id }, { sql }) => messagePage(sql, id, after, countMax));
  }

  async recent(agent: AgentKey, before: number | null, bytesMax: number): Promise<readonly PlacedMessage[]> {
    return this.#of(agent, [], ({ id }, { sql }) => recentPage(sql, id, before, bytesMax));
  }

  async message(agent: AgentKey, id: string): Promise<StoredMessage | null> {
    return this.#of(agent, null, (head, { sql }) => messageOf(sql, head.id, id));
  }

  async turn(agent: AgentKey, id: string): Promise<TurnRow | null> {
    return this.#of(agent, null, (head, { sql }) => turnOf(sql, head.id, id));
  }

  async tombstone(agent: AgentKey, id: string): Promise<Tombstone | null> {
    return this.#of(agent, null, (head, { sql }) => tombstoneOf(sql, head.id, id));
  }

  async ledger(agent: AgentKey, turn: string): Promise<readonly LedgerRow[]> {
    return this.#of(agent, [], ({ id }, { sql }) => ledgerOf(sql, id, turn));
  }

  async retain(now: number, limits: RetentionLimits): Promise<boolean> {
    if (this.#read(({ sql }) => nothingToRetain(sql, now, limits))) return false;
    return this.#write(({ sql }) => retainSlice(sql, now, limits));
  }

  async destroy(agent: AgentKey): Promise<void> {
    const found = this.#write(({ sql }) => {
      const head = agentOf(sql, toKey(agent));
      if (head !== undefined) doom(sql, head);
      return head !== undefined;
    });
    if (!found) return;
    this.#watchers.notify(agent);
    try {
      while (this.#write(({ sql }) => sweepDoomed(sql, sweepRows)) >= sweepRows) await pause();
    } catch {
      // It is gone already: what cannot be swept now is left to `retain`.
    }
  }

  async enqueue(agent: AgentKey, command: Command): Promise<Accepted> {
    const json = encode(command);
    const accepted = this.#write(({ sql }) => enqueue(sql, agent, command, json));
    if (accepted.kind === "accepted") this.#watchers.notify(agent);
    return accepted;
  }

  async due(now: number, countMax: number, after?: Due): Promise<readonly Due[]> {
    return this.#read(({ sql }) => due(sql, now, countMax, after));
  }

  watch(agent: AgentKey, listener: () => void): () => void {
    return this.#watchers.add(agent, listener);
  }

  async head(agent: AgentKey): Promise<Head | null> {
    return this.#of(agent, null, headOf);
  }

  async peek(agent: AgentKey): Promise<Json> {
    return this.#of(agent, null, (head, session) => stateOf(session, head));
  }

  async list(after: AgentKey | null, countMax: number): Promise<readonly Head[]> {
    return this.#read(({ sql }) => list(sql, after, countMax));
  }

  /**
   * Outside the ports, for tests and doctors: everything durable of an agent as one canonical value, equal on every
   * adapter after equal histories (claims, times of the head and borders of segments are left out). Null: unknown.
   */
  dump(agent: AgentKey): unknown {
    return this.#of<unknown>(agent, null, (head, { sql }) => dumpAgent(sql, head));
  }

  /** For tests of this adapter only: the connection under it. */
  session(): Session {
    return this.#opened();
  }

  #opened(): Session {
    if (this.#session === null || this.#session.closed) throw notOpen(this.#options.path);
    return this.#session;
  }

  #write<T>(work: (session: Session) => T): T {
    const session = this.#opened();
    return session.answer(() => session.write(() => work(session)));
  }

  #read<T>(work: (session: Session) => T): T {
    const session = this.#opened();
    return session.answer(() => work(session));
  }

  /** What an agent has; `none` when there is no such agent. */
  #of<T>(agent: AgentKey, none: T, work: (head: AgentRow, session: Session) => T): T {
    return this.#read((session) => {
      const head = agentOf(session.sql, toKey(agent));
      return head === undefined ? none : work(head, session);
    });
  }
}
