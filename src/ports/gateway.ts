/**
 * Gateway: what a door (HTTP, WebSocket, code) may ask of the runtime. Everything it answers is landed state (R1).
 * Every method may reject with a `PerdureError`; doors turn its code into a status.
 */
import type { AgentKey } from "../core/ids.ts";
import type { JsonObject } from "../core/json.ts";
import type { EndReason, Outcome, PlacedMessage, TurnRow } from "../core/records.ts";
import type { Chunk, UiMessage } from "../core/transcript.ts";

export interface SubmitInput {
  readonly messages: readonly UiMessage[];
  readonly body?: JsonObject;
}

/** The turn that answers, made now or found by the message's id. */
export interface Submitted {
  readonly turn: string;
  readonly messageId: string;
  /** False: the same message was accepted before. */
  readonly accepted: boolean;
}

export interface TurnView {
  readonly id: string;
  readonly messageId: string;
  readonly state: "queued" | "running" | "recovering" | "parked" | "settled";
  readonly outcome?: Outcome;
  readonly reason?: EndReason;
  readonly error?: string;
  readonly createdAt: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
}

export interface AgentStatus {
  readonly status: "idle" | "queued" | "running" | "recovering" | "parked";
  readonly turn: { readonly id: string; readonly messageId: string; readonly queued: number } | null;
  readonly incident: {
    readonly id: string;
    readonly attempt: number;
    readonly maxAttempts: number;
    readonly cause: string;
    readonly since: number;
    readonly until?: number;
  } | null;
  /** Calls that wait for a human. */
  readonly pending: readonly JsonObject[];
  readonly last: { readonly turn: string; readonly outcome: Outcome; readonly reason?: EndReason } | null;
}

export interface TurnEnd {
  readonly turn: string;
  readonly messageId: string;
  readonly outcome: Outcome;
  readonly reason?: EndReason;
  readonly error?: string;
}

/** Consecutive landed chunks. `texts[i]` is the JSON text of the chunk at offset `first + i`. */
export interface Slice {
  readonly first: number;
  readonly texts: readonly string[];
}

/** Reads one turn's landed chunks by offset. Pulled: a slow reader delays nobody. */
export interface TurnReader {
  /**
   * The next slice; null once the turn has settled and all of it was read, or after one's own `close`. Waits while the
   * turn is silent. Rejects with HOST_CLOSED when the host goes away before the turn has ended: that is no end.
   */
  read(): Promise<Slice | null>;
  /** A pending `read` answers null. */
  close(): void;
}

/** What there is of a turn for somebody who wants to see it. */
export type TurnSource =
  | { readonly kind: "chunks"; readonly turn: string; readonly reader: TurnReader }
  /** Its chunks are past their time: the final message, as chunks that replay to it, without offsets. */
  | { readonly kind: "snapshot"; readonly turn: string; readonly chunks: readonly Chunk[] };

export interface Gateway {
  /** Store open, owner lock held. */
  ready(): boolean;
  /** The agent classes that are served. */
  has(agent: string): boolean;
  /** Durable when it resolves (C1). Errors: CONTENT_CONFLICT, INBOX_FULL, BAD_REQUEST, AGENT_QUARANTINED, STORE_UNAVAILABLE. */
  submit(agent: AgentKey, input: SubmitInput): Promise<Submitted>;
  /** Durable when it resolves. Null turn: whatever runs. False: there was nothing to stop. */
  stop(agent: AgentKey, turn: string | null, reason?: string): Promise<boolean>;
  status(agent: AgentKey): Promise<AgentStatus>;
  turn(agent: AgentKey, turn: string): Promise<TurnView | null>;
  /** The turn in flight, or the one that ended less than `withinMs` ago, or null. */
  current(agent: AgentKey, withinMs: number): Promise<string | null>;
  /** From offset `from` on; beyond the end of a running turn it waits. TURN_NOT_FOUND for an unknown turn. */
  source(agent: AgentKey, turn: string, from: number): Promise<TurnSource>;
  /** Settled conversation with depth > `after` (-1: from the first), oldest first, without the turn in flight. */
  messages(agent: AgentKey, after: number, countMax: number): Promise<readonly PlacedMessage[]>;
}

export type { TurnRow };
