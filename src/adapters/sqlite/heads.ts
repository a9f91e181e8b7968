/** Heads: claims, releases, and who is there. */
import type { AgentKey } from "../../core/ids.ts";
import type { Due } from "../../ports/directory.ts";
import { type Claim, claimsMax, type Head } from "../../ports/store.ts";
import { fromKey, toKey } from "./keys.ts";
import type { Statements } from "./statements.ts";

export interface AgentRow {
  readonly id: number;
  readonly key: string;
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

const columns = "id, key, epoch, seq, base, claims, wake, own, at";

export function agentOf(sql: Statements, key: string): AgentRow | undefined {
  return sql.get<AgentRow>(`SELECT ${columns} FROM agent WHERE key = ?`, key);
}

export function headOf(row: AgentRow): Head {
  const { epoch, seq, claims, wake, at } = row;
  return { agent: fromKey(row.key), epoch, seq, claims, wake, at };
}

/** A new agent. Its epochs begin above those of all destroyed ones, so that no old owner fits it. */
export function newAgent(sql: Statements, key: string, wake: number | null, at: number): AgentRow {
  const insert =
    "INSERT INTO agent (key, epoch, seq, base, claims, wake, at) " +
    `VALUES (?, (SELECT epoch_floor FROM owner WHERE one = 1), 0, 0, 0, ?, ?) RETURNING ${columns}`;
  return sql.get<AgentRow>(insert, key, wake, at) as AgentRow;
}

export function claim(sql: Statements, agent: AgentKey, at: number): Claim {
  const key = toKey(agent);
  const row = agentOf(sql, key) ?? newAgent(sql, key, null, at);
  const quarantined = row.claims >= claimsMax;
  const claims = quarantined ? row.claims : row.claims + 1;
  sql.run("UPDATE agent SET epoch = ?, base = seq, claims = ? WHERE id = ?", row.epoch + 1, claims, row.id);
  const head = headOf({ ...row, epoch: row.epoch + 1, claims });
  return { kind: quarantined ? "quarantined" : "claimed", head };
}

export function release(sql: Statements, agent: AgentKey, epoch: number): boolean {
  const row = agentOf(sql, toKey(agent));
  if (row === undefined || row.epoch !== epoch) return false;
  if (sql.get("SELECT 1 FROM inbox WHERE agent = ? LIMIT 1", row.id) !== undefined) return false;
  // The epoch is spent with it, so that a commit that comes after is fenced.
  sql.run("UPDATE agent SET epoch = epoch + 1, base = seq, claims = 0 WHERE id = ?", row.id);
  return true;
}

export function due(sql: Statements, now: number, countMax: number, after?: Due): Due[] {
  const page =
    "SELECT wake, key FROM agent WHERE wake IS NOT NULL AND wake <= ? AND (wake, key) > (?, ?) " +
    "ORDER BY wake, key LIMIT ?";
  const from = after === undefined ? [Number.NEGATIVE_INFINITY, ""] : [after.wake, toKey(after.agent)];
  const rows = sql.all<{ wake: number; key: string }>(page, now, ...from, countMax);
  return rows.map(({ wake, key }) => ({ agent: fromKey(key), wake }));
}

export function list(sql: Statements, after: AgentKey | null, countMax: number): Head[] {
  const page = `SELECT ${columns} FROM agent WHERE key > ? ORDER BY key LIMIT ?`;
  return sql.all<AgentRow>(page, after === null ? "" : toKey(after), countMax).map(headOf);
}
