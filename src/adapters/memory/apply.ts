/** One commit of one agent, applied to its record. Throws `Refusal`; the journal then takes back what was written. */
import type { Tombstone, TurnRow } from "../../core/records.ts";
import type { AgentCommit, CommitResult, MessageWrite } from "../../ports/store.ts";
import type { AgentRecord, HeadRow, MessageRow } from "./disk.ts";
import { decode, encode, Journal, Refusal } from "./journal.ts";

/** Judges the item (ST1, ST2) and lands it whole or not at all. */
export function commitItem(record: AgentRecord | undefined, item: AgentCommit): CommitResult {
  if (record === undefined || record.head.epoch !== item.epoch) return { kind: "fenced" };
  const head = record.head;
  // What this epoch has landed, not the last commit only: a batch may hold several commits of one agent, and is repeated
  // whole when its answer was lost.
  if (item.seq > head.base && item.seq <= head.seq) return { kind: "landed" };
  if (head.seq !== item.seq - 1) return { kind: "conflict" };
  const journal = new Journal();
  try {
    apply(record, item, journal);
  } catch (error) {
    journal.rollback();
    return { kind: "refused", code: error instanceof Refusal ? error.code : "BAD_ITEM" };
  }
  record.head = landedHead(record, item, head);
  return { kind: "landed" };
}

function landedHead(record: AgentRecord, item: AgentCommit, head: HeadRow): HeadRow {
  const own = item.state === undefined ? head.own : item.state.wake;
  return { ...head, seq: item.seq, claims: 0, own, at: item.at, wake: wakeOf(record, own) };
}

/** ST5. */
export function wakeOf(record: AgentRecord, own: number | null): number | null {
  if (record.inbox.size > 0) return 0;
  let wake = own;
  for (const row of record.outbox.values()) wake = wake === null ? row.due : Math.min(wake, row.due);
  return wake;
}

/** Inbox and outbox rows that cannot be read leave the queue, else they would keep the agent due for ever. */
export function setAside(record: AgentRecord): void {
  for (const rows of [record.inbox, record.outbox]) {
    for (const [id, row] of rows as Map<string, { readonly text: string }>) {
      if (decode(row.text) !== undefined) continue;
      record.damaged.push(row.text);
      rows.delete(id);
      record.head = { ...record.head, wake: wakeOf(record, record.head.own) };
    }
  }
}

function apply(record: AgentRecord, item: AgentCommit, journal: Journal): void {
  if (item.clear) clear(record, journal);
  if (item.state !== undefined) {
    if (item.state.wake !== null && !Number.isFinite(item.state.wake)) throw new Refusal("NOT_JSON");
    journal.assign(record, "state", encode(item.state.value));
  }
  for (const piece of item.chunks ?? []) append(record, piece, journal);
  for (const write of item.messages ?? []) writeMessage(record, write, journal);
  for (const row of item.turns ?? []) writeTurn(record, row, item.at, journal);
  for (const row of item.ledger ?? []) {
    if (!record.ledger.has(row.turn)) journal.set(record.ledger, row.turn, new Map());
    journal.set(record.ledger.get(row.turn) ?? new Map(), row.ordinal, encode(row));
  }
  if (item.consumed !== undefined) consume(record, item.consumed, journal);
  if (item.outboxPut !== undefined || item.outboxDone !== undefined) writeOutbox(record, item, journal);
}

function clear(record: AgentRecord, journal: Journal): void {
  journal.assign(record, "messages", new Map());
  journal.assign(record, "depths", new Map());
  journal.assign(record, "logs", new Map());
  journal.assign(record, "ledger", new Map());
  journal.assign(record, "turns", new Map([...record.turns].filter(([, row]) => row.ended === null)));
}

