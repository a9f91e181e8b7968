/** One commit of one agent, inside the batch's transaction. Throws `Refusal` for what can never land. */
import type { CommitResult } from "../../ports/store.ts";
import type { EncodedChunks, EncodedCommit, EncodedMessage, EncodedTombstone } from "./encode.ts";
import { encode } from "./encode.ts";
import { Refusal } from "./errors.ts";
import { type AgentRow, agentOf } from "./heads.ts";
import { decode } from "./keys.ts";
import type { Statements } from "./statements.ts";

/** Judges the item before its first write (ST1, ST2). The answer holds once the transaction has committed. */
export function applyItem(sql: Statements, encoded: EncodedCommit): CommitResult {
  const { item } = encoded;
  const head = agentOf(sql, encoded.key);
  if (head === undefined || head.epoch !== item.epoch) return { kind: "fenced" };
  // What this epoch has landed, not the last commit only: a batch may hold several commits of one agent, and is repeated
  // whole when its answer was lost.
  if (item.seq > head.base && item.seq <= head.seq) return { kind: "landed" };
  if (head.seq !== item.seq - 1) return { kind: "conflict" };
  if (item.clear) clear(sql, head.id);
  if (encoded.state !== null) {
    sql.run("INSERT INTO state VALUES (?, ?) ON CONFLICT DO UPDATE SET json = excluded.json", head.id, encoded.state);
  }
  for (const piece of encoded.chunks) append(sql, head.id, piece);
  for (const message of encoded.messages) writeMessage(sql, head.id, message);
  for (const row of encoded.turns) writeTurn(sql, head.id, row);
  for (const { turn, ordinal, json } of encoded.ledger) {
    const upsert = "INSERT INTO ledger VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET json = excluded.json";
    sql.run(upsert, head.id, turn, ordinal, json);
  }
  for (const tombstone of encoded.consumed) consume(sql, head.id, tombstone);
  writeOutbox(sql, head.id, encoded);
  writeHead(sql, head, encoded);
  return { kind: "landed" };
}

function writeHead(sql: Statements, head: AgentRow, encoded: EncodedCommit): void {
  const { item } = encoded;
  const own = item.state === undefined ? head.own : item.state.wake;
  const moves = item.consumed !== undefined || item.outboxPut !== undefined || item.outboxDone !== undefined;
  // Chunks alone leave the wake as it is, and the index on it untouched.
  const wake = item.state === undefined && !moves ? head.wake : wakeOf(sql, head.id, own);
  sql.run("UPDATE agent SET seq = ?, claims = 0, at = ? WHERE id = ?", item.seq, item.at, head.id);
  if (wake !== head.wake || own !== head.own) {
    sql.run("UPDATE agent SET wake = ?, own = ? WHERE id = ?", wake, own, head.id);
  }
}

/** ST5. */
export function wakeOf(sql: Statements, agent: number, own: number | null): number | null {
  if (sql.get("SELECT 1 FROM inbox WHERE agent = ? LIMIT 1", agent) !== undefined) return 0;
  const due = sql.get<{ due: number | null }>("SELECT min(due) AS due FROM outbox WHERE agent = ?", agent)?.due ?? null;
  return own === null || due === null ? (own ?? due) : Math.min(own, due);
}

function clear(sql: Statements, agent: number): void {
  sql.run("DELETE FROM segment WHERE log IN (SELECT id FROM log WHERE agent = ?)", agent);
  sql.run("DELETE FROM log WHERE agent = ?", agent);
  sql.run("DELETE FROM part WHERE message IN (SELECT n FROM message WHERE agent = ?)", agent);
  sql.run("DELETE FROM message WHERE agent = ?", agent);
  sql.run("DELETE FROM ledger WHERE agent = ?", agent);
  sql.run("DELETE FROM turn WHERE agent = ? AND ended IS NOT NULL", agent);
}

function append(sql: Statements, agent: number, { turn, first, count, json }: EncodedChunks): void {
  const log =
    sql.get<{ id: number; next: number }>("SELECT id, next FROM log WHERE agent = ? AND turn = ?", agent, turn) ??
    newLog(sql, agent, turn, first);
  // Offsets are dense and never reused: a gap or an overlap is a bug of the writer.
  if (log.next !== first) throw new Refusal("CHUNKS_OFFSET");
  sql.run("INSERT INTO segment (log, first, count, json) VALUES (?, ?, ?, ?)", log.id, first, count, json);
  sql.run("UPDATE log SET next = ? WHERE id = ?", first + count, log.id);
}

function newLog(sql: Statements, agent: number, turn: string, first: number): { id: number; next: number } {
  const ended = sql.get<{ ended: number | null }>("SELECT ended FROM turn WHERE agent = ? AND id = ?", agent, turn);
  const insert = "INSERT INTO log (agent, turn, next, ended) VALUES (?, ?, ?, ?) RETURNING id";
  return { id: sql.get<{ id: number }>(insert, agent, turn, first, ended?.ended ?? null)?.id ?? 0, next: first };
}

