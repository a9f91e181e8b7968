/**
 * Store: the owner's side of the engine. Semantic, asynchronous, small: an adapter owns its SQL.
 *
 *   The store owns:    durability, atomicity of one agent's commit, the fence, the derived wake.
 *   The runtime owns:  what is in a commit, when it is made, and what is done once it has landed.
 *
 *   ST1. A commit must find head = (epoch, seq - 1). It lands whole or not at all.
 *   ST2. Repeating a landed (epoch, seq) answers `landed` and changes nothing: every seq of this epoch, not the last only.
 *   ST3. Each item of a batch is judged alone: a fenced or refused one never harms its neighbours.
 *   ST4. Every claim mints a new epoch, also for the incarnation that already holds the agent, and for a quarantined one.
 *   ST5. wake is derived in the commit: 0 while an inbox row remains; else the least of the commit's wake and the
 *        outbox's due times; null when there is none.
 *   ST6. What `commit` answered as landed is read back equal after `reopen`, whatever died in between.
 *   ST7. Reads are pages. A reader never holds a transaction open across an await.
 *   ST8. All payloads are JSON values and come back equal: lone surrogates, NUL and key order included.
 *   ST9. A damaged record loses at most itself; a damaged or newer file is refused, untouched.
 *   ST10. While the engine refuses writes, commit answers `unavailable` and nothing of the batch has landed.
 */
import type { AgentKey } from "../core/ids.ts";
import type { Json } from "../core/json.ts";
import type { Command, LedgerRow, OutboxRow, PlacedMessage, Tombstone, TurnRow } from "../core/records.ts";
import type { Chunk, StoredMessage, StoredPart } from "../core/transcript.ts";

export interface Head {
  readonly agent: AgentKey;
  readonly epoch: number;
  readonly seq: number;
  /** Claims since the last landed commit. At `claimsMax` the agent is quarantined, before load. */
  readonly claims: number;
  /** Epoch milliseconds of the earliest need of an owner; 0 = at once; null = none. */
  readonly wake: number | null;
  /** When the last commit landed, by the runtime's clock. */
  readonly at: number;
}

/** One row of a turn's chunk log: consecutive chunks, the first at offset `first`. */
export interface Segment {
  readonly first: number;
  readonly chunks: readonly Chunk[];
}

export interface SegmentPage {
  readonly segments: readonly Segment[];
  /** The offset after the last chunk of this page; the offset asked for when the page is empty. */
  readonly next: number;
  /** More may follow at `next`. */
  readonly more: boolean;
}

export type MessageWrite =
  /** The row of a message; refused when its id is taken. `depth` null: accepted, and not yet part of the conversation. */
  | {
      readonly op: "put";
      readonly message: Omit<StoredMessage, "parts">;
      readonly depth: number | null;
      readonly parts: readonly StoredPart[];
    }
  /** An accepted message enters the conversation. */
  | { readonly op: "place"; readonly id: string; readonly depth: number }
  /** A step's parts are appended once (T6). `index` grows per message; one that does not is refused. */
  | { readonly op: "parts"; readonly id: string; readonly index: number; readonly parts: readonly StoredPart[] }
  /** The parts of a message are replaced by these (upsert by its owner). */
  | { readonly op: "replace"; readonly id: string; readonly parts: readonly StoredPart[]; readonly metadata?: unknown }
  /** An accepted message that never entered the conversation goes. */
  | { readonly op: "drop"; readonly id: string };

/** One commit of one agent. A value: nothing in it is called. */
export interface AgentCommit {
  readonly agent: AgentKey;
  readonly epoch: number;
  readonly seq: number;
  readonly at: number;
  /** The bounded snapshot and its wake. Absent in a commit of chunks only: both stay as they are. */
  readonly state?: { readonly value: Json; readonly wake: number | null };
  readonly chunks?: readonly { readonly turn: string; readonly first: number; readonly chunks: readonly Chunk[] }[];
  readonly messages?: readonly MessageWrite[];
  readonly turns?: readonly TurnRow[];
  readonly ledger?: readonly LedgerRow[];
  /** Commands whose effect this commit is: their inbox rows go, their tombstones stay. */
  readonly consumed?: readonly Tombstone[];
  readonly outboxPut?: readonly OutboxRow[];
  readonly outboxDone?: readonly string[];
  /** Wipes messages, chunks, ledger and settled turns of the agent, before anything else of this commit is applied. */
  readonly clear?: true;
}

