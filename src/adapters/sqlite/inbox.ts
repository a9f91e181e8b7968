/** Commands in, and what an owner loads. */
import type { AgentKey } from "../../core/ids.ts";
import type { Json } from "../../core/json.ts";
import type { Command, OutboxRow, Tombstone } from "../../core/records.ts";
import type { Accepted } from "../../ports/directory.ts";
import type { Loaded } from "../../ports/store.ts";
import { wakeOf } from "./apply.ts";
import { damagedState } from "./errors.ts";
import { type AgentRow, agentOf, headOf, newAgent } from "./heads.ts";
import { decode, fromKey, toKey, toKeyOrNull } from "./keys.ts";
import type { Session } from "./session.ts";
import type { Statements } from "./statements.ts";

interface Known {
  readonly hash: string;
  readonly turn: string | null;
}

/** D1, D2: inside one transaction, so that no commit comes between the row and its wake. */
export function enqueue(sql: Statements, agent: AgentKey, command: Command, json: string): Accepted {
  const key = toKey(agent);
  const head = agentOf(sql, key) ?? newAgent(sql, key, 0, command.at);
  const id = toKey(command.id);
  const known =
    sql.get<Known>("SELECT hash, turn FROM tombstone WHERE agent = ? AND id = ?", head.id, id) ??
    sql.get<Known>("SELECT hash, turn FROM inbox WHERE agent = ? AND id = ?", head.id, id);
  if (known !== undefined) {
    if (fromKey(known.hash) !== command.hash) return { kind: "conflict" };
    return { kind: "duplicate", turn: known.turn === null ? null : fromKey(known.turn) };
  }
  const turn = command.kind === "submit" || command.kind === "continue" ? toKeyOrNull(command.turn) : null;
  const insert = "INSERT INTO inbox (agent, id, hash, turn, json) VALUES (?, ?, ?, ?, ?)";
  sql.run(insert, head.id, id, toKey(command.hash), turn, json);
  if (head.wake !== 0) sql.run("UPDATE agent SET wake = 0 WHERE id = ?", head.id);
  return { kind: "accepted" };
}

export function tombstoneOf(sql: Statements, agent: number, id: string): Tombstone | null {
  const find = "SELECT hash, turn, at FROM tombstone WHERE agent = ? AND id = ?";
  const row = sql.get<Known & { at: number }>(find, agent, toKey(id));
  if (row === undefined) return null;
  return { id, hash: fromKey(row.hash), turn: row.turn === null ? null : fromKey(row.turn), at: row.at };
}

/** Throws STORE_DAMAGED when the text is there and cannot be read. Null: never committed. */
export function stateOf(session: Session, head: AgentRow): Json {
  const row = session.sql.get<{ json: string }>("SELECT json FROM state WHERE agent = ?", head.id);
  if (row === undefined) return null;
  const state = decode<Json>(row.json);
  if (state === undefined) throw damagedState(session.place.path, fromKey(head.key));
  return state;
}

export function load(session: Session, head: AgentRow): Loaded {
  const inbox = queue<Command>(session, "inbox", head.id);
  const outbox = queue<OutboxRow>(session, "outbox", head.id);
  const broken = inbox.broken.length + outbox.broken.length > 0;
  if (broken) session.write(() => setAside(session.sql, head, inbox.broken, outbox.broken));
  const now = broken ? (agentOf(session.sql, head.key) ?? head) : head;
  return { head: headOf(now), state: stateOf(session, head), inbox: inbox.rows, outbox: outbox.rows };
}

interface Queue<T> {
  readonly rows: readonly T[];
  /** Row numbers of what cannot be read. */
  readonly broken: readonly number[];
}

function queue<T>(session: Session, table: "inbox" | "outbox", agent: number): Queue<T> {
  const stored = session.sql.all<{ n: number; json: string }>(
    `SELECT n, json FROM ${table} WHERE agent = ? ORDER BY n`,
    agent,
  );
  const rows: T[] = [];
  const broken: number[] = [];
  for (const { n, json } of stored) {
    const row = decode<T>(json);
    if (row === undefined) broken.push(n);
    else rows.push(row);
  }
  return { rows, broken };
}

/** Left in the queue, such a row would keep its agent due for ever. */
function setAside(sql: Statements, head: AgentRow, inbox: readonly number[], outbox: readonly number[]): void {
  for (const [table, broken] of [
    ["inbox", inbox],
    ["outbox", outbox],
  ] as const) {
    for (const n of broken) {
      const copy = `INSERT INTO damaged (agent, kind, id, json) SELECT agent, ?, id, json FROM ${table} WHERE n = ?`;
      sql.run(copy, table, n);
      sql.run(`DELETE FROM ${table} WHERE n = ?`, n);
    }
  }
  sql.run("UPDATE agent SET wake = ? WHERE id = ?", wakeOf(sql, head.id, head.own), head.id);
}
