/**
 * A session: one connection that holds the file, from `open` to `close`. Every write goes through `write`, one
 * immediate transaction that first makes sure that the file is still ours.
 */
import type { DatabaseSync } from "node:sqlite";
import { damagedFile, Lost, notOpen, ownerLost, unavailable, verdictOf } from "./errors.ts";
import type { OwnerLock } from "./lock.ts";
import { type FileId, fileId, type Place } from "./place.ts";
import { Statements } from "./statements.ts";

export class Session {
  readonly place: Place;
  readonly db: DatabaseSync;
  readonly sql: Statements;
  readonly generation: number;
  /** Why it is ours no more. */
  lost: string | null = null;
  closed = false;
  readonly #lock: OwnerLock;
  readonly #file: FileId;
  #checkpoint = false;
  /** Bytes in the WAL for each byte that was counted. */
  #walFactor = 1;

  constructor(parts: { place: Place; db: DatabaseSync; lock: OwnerLock; file: FileId; generation: number }) {
    this.place = parts.place;
    this.db = parts.db;
    this.sql = new Statements(parts.db);
    this.generation = parts.generation;
    this.#lock = parts.lock;
    this.#file = parts.file;
  }

  /**
   * One immediate transaction. What `work` returns is true only when this returns: COMMIT has succeeded.
   * Throws what SQLite throws, or `Lost`; then nothing of it has landed, except that a COMMIT that failed with an I/O
   * error may have (the fence of the next try tells).
   */
  write<T>(work: () => T): T {
    this.standing();
    // A rollback that failed before is made up for; without that no transaction could begin again.
    if (this.db.isTransaction) this.sql.run("ROLLBACK");
    try {
      this.#sameFile();
      this.sql.run("BEGIN IMMEDIATE");
      const row = this.sql.get<{ generation: number }>("SELECT generation FROM owner WHERE one = 1");
      if (row?.generation !== this.generation) throw new Lost("another process has taken it over");
      const result = work();
      this.sql.run("COMMIT");
      this.#checkpointSoon();
      return result;
    } catch (error) {
      this.#rollback();
      if (verdictOf(error).kind === "lost") this.#lose(error);
      throw error;
    }
  }

  /** Throws when the session is over. */
  standing(): void {
    if (this.closed) throw notOpen(this.place.path);
    if (this.lost !== null) throw ownerLost(this.place.path, this.lost);
  }

  /** Runs what is not a commit: what it throws is said in our words. */
  answer<T>(work: () => T): T {
    this.standing();
    try {
      return work();
    } catch (error) {
      const { kind, code } = verdictOf(error);
      if (kind === "lost") throw ownerLost(this.place.path, this.lost ?? "its file is gone");
      if (kind === "unavailable") throw unavailable(this.place.path, code, error);
      if (kind === "damaged") throw damagedFile(this.place.path, code, error);
      throw error;
    }
  }

  /** Frees the file. The first process that waits for it may have it. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.#free();
  }

  /** At once also when it is lost: a later open of this process may read the file, which drops this one's locks. */
  #free(): void {
    try {
      if (this.db.isOpen) this.db.close();
    } finally {
      this.#lock.release();
    }
  }

  /** A file that was deleted or replaced takes writes as if nothing were wrong: one stat (4 us) a write finds out. */
  #sameFile(): void {
    const file = fileId(this.place.path);
    if (file === null) throw new Lost("its file was deleted");
    if (file.ino !== this.#file.ino || file.dev !== this.#file.dev) throw new Lost("its file was replaced");
  }

  #lose(error: unknown): void {
    this.lost = error instanceof Lost ? error.message : "its file was moved";
    this.#free();
  }

  #rollback(): void {
    // SQLite itself ends the transaction on a full disk and on most I/O errors.
    if (!this.db.isTransaction) return;
    try {
      this.sql.run("ROLLBACK");
    } catch {
      // Made up for by the next write.
    }
  }

  /** The WAL is moved into the file between commits, not inside one, and only when there is enough of it. */
  #checkpointSoon(): void {
    if (this.#checkpoint || this.sql.walBytes * this.#walFactor < checkpointBytes) return;
    this.#checkpoint = true;
    setImmediate(() => {
      this.#checkpoint = false;
      if (this.closed || this.lost !== null) return;
      try {
        const frames = this.sql.get<{ log: number }>("PRAGMA wal_checkpoint(PASSIVE)")?.log ?? 0;
        // What a row costs in pages grows with the file: learnt from the last stretch.
        this.#walFactor = Math.min(Math.max((frames * frameBytes) / this.sql.walBytes, 0.5), 16);
        this.sql.walBytes = 0;
      } catch {
        // It only moves what is durable already: tried again after the next write.
      }
    });
  }
}

/** Measured: about 6 ms to move, and never many megabytes to read again at a takeover. */
const checkpointBytes = 4 * 1024 * 1024;
/** A page and its header in the WAL. */
const frameBytes = 4096 + 24;
