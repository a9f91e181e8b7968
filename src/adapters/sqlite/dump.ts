import type { Command, OutboxRow, Tombstone } from "../../core/records.ts";
import type { AgentRow } from "./heads.ts";
import { tombstoneOf } from "./inbox.ts";
import { decode, fromKey } from "./keys.ts";
import { chunkPage, ledgerOf, messageOf, messagePage, turnOf } from "./read.ts";
import type { Statements } from "./statements.ts";

/** Everything durable of one agent in one canonical value: no `claims`, no `at` of the head, no segment borders. */
export function dumpAgent(sql: Statements, head: AgentRow): unknown {
  const ids = (query: string): string[] =>
    sql
      .all<{ id: string }>(query, head.id)
      .map((row) => fromKey(row.id))
      .sort();
  const texts = <T>(query: string): (T | undefined)[] =>
    sql.all<{ json: string }>(query, head.id).map((row) => decode<T>(row.json));
  const unplaced = ids("SELECT id FROM message WHERE agent = ? AND depth IS NULL");
  const ledgers = ids("SELECT DISTINCT turn AS id FROM ledger WHERE agent = ?");
  return {
    head: { epoch: head.epoch, seq: head.seq, wake: head.wake },
    state: texts("SELECT json FROM state WHERE agent = ?")[0] ?? null,
    inbox: texts<Command>("SELECT json FROM inbox WHERE agent = ? ORDER BY n"),
    outbox: texts<OutboxRow>("SELECT json FROM outbox WHERE agent = ? ORDER BY n"),
    messages: messagePage(sql, head.id, -1, Number.MAX_SAFE_INTEGER),
    unplaced: unplaced.map((id) => messageOf(sql, head.id, id)),
    turns: ids("SELECT id FROM turn WHERE agent = ?").map((id) => turnOf(sql, head.id, id)),
    ledger: ledgers.flatMap((turn) => ledgerOf(sql, head.id, turn)),
    tombstones: ids("SELECT id FROM tombstone WHERE agent = ?").map((id): Tombstone | null =>
      tombstoneOf(sql, head.id, id),
    ),
    chunks: ids("SELECT turn AS id FROM log WHERE agent = ?").map((turn) => chunksOf(sql, head.id, turn)),
  };
}

function chunksOf(sql: Statements, agent: number, turn: string): unknown {
  const chunks: unknown[] = [];
  for (let next = 0; ; ) {
    const page = chunkPage(sql, agent, turn, next, Number.MAX_SAFE_INTEGER);
    chunks.push(...page.segments.flatMap((segment) => segment.chunks));
    next = page.next;
    if (!page.more) return { turn, next, chunks };
  }
}
