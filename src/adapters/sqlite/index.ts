import type { Directory } from "../../ports/directory.ts";
import type { Store } from "../../ports/store.ts";
import type { SqliteOptions } from "./open.ts";
import { SqliteStore } from "./store.ts";

export type { SqliteOptions } from "./open.ts";

/** Both ports on one file; `dump` is outside of them, for tests and doctors. */
export interface SqlitePerdureStore extends Store, Directory {
  /** Everything durable of one agent as one canonical value. Null: unknown agent. */
  dump(agent: string): unknown;
}

/**
 * A store in one SQLite file, for one process at a time. Nothing is touched before `open`.
 *
 *   const store = sqliteStore({ path: "data/perdure.db", wait: 30_000 });
 *   await store.open({ pid: process.pid, host: hostname(), startedAt: Date.now(), version });
 *
 * Commits are durable when they are answered (WAL, synchronous=FULL). `open` throws OWNER_ALIVE while another process,
 * or another store of this one, has the file; a holder that was killed is followed at once.
 */
export function sqliteStore(options: SqliteOptions): SqlitePerdureStore {
  return new SqliteStore(options);
}
