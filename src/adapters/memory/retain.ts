/** Retention of a memory disk, in slices, by the same rules as the engines. */
import type { RetentionLimits } from "../../ports/store.ts";
import type { AgentRecord, MemoryDisk } from "./disk.ts";

/** One slice of at most `rowsMax` rows. True: there is more. */
export function retainSlice(disk: MemoryDisk, now: number, limits: RetentionLimits): boolean {
  let left = limits.rowsMax;
  for (const record of disk.agents.values()) {
    left -= sweepLogs(record, now - limits.chunksMs, left);
    left -= sweepTombstones(record, now - limits.tombstonesMs, left);
    if (left <= 0) return true;
  }
  return false;
}

function sweepLogs(record: AgentRecord, before: number, rowsMax: number): number {
  let deleted = 0;
  for (const [turn, log] of record.logs) {
    const ended = record.turns.get(turn)?.ended ?? null;
    if (ended === null || ended > before) continue;
    if (deleted >= rowsMax) return deleted;
    deleted += log.segments.splice(0, rowsMax - deleted).length;
    if (log.segments.length > 0) return deleted;
    // Without its log a turn reads as an empty page: its final message is all that is left of it.
    record.logs.delete(turn);
    deleted += 1;
  }
  return deleted;
}

function sweepTombstones(record: AgentRecord, before: number, rowsMax: number): number {
  let deleted = 0;
  for (const [id, row] of record.tombstones) {
    if (row.at > before) continue;
    if (deleted >= rowsMax) break;
    record.tombstones.delete(id);
    deleted += 1;
  }
  return deleted;
}