export type CommitResult =
  | { readonly kind: "landed" }
  /** Another epoch owns the agent. The instance is dead. */
  | { readonly kind: "fenced" }
  /** The sequence does not fit. The instance is dead. */
  | { readonly kind: "conflict" }
  /** This item can never land: a taken message id or depth, a second tombstone, chunks that do not go on where the log ends. The instance is dead. */
  | { readonly kind: "refused"; readonly code: string }
  /** Not now: full disk, busy file, lost connection. Nothing landed, or nobody knows: the same batch is tried again. */
  | { readonly kind: "unavailable"; readonly code: string };

export type Claim =
  | { readonly kind: "claimed"; readonly head: Head }
  /** It has died too often between claim and commit. Not loaded. */
  | { readonly kind: "quarantined"; readonly head: Head }
  /** A live owner holds it. */
  | { readonly kind: "held" };

export interface Loaded {
  readonly head: Head;
  /** Null: an agent that never committed a state. */
  readonly state: Json;
  /** Accepted commands without their effect, oldest first per sender. */
  readonly inbox: readonly Command[];
  readonly outbox: readonly OutboxRow[];
}

/** Who opens the store: shown to a second process that is refused. */
export interface OwnerLabel {
  readonly pid: number;
  readonly host: string;
  readonly startedAt: number;
  readonly version: string;
}

export interface RetentionLimits {
  /** Chunks of a settled turn. */
  readonly chunksMs: number;
  readonly tombstonesMs: number;
  /** Rows that one slice may delete. */
  readonly rowsMax: number;
}

export interface Store {
  /** Takes the engine for this process. Throws `PerdureError`: OWNER_ALIVE, STORE_NEWER, STORE_DAMAGED, STORE_UNWRITABLE, UNSUPPORTED_FILESYSTEM. */
  open(owner: OwnerLabel): Promise<void>;
  claim(agent: AgentKey, at: number): Promise<Claim>;
  /** Only after `claim`. Throws STORE_DAMAGED when the agent's own state cannot be read. */
  load(agent: AgentKey): Promise<Loaded>;
  commit(batch: readonly AgentCommit[]): Promise<readonly CommitResult[]>;
  /** Gives the agent up: the epoch is spent, and `claims` is 0. False (and nothing changes) when the epoch is old or the inbox is not empty. */
  release(agent: AgentKey, epoch: number): Promise<boolean>;

  /** Chunks of a turn from an offset on, up to about `bytesMax` of JSON text, at least one segment. A segment that begins before `from` is cut to it. */
  chunks(agent: AgentKey, turn: string, from: number, bytesMax: number): Promise<SegmentPage>;
  /** Placed messages with depth > `after` (-1: from the first), oldest first. */
  messages(agent: AgentKey, after: number, countMax: number): Promise<readonly PlacedMessage[]>;
  /** Placed messages with depth < `before` (null: from the last), newest first, up to about `bytesMax`, at least one. */
  recent(agent: AgentKey, before: number | null, bytesMax: number): Promise<readonly PlacedMessage[]>;
  /** Placed or not. */
  message(agent: AgentKey, id: string): Promise<StoredMessage | null>;
  turn(agent: AgentKey, id: string): Promise<TurnRow | null>;
  tombstone(agent: AgentKey, id: string): Promise<Tombstone | null>;
  ledger(agent: AgentKey, turn: string): Promise<readonly LedgerRow[]>;

  /** Deletes one small slice of what is past its time. True: there is more. */
  retain(now: number, limits: RetentionLimits): Promise<boolean>;
  /** Everything of the agent goes; a later claim finds a new one. */
  destroy(agent: AgentKey): Promise<void>;
  close(): Promise<void>;
}

/** At this many claims without a landed commit the agent is quarantined (rule 13). */
export const claimsMax = 3;