function append(record: AgentRecord, piece: NonNullable<AgentCommit["chunks"]>[number], journal: Journal): void {
  if (piece.chunks.length === 0) return;
  const text = encode(piece.chunks);
  if (!record.logs.has(piece.turn)) journal.set(record.logs, piece.turn, { next: piece.first, segments: [] });
  const log = record.logs.get(piece.turn);
  // Offsets are dense and never reused: a gap or an overlap is a bug of the writer.
  if (log === undefined || log.next !== piece.first) throw new Refusal("CHUNKS_OFFSET");
  journal.push(log.segments, { first: piece.first, count: piece.chunks.length, text });
  journal.assign(log, "next", piece.first + piece.chunks.length);
}

function writeMessage(record: AgentRecord, write: MessageWrite, journal: Journal): void {
  if (write.op === "put") {
    putMessage(record, write, journal);
    return;
  }
  const row = record.messages.get(write.id);
  if (write.op === "drop") {
    if (row !== undefined && row.depth !== null) throw new Refusal("MESSAGE_PLACED");
    journal.delete(record.messages, write.id);
    return;
  }
  if (row === undefined) throw new Refusal("MESSAGE_UNKNOWN");
  journal.set(record.messages, write.id, changed(record, row, write, journal));
}

function changed(
  record: AgentRecord,
  row: MessageRow,
  write: Exclude<MessageWrite, { op: "put" | "drop" }>,
  journal: Journal,
): MessageRow {
  if (write.op === "place") {
    if (row.depth !== null) throw new Refusal("MESSAGE_PLACED");
    takeDepth(record, write.depth, write.id, journal);
    return { ...row, depth: write.depth };
  }
  if (write.op === "parts") {
    // A repeat is refused (T6). A gap is not: a step that left no parts writes none.
    if (!Number.isSafeInteger(write.index) || write.index <= row.last) throw new Refusal("PARTS_INDEX");
    return { ...row, last: write.index, parts: [...row.parts, encode(write.parts)] };
  }
  const parts = [encode(write.parts)];
  if (write.metadata === undefined) return { ...row, parts };
  return { ...row, parts, text: encode({ ...decode<object>(row.text), metadata: write.metadata }) };
}

function putMessage(record: AgentRecord, write: Extract<MessageWrite, { op: "put" }>, journal: Journal): void {
  const id = write.message.id;
  if (record.messages.has(id)) throw new Refusal("MESSAGE_EXISTS");
  if (write.depth !== null) takeDepth(record, write.depth, id, journal);
  const text = encode({ ...write.message, parts: undefined });
  journal.set(record.messages, id, { depth: write.depth, last: -1, text, parts: [encode(write.parts)] });
}

function takeDepth(record: AgentRecord, depth: number, id: string, journal: Journal): void {
  if (!Number.isSafeInteger(depth) || depth < 0 || record.depths.has(depth)) throw new Refusal("MESSAGE_DEPTH");
  journal.set(record.depths, depth, id);
}

function writeTurn(record: AgentRecord, row: TurnRow, at: number, journal: Journal): void {
  const ended = row.status === "settled" ? (row.endedAt ?? at) : null;
  journal.set(record.turns, row.id, { ended, text: encode(row) });
}

function consume(record: AgentRecord, consumed: readonly Tombstone[], journal: Journal): void {
  const inbox = new Map(record.inbox);
  for (const { id, hash, turn, at } of consumed) {
    // Its effect is durable already: a second one would be a doubled effect (C3).
    if (record.tombstones.has(id)) throw new Refusal("COMMAND_CONSUMED");
    inbox.delete(id);
    journal.set(record.tombstones, id, { hash, turn, at });
  }
  journal.assign(record, "inbox", inbox);
}

function writeOutbox(record: AgentRecord, item: AgentCommit, journal: Journal): void {
  const outbox = new Map(record.outbox);
  for (const row of item.outboxPut ?? []) {
    if (!Number.isFinite(row.due)) throw new Refusal("NOT_JSON");
    outbox.set(row.id, { due: row.due, text: encode(row) });
  }
  for (const id of item.outboxDone ?? []) outbox.delete(id);
  journal.assign(record, "outbox", outbox);
}
