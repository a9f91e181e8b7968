/** Pages of one agent's record. A damaged text loses its own row only (ST9). */
import type { LedgerRow, PlacedMessage, TurnRow } from "../../core/records.ts";
import type { Chunk, StoredMessage, StoredPart } from "../../core/transcript.ts";
import type { Segment, SegmentPage } from "../../ports/store.ts";
import type { AgentRecord, MessageRow } from "./disk.ts";
import { decode } from "./journal.ts";

export function chunkPage(record: AgentRecord | undefined, turn: string, from: number, bytesMax: number): SegmentPage {
  const rows = record?.logs.get(turn)?.segments ?? [];
  const segments: Segment[] = [];
  let next = from;
  let bytes = 0;
  let taken = 0;
  for (const row of rows) {
    if (row.first + row.count <= from) continue;
    if (taken > 0 && bytes + row.text.length > bytesMax) return { segments, next, more: true };
    taken += 1;
    bytes += row.text.length;
    next = row.first + row.count;
    const chunks = decode<readonly Chunk[]>(row.text);
    if (chunks === undefined) continue;
    const first = Math.max(row.first, from);
    segments.push({ first, chunks: chunks.slice(first - row.first) });
  }
  return { segments, next, more: false };
}

export function messageOf(row: MessageRow): StoredMessage | null {
  const head = decode<Omit<StoredMessage, "parts">>(row.text);
  if (head === undefined) return null;
  return { ...head, parts: row.parts.flatMap((text) => decode<readonly StoredPart[]>(text) ?? []) };
}

export function messagePage(record: AgentRecord | undefined, after: number, countMax: number): PlacedMessage[] {
  const page: PlacedMessage[] = [];
  if (record === undefined) return page;
  for (const { depth, row } of placed(record)) {
    if (page.length >= countMax) break;
    const message = depth > after ? messageOf(row) : null;
    if (message !== null) page.push({ depth, message });
  }
  return page;
}

export function recentPage(record: AgentRecord | undefined, before: number | null, bytesMax: number): PlacedMessage[] {
  const page: PlacedMessage[] = [];
  let bytes = 0;
  if (record === undefined) return page;
  for (const { depth, row } of placed(record).reverse()) {
    if (before !== null && depth >= before) continue;
    const message = messageOf(row);
    if (message === null) continue;
    bytes += row.parts.reduce((sum, text) => sum + text.length, row.text.length);
    if (page.length > 0 && bytes > bytesMax) break;
    page.push({ depth, message });
  }
  return page;
}

function placed(record: AgentRecord): { depth: number; row: MessageRow }[] {
  const rows = [...record.depths].map(([depth, id]) => ({ depth, row: record.messages.get(id) }));
  return rows
    .flatMap(({ depth, row }) => (row === undefined ? [] : [{ depth, row }]))
    .sort((a, b) => a.depth - b.depth);
}

export function ledgerRows(rows: ReadonlyMap<number, string> | undefined): LedgerRow[] {
  return [...(rows ?? [])].sort(([a], [b]) => a - b).flatMap(([, text]) => decode<LedgerRow>(text) ?? []);
}

/** Everything durable of one agent in one canonical value: no `claims`, no `at` of the head, no segment borders. */
export function dumpRecord(record: AgentRecord): unknown {
  const byKey = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1);
  const unplaced = [...record.messages].filter(([, row]) => row.depth === null).sort(byKey);
  return {
    head: { epoch: record.head.epoch, seq: record.head.seq, wake: record.head.wake },
    state: record.state === null ? null : (decode(record.state) ?? null),
    inbox: [...record.inbox.values()].map((row) => decode(row.text)),
    outbox: [...record.outbox.values()].map((row) => decode(row.text)),
    messages: messagePage(record, -1, Number.POSITIVE_INFINITY),
    unplaced: unplaced.map(([, row]) => messageOf(row)),
    turns: [...record.turns].sort(byKey).map(([, row]) => decode<TurnRow>(row.text)),
    ledger: [...record.ledger].sort(byKey).flatMap(([, rows]) => ledgerRows(rows)),
    tombstones: [...record.tombstones].sort(byKey).map(([id, row]) => ({ id, ...row })),
    chunks: [...record.logs].sort(byKey).map(([turn, log]) => {
      const page = chunkPage(record, turn, 0, Number.POSITIVE_INFINITY);
      return { turn, next: log.next, chunks: page.segments.flatMap((segment) => segment.chunks) };
    }),
  };
}