function writeTurn(sql: Statements, agent: number, row: EncodedCommit["turns"][number]): void {
  const upsert =
    "INSERT INTO turn VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET ended = excluded.ended, json = excluded.json";
  sql.run(upsert, agent, row.id, row.ended, row.json);
  // Retention finds logs by the end of their turn.
  sql.run(
    "UPDATE log SET ended = ? WHERE agent = ? AND turn = ? AND ended IS NOT ?",
    row.ended,
    agent,
    row.id,
    row.ended,
  );
}

function consume(sql: Statements, agent: number, { id, hash, turn, at }: EncodedTombstone): void {
  sql.run("DELETE FROM inbox WHERE agent = ? AND id = ?", agent, id);
  const added = sql.run(
    "INSERT INTO tombstone VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
    agent,
    id,
    hash,
    turn,
    at,
  );
  // Its effect is durable already: a second one would be a doubled effect (C3).
  if (added === 0) throw new Refusal("COMMAND_CONSUMED");
}

function writeOutbox(sql: Statements, agent: number, { outboxPut, outboxDone }: EncodedCommit): void {
  for (const { id, due, json } of outboxPut) {
    const upsert =
      "INSERT INTO outbox (agent, id, due, json) VALUES (?, ?, ?, ?) " +
      "ON CONFLICT DO UPDATE SET due = excluded.due, json = excluded.json";
    sql.run(upsert, agent, id, due, json);
  }
  for (const id of outboxDone) sql.run("DELETE FROM outbox WHERE agent = ? AND id = ?", agent, id);
}

interface MessageRow {
  readonly n: number;
  readonly depth: number | null;
  readonly last: number;
}

function writeMessage(sql: Statements, agent: number, message: EncodedMessage): void {
  const { write, id } = message;
  if (write.op === "put") {
    putMessage(sql, agent, message, write.depth);
    return;
  }
  const find = "SELECT n, depth, last FROM message WHERE agent = ? AND id = ?";
  const row = sql.get<MessageRow>(find, agent, id);
  if (row === undefined) {
    if (write.op === "drop") return;
    throw new Refusal("MESSAGE_UNKNOWN");
  }
  switch (write.op) {
    case "place":
      if (row.depth !== null) throw new Refusal("MESSAGE_PLACED");
      freeDepth(sql, agent, write.depth);
      sql.run("UPDATE message SET depth = ? WHERE n = ?", write.depth, row.n);
      return;
    case "parts":
      // A repeat is refused (T6). A gap is not: a step that left no parts writes none.
      if (!Number.isSafeInteger(write.index) || write.index <= row.last) throw new Refusal("PARTS_INDEX");
      sql.run("INSERT INTO part (message, row, json) VALUES (?, ?, ?)", row.n, write.index, message.parts);
      sql.run("UPDATE message SET last = ? WHERE n = ?", write.index, row.n);
      return;
    case "replace":
      replaceParts(sql, row.n, message.parts);
      if (write.metadata !== undefined) replaceMetadata(sql, row.n, write.metadata);
      return;
    case "drop":
      if (row.depth !== null) throw new Refusal("MESSAGE_PLACED");
      sql.run("DELETE FROM part WHERE message = ?", row.n);
      sql.run("DELETE FROM message WHERE n = ?", row.n);
  }
}

function putMessage(sql: Statements, agent: number, message: EncodedMessage, depth: number | null): void {
  if (depth !== null) freeDepth(sql, agent, depth);
  const insert =
    "INSERT INTO message (agent, id, depth, last, json) VALUES (?, ?, ?, -1, ?) ON CONFLICT DO NOTHING RETURNING n";
  const row = sql.get<{ n: number }>(insert, agent, message.id, depth, message.head);
  if (row === undefined) throw new Refusal("MESSAGE_EXISTS");
  replaceParts(sql, row.n, message.parts);
}

function freeDepth(sql: Statements, agent: number, depth: number): void {
  const taken =
    Number.isSafeInteger(depth) && sql.get("SELECT 1 FROM message WHERE agent = ? AND depth = ?", agent, depth);
  if (taken !== undefined || depth < 0) throw new Refusal("MESSAGE_DEPTH");
}

/** Row -1 holds the parts that came with `put` or `replace`. */
function replaceParts(sql: Statements, message: number, parts: string): void {
  sql.run("DELETE FROM part WHERE message = ?", message);
  if (parts !== "[]") sql.run("INSERT INTO part (message, row, json) VALUES (?, -1, ?)", message, parts);
}

function replaceMetadata(sql: Statements, message: number, metadata: unknown): void {
  const json = sql.get<{ json: string }>("SELECT json FROM message WHERE n = ?", message)?.json ?? "";
  sql.run("UPDATE message SET json = ? WHERE n = ?", encode({ ...decode<object>(json), metadata }), message);
}
