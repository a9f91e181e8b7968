/** What goes: by age, or with its agent. Always in slices, so that no delete stops the process for long. */
import type { RetentionLimits } from "../../ports/store.ts";
import type { AgentRow } from "./heads.ts";
import type { Statements } from "./statements.ts";

/** Deletes at most `rowsMax` rows. True: there is more. */
export function retainSlice(sql: Statements, now: number, limits: RetentionLimits): boolean {
  let left = limits.rowsMax;
  left -= sweepDoomed(sql, left);
  left -= sweepLogs(sql, now - limits.chunksMs, left);
  left -= sweepTombstones(sql, now - limits.tombstonesMs, left);
  return left <= 0;
}

/** Nothing to delete: asked before a transaction is begun for it. */
export function nothingToRetain(sql: Statements, now: number, limits: RetentionLimits): boolean {
  return (
    sql.get("SELECT 1 FROM doomed LIMIT 1") === undefined &&
    sql.get("SELECT 1 FROM log WHERE ended <= ? LIMIT 1", now - limits.chunksMs) === undefined &&
    sql.get("SELECT 1 FROM tombstone WHERE at <= ? LIMIT 1", now - limits.tombstonesMs) === undefined
  );
}

/** The agent is gone at once; its rows, which nobody can reach any more, go in slices. */
export function doom(sql: Statements, head: AgentRow): void {
  sql.run("UPDATE owner SET epoch_floor = max(epoch_floor, ?) WHERE one = 1", head.epoch + 1);
  sql.run("DELETE FROM agent WHERE id = ?", head.id);
  sql.run("INSERT INTO doomed VALUES (?)", head.id);
}

/** The number of rows deleted; below `rowsMax` when nothing is left. */
export function sweepDoomed(sql: Statements, rowsMax: number): number {
  let deleted = 0;
  for (const { agent } of sql.all<{ agent: number }>("SELECT agent FROM doomed LIMIT 20")) {
    deleted += sweepAgent(sql, agent, rowsMax - deleted);
    if (deleted >= rowsMax) return deleted;
    sql.run("DELETE FROM doomed WHERE agent = ?", agent);
  }
  return deleted;
}

/** One statement a table, with the agent and a limit. Segments and parts go before what leads to them. */
const byAgent: readonly string[] = [
  "DELETE FROM segment WHERE n IN (SELECT n FROM segment WHERE log IN (SELECT id FROM log WHERE agent = ?) LIMIT ?)",
  "DELETE FROM part WHERE n IN (SELECT n FROM part WHERE message IN (SELECT n FROM message WHERE agent = ?) LIMIT ?)",
  "DELETE FROM log WHERE id IN (SELECT id FROM log WHERE agent = ? LIMIT ?)",
  "DELETE FROM message WHERE n IN (SELECT n FROM message WHERE agent = ? LIMIT ?)",
  "DELETE FROM inbox WHERE n IN (SELECT n FROM inbox WHERE agent = ? LIMIT ?)",
  "DELETE FROM outbox WHERE n IN (SELECT n FROM outbox WHERE agent = ? LIMIT ?)",
  "DELETE FROM tombstone WHERE (agent, id) IN (SELECT agent, id FROM tombstone WHERE agent = ? LIMIT ?)",
  "DELETE FROM turn WHERE (agent, id) IN (SELECT agent, id FROM turn WHERE agent = ? LIMIT ?)",
  "DELETE FROM ledger WHERE (agent, turn, ordinal) IN (SELECT agent, turn, ordinal FROM ledger WHERE agent = ? LIMIT ?)",
  "DELETE FROM state WHERE agent IN (SELECT agent FROM state WHERE agent = ? LIMIT ?)",
  "DELETE FROM damaged WHERE n IN (SELECT n FROM damaged WHERE agent = ? LIMIT ?)",
];

function sweepAgent(sql: Statements, agent: number, rowsMax: number): number {
  let deleted = 0;
  for (const statement of byAgent) {
    if (deleted >= rowsMax) break;
    deleted += sql.run(statement, agent, rowsMax - deleted);
  }
  return deleted;
}

function sweepLogs(sql: Statements, before: number, rowsMax: number): number {
  let deleted = 0;
  const logs = "SELECT id FROM log WHERE ended <= ? ORDER BY ended LIMIT ?";
  for (const { id } of sql.all<{ id: number }>(logs, before, Math.max(rowsMax, 0))) {
    if (deleted >= rowsMax) break;
    const slice = "DELETE FROM segment WHERE n IN (SELECT n FROM segment WHERE log = ? ORDER BY first LIMIT ?)";
    deleted += sql.run(slice, id, rowsMax - deleted);
    // Without its log a turn reads as an empty page: its final message is all that is left of it.
    if (deleted < rowsMax) deleted += sql.run("DELETE FROM log WHERE id = ?", id);
  }
  return deleted;
}

function sweepTombstones(sql: Statements, before: number, rowsMax: number): number {
  if (rowsMax <= 0) return 0;
  const slice =
    "DELETE FROM tombstone WHERE (agent, id) IN " +
    "(SELECT agent, id FROM tombstone WHERE at <= ? ORDER BY at LIMIT ?)";
  return sql.run(slice, before, rowsMax);
}
