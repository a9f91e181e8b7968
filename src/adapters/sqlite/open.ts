/**
 * Opening a file: look without touching, take the lock, look again, then take over.
 *
 * A file that is refused is not changed by a byte, and side files are not made beside it where that can be avoided.
 * A takeover raises the generation in the main file: what the old owner writes after it does not land.
 */
import { hostname } from "node:os";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { OwnerLabel } from "../../ports/store.ts";
import { damagedFile, newer, openFailed, ownerAlive, unfitFilesystem, verdictOf } from "./errors.ts";
import { forceLock, type OwnerLock, tryLock } from "./lock.ts";
import { type FileId, fileId, hasWal, inspectHeader, type Place, placeOf, refuseNetwork } from "./place.ts";
import { applicationId, migrate, schemaVersion, tables } from "./schema.ts";
import { Session } from "./session.ts";

export interface SqliteOptions {
  /** Of the database file; its folder must exist. Two more files live beside it: `-wal` and `-owner`. */
  readonly path: string;
  /** Milliseconds to stand by for the end of a live holder, without blocking the event loop. Default 0: refuse at once. */
  readonly wait?: number;
  /** Epoch milliseconds, noted in the holder's row. Default Date.now. */
  readonly now?: () => number;
  /**
   * For an operator who knows that the holder is dead or stopped: ignores its lock, and the kind of filesystem. The old
   * holder, if it lives, changes nothing more. Default false.
   */
  readonly force?: boolean;
}

const pollMs = 6;
/** SQLite waits this long, and blocks the event loop, for a repair tool that writes. */
const busyMs = 20;
const takeOverMs = 1_000;

export async function openSession(options: SqliteOptions, owner: OwnerLabel): Promise<Session> {
  const place = placeOf(options.path);
  const force = options.force ?? false;
  if (!force) refuseNetwork(place);
  let lock: OwnerLock | undefined;
  try {
    // Without a side file nobody holds the place, and to take the lock first would leave one beside a refused file.
    if (fileId(place.ownerPath) === null) inspect(place, false);
    lock = force ? forceLock(place) : await acquire(place, options.wait ?? 0);
    inspect(place, force);
    return await takeOver(place, lock, owner, options);
  } catch (error) {
    lock?.release();
    throw openFailed(place.path, error);
  }
}

async function acquire(place: Place, waitMs: number): Promise<OwnerLock> {
  const start = performance.now();
  for (let tries = 1; ; tries += 1) {
    const lock = tryLock(place);
    if (lock !== null) return lock;
    // A few tries even without `wait`: two that open at once may shut each other out for a moment.
    if (tries >= 3 && performance.now() - start >= waitMs) break;
    await sleep(pollMs);
  }
  const holder = holderOf(place);
  // A pid alone is a label: two containers have the same ones.
  const here = holder?.pid === process.pid && holder.host === hostname();
  const why = here ? "this very process has it open already" : "it is alive and holds the owner lock";
  throw ownerAlive(place.path, holder, why);
}

/**
 * Throws STORE_DAMAGED, STORE_NEWER for a file that is not ours to write. `held`: somebody may have it open, so it is
 * looked at through SQLite only.
 */
function inspect(place: Place, held: boolean): void {
  if (fileId(place.path) === null) return;
  if (!held) inspectHeader(place);
  // The header says all, unless a killed owner left its last commits in the WAL.
  if (held || hasWal(place)) probe(place);
}

/** Through a read-only connection: its close moves nothing from the WAL into the file. */
function probe(place: Place): void {
  const db = new DatabaseSync(place.path, { readOnly: true, timeout: busyMs });
  try {
    versionOf(place, db);
  } finally {
    db.close();
  }
}

/** The schema version of a file: 0 for an empty one. Throws for what is not ours, or is newer. */
function versionOf(place: Place, db: DatabaseSync): number {
  const application = number(db, "PRAGMA application_id", "application_id");
  const version = number(db, "PRAGMA user_version", "user_version");
  const found = db.prepare("SELECT name FROM sqlite_schema").all();
  if (application === 0 && version === 0 && found.length === 0) return 0;
  if (application !== applicationId) throw damagedFile(place.path, "it is a SQLite database of another program");
  if (version > schemaVersion) throw newer(place.path, version, schemaVersion);
  const names = new Set(found.map((row) => row["name"]));
  const missing = version === schemaVersion ? tables.filter((name) => !names.has(name)) : [];
  if (missing.length > 0) throw damagedFile(place.path, `it has no table "${missing[0]}"`);
  return version;
}

function number(db: DatabaseSync, sql: string, column: string): number {
  return Number(db.prepare(sql).get()?.[column]);
}

async function takeOver(place: Place, lock: OwnerLock, owner: OwnerLabel, options: SqliteOptions): Promise<Session> {
  const db = new DatabaseSync(place.path, { timeout: busyMs, enableForeignKeyConstraints: false });
  try {
    const start = performance.now();
    for (;;) {
      try {
        const version = versionOf(place, db);
        settings(place, db);
        migrate(db, version);
        const generation = raise(place, db, owner, (options.now ?? Date.now)());
        return new Session({ place, db, lock, file: fileId(place.path) as FileId, generation });
      } catch (error) {
        if (verdictOf(error).code !== "SQLITE_BUSY") throw error;
        // An owner that was stopped in the middle of a commit keeps SQLite's own write lock.
        const why = "it is in the middle of a write, and stopped";
        if (performance.now() - start > Math.max(options.wait ?? 0, takeOverMs)) {
          throw ownerAlive(place.path, holderOf(place), why);
        }
        await sleep(pollMs);
      }
    }
  } catch (error) {
    db.close();
    throw error;
  }
}

function settings(place: Place, db: DatabaseSync): void {
  const mode = db.prepare("PRAGMA journal_mode = WAL").get()?.["journal_mode"];
  if (mode !== "wal") throw unfitFilesystem(place.path, `it allows no write-ahead log (${String(mode)})`);
  // FULL: a commit that is answered is on the disk. macOS needs its own kind of fsync for that; others ignore it.
  db.exec("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY");
  // The session moves the WAL itself, off the hot path. This is for what it underestimates: 32 MB.
  db.exec("PRAGMA wal_autocheckpoint = 8192; PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -16384");
}

function raise(place: Place, db: DatabaseSync, owner: OwnerLabel, now: number): number {
  db.exec("BEGIN IMMEDIATE");
  try {
    const taken = db
      .prepare(
        "UPDATE owner SET generation = generation + 1, pid = ?, host = ?, started_at = ?, version = ?, taken_at = ? " +
          "WHERE one = 1 RETURNING generation",
      )
      .get(owner.pid, owner.host, owner.startedAt, owner.version, now);
    if (taken === undefined) throw damagedFile(place.path, "its owner row is missing");
    db.exec("COMMIT");
    return Number(taken["generation"]);
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** Who took the file last; null when that cannot be read. */
export function holderOf(place: Place): OwnerLabel | null {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(place.path, { readOnly: true, timeout: busyMs });
    const row = db.prepare("SELECT pid, host, started_at, version FROM owner WHERE one = 1 AND pid IS NOT NULL").get();
    if (row === undefined) return null;
    const [pid, startedAt] = [Number(row["pid"]), Number(row["started_at"])];
    return { pid, host: String(row["host"]), startedAt, version: String(row["version"]) };
  } catch {
    return null;
  } finally {
    db?.close();
  }
}
