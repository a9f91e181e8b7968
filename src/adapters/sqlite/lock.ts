/**
 * The owner lock: a side file in rollback-journal mode whose connection holds BEGIN IMMEDIATE for life. The operating
 * system frees it at the death of the process, and only then: a stopped process keeps it.
 *
 * The lock detects, the generation protects: whoever reads the side file elsewhere in the holder's process drops the
 * lock unseen (POSIX), and the holder then ends with a clear error. So nothing but this module opens the side file, and
 * nothing deletes it but a forced takeover.
 */
import { closeSync, openSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { verdictOf } from "./errors.ts";
import { fileId, type Place } from "./place.ts";

export interface OwnerLock {
  release(): void;
}

/**
 * Null: somebody alive holds it, in this process or another. Throws what SQLite throws when the side file cannot be used
 * at all.
 */
export function tryLock(place: Place): OwnerLock | null {
  const db = lockFile(place);
  return db === null ? null : { release: () => (db.isOpen ? db.close() : undefined) };
}

/** Takes the place from whoever holds it: a new side file, on whose inode the old holder has no lock. */
export function forceLock(place: Place): OwnerLock {
  rmSync(place.ownerPath, { force: true });
  rmSync(`${place.ownerPath}-journal`, { force: true });
  const lock = tryLock(place);
  if (lock === null) throw new Error(`another process took ${place.ownerPath} in the same moment`);
  return lock;
}

function lockFile(place: Place): DatabaseSync | null {
  create(place.ownerPath);
  const before = fileId(place.ownerPath);
  const db = new DatabaseSync(place.ownerPath, { timeout: 0 });
  try {
    db.exec("BEGIN IMMEDIATE");
    // A forced takeover may have put a new file in its place meanwhile: a lock on the old one is worth nothing.
    const after = fileId(place.ownerPath);
    if (before !== null && after?.ino === before.ino && after.dev === before.dev) return db;
    db.close();
    return null;
  } catch (error) {
    db.close();
    if (verdictOf(error).code === "SQLITE_BUSY") return null;
    throw error;
  }
}

function create(path: string): void {
  if (fileId(path) !== null) return;
  try {
    closeSync(openSync(path, "wx"));
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
  }
}
