/** From the writes of one decision to one commit: offsets for chunks, rows for parts. Folds what it writes into the log. */
import { closing, storedParts } from "../core/assembly.ts";
import type { Write } from "../core/events.ts";
import type { LedgerRow, Notice, OutboxRow, Tombstone, TurnRow } from "../core/records.ts";
import type { AgentState } from "../core/state.ts";
import type { Chunk, Role, StoredPart } from "../core/transcript.ts";
import type { NoticeKind } from "../ports/behaviour.ts";
import type { MessageWrite } from "../ports/store.ts";
import type { TelemetryEvent } from "../ports/telemetry.ts";
import { TurnLog } from "./turn-log.ts";

/** What the shell keeps beside the state, for the turn in flight and those that wait. */
export interface Memory {
  log: TurnLog | null;
  readonly rows: Map<string, TurnRow>;
  readonly ledger: Map<string, LedgerRow>;
}

export interface Batch {
  readonly chunks: { readonly turn: string; readonly first: number; readonly chunks: Chunk[] }[];
  readonly messages: MessageWrite[];
  readonly turns: TurnRow[];
  readonly ledger: LedgerRow[];
  readonly consumed: Tombstone[];
  readonly outboxPut: OutboxRow[];
  readonly events: Pick<TelemetryEvent, "type" | "payload">[];
  /** Turns that end in it. */
  readonly ended: string[];
  clear: boolean;
}

export interface BatchContext {
  readonly memory: Memory;
  /** The state that the decision came to: for the cuts of the turn. */
  readonly state: AgentState;
  readonly now: number;
  readonly elapsed: number;
  readonly notices: ReadonlySet<NoticeKind>;
}

export function batchOf(writes: readonly Write[], context: BatchContext): Batch {
  const batch: Batch = {
    chunks: [],
    messages: [],
    turns: [],
    ledger: [],
    consumed: [],
    outboxPut: [],
    events: [],
    ended: [],
    clear: false,
  };
  for (const write of writes) put(batch, write, context);
  return batch;
}

function put(batch: Batch, write: Write, context: BatchContext): void {
  const { memory, now } = context;
  switch (write.op) {
    case "chunk":
      return putChunk(batch, write.turn, write.chunk, context);
    case "prelude":
      if (memory.log?.turn !== write.turn) return;
      batch.chunks.push({ turn: write.turn, first: memory.log.spend(write.chunks.length), chunks: [...write.chunks] });
      return;
    case "close":
      if (!memory.log) return;
      for (const chunk of closing(memory.log.assembly, write)) putChunk(batch, memory.log.turn, chunk, context);
      return;
    case "parts":
      return putParts(batch, write, memory);
    case "place":
      batch.messages.push({ op: "place", id: write.id, depth: write.depth });
      return;
    case "drop":
      batch.messages.push({ op: "drop", id: write.id });
      return;
    case "turn":
      return putTurn(batch, write, memory);
    case "ledger":
      memory.ledger.set(`${write.row.turn}#${write.row.ordinal}`, write.row);
      batch.ledger.push(write.row);
      return;
    case "notice":
      if (context.notices.has(write.notice.kind)) {
        batch.outboxPut.push({ v: 1, id: write.id, due: now, attempts: 0, notice: placed(write.notice, memory) });
      }
      return;
    case "done":
      batch.consumed.push(write.tombstone);
      return;
    case "clear":
      batch.clear = true;
      return;
    case "event":
      batch.events.push({ type: write.type, payload: write.payload });
  }
}

/** A step of a turn that goes on with a message is not as far from its front as from the turn's. */
function placed(notice: Notice, { log, rows }: Memory): Notice {
  if (notice.kind !== "step" || !log || rows.get(notice.turn)?.kind !== "continue") return notice;
  return { ...notice, at: log.closed.filter(({ part }) => part.type === "step-start").length };
}

function putChunk(batch: Batch, turn: string, chunk: Chunk, context: BatchContext): void {
  const { memory, elapsed } = context;
  const offset = memory.log?.turn === turn ? memory.log.append(chunk, runOf(context), elapsed) : foreign(batch, turn);
  const last = batch.chunks.at(-1);
  if (last?.turn === turn) last.chunks.push(chunk);
  else batch.chunks.push({ turn, first: offset, chunks: [chunk] });
}

/** A chunk of a turn that is not in flight: one that was dequeued, or that starts in this commit. */
function foreign(batch: Batch, turn: string): number {
  return batch.chunks.filter((some) => some.turn === turn).reduce((sum, some) => sum + some.chunks.length, 0);
}

/** What is written after a cut belongs to the run after it. */
function runOf(context: BatchContext): number {
  const { turn } = context.state;
  return turn && turn.id === context.memory.log?.turn ? turn.cuts.length : Number.MAX_SAFE_INTEGER;
}

function putParts(batch: Batch, write: Extract<Write, { op: "parts" }>, memory: Memory): void {
  const { log } = memory;
  if (!log || log.turn !== write.turn) return;
  const parts = storedParts(log.assembly, write.cuts, write.origins);
  const empty = parts.every((stored: StoredPart) => stored.part.type === "step-start");
  if (!empty) {
    if (!log.placed) {
      const message = { id: write.messageId, role: "assistant" as Role, turn: write.turn };
      batch.messages.push({ op: "put", message, depth: null, parts: [] });
      log.placed = true;
    }
    batch.messages.push({ op: "parts", id: write.messageId, index: write.row, parts });
  }
  log.closeStep(empty ? [] : parts);
}

/** Rows of earlier turns are kept for results that come late, as long as there is room. */
const ledgerRowsMax = 256;

function forgetOldest(ledger: Map<string, LedgerRow>): void {
  for (const key of ledger.keys()) {
    if (ledger.size <= ledgerRowsMax) return;
    ledger.delete(key);
  }
}

function putTurn(batch: Batch, write: Extract<Write, { op: "turn" }>, memory: Memory): void {
  const row = { v: 1, ...memory.rows.get(write.id), ...write.change } as TurnRow;
  memory.rows.set(write.id, row);
  batch.turns.push(row);
  if (row.status === "running") {
    memory.log = new TurnLog(write.id);
    memory.log.placed = row.kind === "continue";
    forgetOldest(memory.ledger);
  }
  if (row.status === "settled") {
    batch.ended.push(write.id);
    memory.rows.delete(write.id);
  }
}
