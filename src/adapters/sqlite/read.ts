/** Pages. Every statement ends before the page is returned (ST7); a damaged text loses its own row only (ST9). */
import type { LedgerRow, PlacedMessage, TurnRow } from "../../core/records.ts";
import type { Chunk, StoredMessage, StoredPart } from "../../core/transcript.ts";
import type { Segment, SegmentPage } from "../../ports/store.ts";
import { decode, toKey } from "./keys.ts";
import type { Statements } from "./statements.ts";

interface SegmentRow {
  readonly first: number;
  readonly count: number;
}

/** Rows that are looked at in one go. */
const windowRows = 256;

export function chunkPage(sql: Statements, agent: number, turn: string, from: number, bytesMax: number): SegmentPage {
  const log = sql.get<{ id: number }>("SELECT id FROM log WHERE agent = ? AND turn = ?", agent, toKey(turn));
  if (log === undefined) return { segments: [], next: from, more: false };
  const { last, more } = extent(sql, log.id, from, bytesMax);
  if (last === null) return { segments: [], next: from, more };
  const range =
    "SELECT first, count, json FROM segment WHERE log = ? AND first + count > ? AND first BETWEEN ? AND ? ORDER BY first";
  const rows = sql.all<SegmentRow & { json: string }>(range, log.id, from, startOf(sql, log.id, from), last.first);
  const segments = rows.flatMap((row): Segment[] => {
    const chunks = decode<readonly Chunk[]>(row.json);
    if (chunks === undefined) return [];
    const first = Math.max(row.first, from);
    return [{ first, chunks: chunks.slice(first - row.first) }];
  });
  return { segments, next: last.first + last.count, more };
}

/** The segment that a page from `from` ends with: by their sizes only, before a text is read. */
function extent(
  sql: Statements,
  log: number,
  from: number,
  bytesMax: number,
): { last: SegmentRow | null; more: boolean } {
  const sizes =
    "SELECT first, count, octet_length(json) AS bytes FROM segment " +
    "WHERE log = ? AND first >= ? AND first + count > ? ORDER BY first LIMIT ?";
  const rows = sql.all<SegmentRow & { bytes: number }>(sizes, log, startOf(sql, log, from), from, windowRows);
  let last: SegmentRow | null = null;
  let bytes = 0;
  for (const row of rows) {
    bytes += row.bytes;
    if (last !== null && bytes > bytesMax) return { last, more: true };
    last = row;
  }
  return { last, more: rows.length === windowRows };
}

/** The first offset of the segment that holds `from`, so that the index finds it. */
function startOf(sql: Statements, log: number, from: number): number {
  const find = "SELECT max(first) AS first FROM segment WHERE log = ? AND first <= ?";
  return sql.get<{ first: number | null }>(find, log, from)?.first ?? from;
}

interface MessageRow {
  readonly n: number;
  readonly depth: number;
  readonly json: string;
}

export function messagePage(sql: Statements, agent: number, after: number, countMax: number): PlacedMessage[] {
  const page: PlacedMessage[] = [];
  const next = "SELECT n, depth, json FROM message WHERE agent = ? AND depth > ? ORDER BY depth LIMIT ?";
  for (let depth = after; page.length < countMax; ) {
    const limit = Math.min(countMax - page.length, windowRows);
    const rows = sql.all<MessageRow>(next, agent, depth, limit);
    for (const row of rows) page.push(...placed(sql, row));
    if (rows.length < limit) break;
    // A page of damaged rows only must not look like the end.
    depth = rows.at(-1)?.depth ?? depth;
  }
  return page;
}

export function recentPage(sql: Statements, agent: number, before: number | null, bytesMax: number): PlacedMessage[] {
  const page: PlacedMessage[] = [];
  const next =
    "SELECT n, depth, json, octet_length(json) + " +
    "(SELECT coalesce(sum(octet_length(json)), 0) FROM part WHERE message = message.n) AS bytes " +
    "FROM message WHERE agent = ? AND depth < ? ORDER BY depth DESC LIMIT 32";
  let bytes = 0;
  for (let depth = before ?? Number.MAX_SAFE_INTEGER; ; ) {
    const rows = sql.all<MessageRow & { bytes: number }>(next, agent, depth);
    for (const row of rows) {
      bytes += row.bytes;
      if (page.length > 0 && bytes > bytesMax) return page;
      const found = placed(sql, row);
      page.push(...found);
      if (found.length === 0) bytes -= row.bytes;
      depth = row.depth;
    }
    if (rows.length === 0) return page;
  }
}

function placed(sql: Statements, row: MessageRow): PlacedMessage[] {
  const message = assemble(sql, row);
  return message === null ? [] : [{ depth: row.depth, message }];
}

function assemble(sql: Statements, { n, json }: Omit<MessageRow, "depth">): StoredMessage | null {
  const head = decode<Omit<StoredMessage, "parts">>(json);
  if (head === undefined) return null;
  const rows = sql.all<{ json: string }>("SELECT json FROM part WHERE message = ? ORDER BY row", n);
  return { ...head, parts: rows.flatMap((row) => decode<readonly StoredPart[]>(row.json) ?? []) };
}

export function messageOf(sql: Statements, agent: number, id: string): StoredMessage | null {
  const row = sql.get<MessageRow>("SELECT n, json FROM message WHERE agent = ? AND id = ?", agent, toKey(id));
  return row === undefined ? null : assemble(sql, row);
}

export function turnOf(sql: Statements, agent: number, id: string): TurnRow | null {
  const row = sql.get<{ json: string }>("SELECT json FROM turn WHERE agent = ? AND id = ?", agent, toKey(id));
  return row === undefined ? null : (decode<TurnRow>(row.json) ?? null);
}

export function ledgerOf(sql: Statements, agent: number, turn: string): LedgerRow[] {
  const find = "SELECT json FROM ledger WHERE agent = ? AND turn = ? ORDER BY ordinal";
  return sql.all<{ json: string }>(find, agent, toKey(turn)).flatMap((row) => decode<LedgerRow>(row.json) ?? []);
}
