/**
 * What a memory store keeps. Payloads are JSON text, never live values, so that a caller who changes an object after
 * the commit (or what a read gave him) changes nothing here, as with a real engine.
 */
import type { AgentKey } from "../../core/ids.ts";

/** The "disk" of memory stores. A new `MemoryStore` on the same disk is a new process on the same data. */
export class MemoryDisk {
  readonly agents: Map<AgentKey, AgentRecord> = new Map();
  /** Raised by every `open`: the session with a lower one has lost the engine. */
  generation = 0;
  /** Epochs below are spent by destroyed agents: a new agent begins here, so that no old owner fits it. */
  epochFloor = 0;
  /** While true the disk refuses every write, as a full one does. */
  full = false;
}

export interface AgentRecord {
  head: HeadRow;
  state: string | null;
  inbox: Map<string, InboxRow>;
  outbox: Map<string, OutboxText>;
  messages: Map<string, MessageRow>;
  /** Depth to message id. */
  depths: Map<number, string>;
  turns: Map<string, TurnText>;
  logs: Map<string, LogRow>;
  /** Turn to ordinal to JSON text. */
  ledger: Map<string, Map<number, string>>;
  tombstones: Map<string, TombstoneRow>;
  /** Texts of inbox and outbox rows that could not be read: out of the way, and kept as evidence. */
  damaged: string[];
}

export interface HeadRow {
  readonly epoch: number;
  readonly seq: number;
  /** The seq that this epoch began with: what is above it has landed under this epoch. */
  readonly base: number;
  readonly claims: number;
  /** Derived (ST5). */
  readonly wake: number | null;
  /** The wake that the last state asked for: a commit without a state derives from it again. */
  readonly own: number | null;
  readonly at: number;
}

export interface InboxRow {
  readonly hash: string;
  readonly turn: string | null;
  readonly text: string;
}

export interface OutboxText {
  readonly due: number;
  readonly text: string;
}

export interface MessageRow {
  readonly depth: number | null;
  /** The index of the last `parts`; -1 before the first. */
  readonly last: number;
  readonly text: string;
  /** JSON arrays of parts: the first comes with `put` or `replace`, one more with each `parts`. */
  readonly parts: readonly string[];
}

export interface TurnText {
  /** When it settled; null before. */
  readonly ended: number | null;
  readonly text: string;
}

export interface TombstoneRow {
  readonly hash: string;
  readonly turn: string | null;
  readonly at: number;
}

export interface LogRow {
  /** The offset after the last chunk. */
  next: number;
  readonly segments: SegmentRow[];
}

export interface SegmentRow {
  readonly first: number;
  readonly count: number;
  readonly text: string;
}

export function newRecord(epoch: number, wake: number | null, at: number): AgentRecord {
  return {
    head: { epoch, seq: 0, base: 0, claims: 0, wake, own: null, at },
    state: null,
    inbox: new Map(),
    outbox: new Map(),
    messages: new Map(),
    depths: new Map(),
    turns: new Map(),
    logs: new Map(),
    ledger: new Map(),
    tombstones: new Map(),
    damaged: [],
  };
}

/** By code points, as engines compare UTF-8 text; JavaScript's own order differs above U+FFFF. */
export function compareKeys(a: string, b: string): number {
  const left = [...a];
  const right = [...b];
  for (let i = 0; i < left.length && i < right.length; i += 1) {
    const order = (left[i]?.codePointAt(0) ?? 0) - (right[i]?.codePointAt(0) ?? 0);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}
