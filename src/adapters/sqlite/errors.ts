/** What SQLite's errors mean to the store, and the errors that the store throws. */
import { type ErrorCode, errorText, PerdureError } from "../../core/errors.ts";
import type { AgentKey } from "../../core/ids.ts";
import type { OwnerLabel } from "../../ports/store.ts";

/** An item that can never land. Ends its transaction; the others of the batch are tried again without it. */
export class Refusal extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** Somebody else holds the file now. */
export class Lost extends Error {}

/** Primary result codes: https://www.sqlite.org/rescode.html */
const names: Readonly<Record<number, string>> = {
  3: "SQLITE_PERM",
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  7: "SQLITE_NOMEM",
  8: "SQLITE_READONLY",
  9: "SQLITE_INTERRUPT",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  13: "SQLITE_FULL",
  14: "SQLITE_CANTOPEN",
  15: "SQLITE_PROTOCOL",
  18: "SQLITE_TOOBIG",
  19: "SQLITE_CONSTRAINT",
  20: "SQLITE_MISMATCH",
  22: "SQLITE_NOLFS",
  26: "SQLITE_NOTADB",
};
const notNow = new Set([3, 5, 6, 7, 8, 9, 10, 13, 14, 15, 22]);
const damage = new Set([11, 26]);
/** SQLITE_READONLY_DBMOVED: the file that is open is no longer the one at its path. */
const moved = 1032;

export interface Verdict {
  readonly kind: "lost" | "unavailable" | "damaged" | "other";
  readonly code: string;
}

export function verdictOf(error: unknown): Verdict {
  if (error instanceof Lost) return { kind: "lost", code: "OWNER_LOST" };
  if (error instanceof Refusal) return { kind: "other", code: error.code };
  const errcode = (error as { errcode?: unknown } | null)?.errcode;
  if (typeof errcode !== "number") return { kind: "other", code: "BAD_ITEM" };
  if (errcode === moved) return { kind: "lost", code: "OWNER_LOST" };
  // Extended codes keep their primary code in the low byte.
  const primary = errcode & 0xff;
  const code = names[primary] ?? `SQLITE_${errcode}`;
  if (notNow.has(primary)) return { kind: "unavailable", code };
  return { kind: damage.has(primary) ? "damaged" : "other", code };
}

function problem(code: ErrorCode, message: string, next: string, cause?: unknown): PerdureError {
  return new PerdureError({ code, message, next }, cause === undefined ? {} : { cause });
}

export function notOpen(path: string): PerdureError {
  const next = "Nothing was read or written. Call open() first, and nothing after close().";
  return problem("STORE_UNAVAILABLE", `The store ${path} is not open.`, next);
}

export function ownerLost(path: string, why: string): PerdureError {
  const next = "This process writes nothing more to it. Restart it if it should be the owner again.";
  return problem("OWNER_LOST", `The store ${path} is no longer held by this process: ${why}.`, next);
}

export function unavailable(path: string, code: string, cause: unknown): PerdureError {
  return new PerdureError(
    {
      code: "STORE_UNAVAILABLE",
      message: `The store ${path} takes no writes now (${code}).`,
      next: "Nothing was written. The same request succeeds once the disk has space and can be written.",
      retriable: true,
      details: { reason: code },
    },
    { cause },
  );
}

export function damagedFile(path: string, why: string, cause?: unknown): PerdureError {
  const next = "Nothing in it was changed. Restore a backup, or move the file away to begin with an empty store.";
  return problem("STORE_DAMAGED", `The store ${path} cannot be read: ${why}.`, next, cause);
}

export function damagedState(path: string, agent: AgentKey): PerdureError {
  const next = "This agent is not loaded; all others go on. Restore it from a backup, or destroy it.";
  return problem("STORE_DAMAGED", `The stored state of ${agent} in ${path} cannot be read.`, next);
}

export function newer(path: string, version: number, known: number): PerdureError {
  const next = "Nothing in it was changed. Run the version of Perdure that wrote it, or a later one.";
  return problem("STORE_NEWER", `The store ${path} has schema ${version}; this Perdure knows up to ${known}.`, next);
}

export function unwritable(path: string, why: string, cause?: unknown): PerdureError {
  const next = "Nothing was created. Give a path of a file in a folder that exists and that this user can write to.";
  return problem("STORE_UNWRITABLE", `The store ${path} cannot be written: ${why}.`, next, cause);
}

export function unfitFilesystem(path: string, why: string): PerdureError {
  const next =
    "Its file locks and shared memory cannot be trusted, so it was not opened. Use a local disk; `force` overrides this.";
  return problem("UNSUPPORTED_FILESYSTEM", `The store ${path} is on a filesystem that does not fit: ${why}.`, next);
}

/** @param holder who wrote its name last; null when that could not be read. */
export function ownerAlive(path: string, holder: OwnerLabel | null, why: string): PerdureError {
  const who = holder === null ? "another process" : `process ${holder.pid} on ${holder.host} (${holder.version})`;
  return new PerdureError({
    code: "OWNER_ALIVE",
    message: `The store ${path} is held by ${who}: ${why}.`,
    next: "This process did not open it. Stop that one first, or stand by for its end with `wait`.",
    retriable: true,
    details: { path, holder: holder === null ? null : { ...holder } },
  });
}

/** A thrown thing of an `open` that has no better name. */
export function openFailed(path: string, error: unknown): PerdureError {
  if (PerdureError.is(error)) return error;
  const { kind, code } = verdictOf(error);
  if (kind === "unavailable") return unwritable(path, `${errorText(error)} (${code})`, error);
  // An error of the filesystem, not of SQLite.
  if (typeof (error as { syscall?: unknown }).syscall === "string") return unwritable(path, errorText(error), error);
  return damagedFile(path, errorText(error), error);
}
