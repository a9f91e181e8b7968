/**
 * Pipeline: one agent's commits on their way to the store. It numbers them, joins chunks that wait, and says what has
 * landed, in order.
 */
import type { Effect } from "../core/events.ts";
import type { AgentKey } from "../core/ids.ts";
import type { OutboxRow } from "../core/records.ts";
import type { AgentState } from "../core/state.ts";
import type { Chunk } from "../core/transcript.ts";
import type { Clock } from "../ports/clock.ts";
import type { AgentCommit, CommitResult } from "../ports/store.ts";
import type { Batch } from "./batch.ts";
import type { Committer, Entry } from "./committer.ts";

/** What is to be done once a commit has landed (R1). */
export interface Orders {
  /** The state that it holds. Null: chunks only, or a note that no decision was needed for. */
  readonly state: AgentState | null;
  readonly effects: readonly Effect[];
  readonly events: Batch["events"];
  /** Turns that end in it. */
  readonly ended: readonly string[];
  readonly outbox: readonly OutboxRow[];
  readonly caller: Caller | null;
}

/** Whoever waits for one commit. */
export interface Caller {
  landed(): void;
  failed(error: unknown): void;
}

export const noOrders: Orders = { state: null, effects: [], events: [], ended: [], outbox: [], caller: null };

export interface Landed {
  readonly commit: AgentCommit;
  readonly orders: Orders;
}

interface Pending extends Entry {
  readonly chunks: { readonly turn: string; readonly first: number; readonly chunks: Chunk[] }[];
}

export interface PipelineParts {
  readonly key: AgentKey;
  readonly epoch: number;
  readonly seq: number;
  readonly clock: Clock;
  readonly committer: Committer;
  landed(landed: Landed): void;
  failed(result: CommitResult, orders: Orders): void;
}

/** Characters that may wait for the store before the provider is no longer read. */
const unlandedCharsMax = 256 * 1024;

export class Pipeline {
  readonly #parts: PipelineParts;
  #seq: number;
  #pending = 0;
  #unlandedChars = 0;
  #closed = false;
  /** A commit of chunks only that is not on its way yet. */
  #open: Pending | null = null;
  readonly #waiting: (() => void)[] = [];

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    this.#seq = parts.seq;
  }

  get empty(): boolean {
    return this.#pending === 0;
  }

  add(fields: Partial<AgentCommit>, orders: Orders): void {
    this.#open = null;
    this.#push(fields, orders);
  }

  /** Chunks of the model or a tool, in the commit that waits if there is one. */
  addChunks(turn: string, first: number, chunks: readonly Chunk[]): void {
    const last = this.#openChunks(turn);
    if (last) last.push(...chunks);
    else this.#open = this.#push({ chunks: [{ turn, first, chunks: [...chunks] }] }, noOrders);
    this.#unlandedChars += sizeOf(chunks);
  }

  /** Takes the last chunk's place with the next one of its kind, while it waits. False: there is none. */
  replaceLast(turn: string, chunk: Chunk): boolean {
    const last = this.#openChunks(turn);
    const before = last?.at(-1);
    if (!last || before?.["preliminary"] !== true || before["toolCallId"] !== chunk["toolCallId"]) return false;
    last[last.length - 1] = chunk;
    return true;
  }

  /** Resolves when little enough waits to read on. */
  async flowing(): Promise<void> {
    while (!this.#closed && this.#unlandedChars > unlandedCharsMax) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  close(): void {
    this.#closed = true;
    this.#release();
  }

  #openChunks(turn: string): Chunk[] | null {
    const last = this.#open && !this.#open.taken ? this.#open.chunks.at(-1) : undefined;
    return last?.turn === turn ? last.chunks : null;
  }

  #push(fields: Partial<AgentCommit>, orders: Orders): Pending {
    const { key, epoch, clock, committer } = this.#parts;
    this.#seq++;
    this.#pending++;
    const commit: AgentCommit = { agent: key, epoch, seq: this.#seq, at: clock.now(), ...fields };
    const pending: Pending = {
      commit,
      chunks: (fields.chunks ?? []) as Pending["chunks"],
      control: orders !== noOrders,
      taken: false,
      landed: () => this.#onLanded(pending, orders),
      failed: (result) => {
        this.#pending--;
        this.#parts.failed(result, orders);
      },
    };
    committer.add(pending);
    return pending;
  }

  #onLanded(pending: Pending, orders: Orders): void {
    this.#pending--;
    if (orders === noOrders) this.#unlandedChars -= pending.chunks.reduce((sum, { chunks }) => sum + sizeOf(chunks), 0);
    this.#release();
    this.#parts.landed({ commit: pending.commit, orders });
  }

  #release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** About what a chunk weighs; a fixed sum for kinds that come rarely. */
function sizeOf(chunks: readonly Chunk[]): number {
  let sum = 0;
  for (const chunk of chunks) {
    const delta = chunk["delta"] ?? chunk["inputTextDelta"];
    sum += 64 + (typeof delta === "string" ? delta.length : 400);
  }
  return sum;
}
