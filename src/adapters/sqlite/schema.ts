/**
 * The schema, as migrations in order: the n-th (from 1) leads to `user_version` n. A migration that was released is
 * frozen, since files of every version exist; a change is a new one at the end.
 *
 * Texts named `json` are what JSON.stringify made: well-formed whatever the value (lone surrogates are escaped).
 * Ids are encoded by keys.ts. Times are REAL, because any double must come back as it went in.
 */
import type { DatabaseSync } from "node:sqlite";

/** "PRDR": tells our files from those of other programs. */
export const applicationId = 0x50524452;

const one = `
-- Who holds the file. The generation is raised by every takeover; a write under another one is not made.
CREATE TABLE owner (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  generation INTEGER NOT NULL,
  epoch_floor INTEGER NOT NULL,
  pid INTEGER, host TEXT, started_at REAL, version TEXT, taken_at REAL
) STRICT;
INSERT INTO owner (one, generation, epoch_floor) VALUES (1, 0, 0);

-- One head an agent. Ids are never used again (AUTOINCREMENT): rows of a destroyed agent are swept later.
CREATE TABLE agent (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL UNIQUE,
  epoch INTEGER NOT NULL, seq INTEGER NOT NULL, base INTEGER NOT NULL, claims INTEGER NOT NULL,
  wake REAL, own REAL, at REAL NOT NULL
) STRICT;
CREATE INDEX agent_wake ON agent (wake, key) WHERE wake IS NOT NULL;
CREATE TABLE state (agent INTEGER PRIMARY KEY, json TEXT NOT NULL) STRICT;
CREATE TABLE doomed (agent INTEGER PRIMARY KEY) STRICT;

CREATE TABLE inbox (
  n INTEGER PRIMARY KEY,
  agent INTEGER NOT NULL, id TEXT NOT NULL, hash TEXT NOT NULL, turn TEXT, json TEXT NOT NULL,
  UNIQUE (agent, id)
) STRICT;
CREATE TABLE tombstone (
  agent INTEGER NOT NULL, id TEXT NOT NULL, hash TEXT NOT NULL, turn TEXT, at REAL NOT NULL,
  PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstone_at ON tombstone (at);
CREATE TABLE outbox (
  n INTEGER PRIMARY KEY,
  agent INTEGER NOT NULL, id TEXT NOT NULL, due REAL NOT NULL, json TEXT NOT NULL,
  UNIQUE (agent, id)
) STRICT;
CREATE INDEX outbox_due ON outbox (agent, due);

CREATE TABLE turn (
  agent INTEGER NOT NULL, id TEXT NOT NULL, ended REAL, json TEXT NOT NULL,
  PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE ledger (
  agent INTEGER NOT NULL, turn TEXT NOT NULL, ordinal INTEGER NOT NULL, json TEXT NOT NULL,
  PRIMARY KEY (agent, turn, ordinal)
) STRICT, WITHOUT ROWID;

-- A turn's chunk log. Segments go to the end of one table with an index of small integers: measured against a table
-- clustered by (agent, turn, first), a commit of 50 agents writes a quarter of the pages.
CREATE TABLE log (
  id INTEGER PRIMARY KEY,
  agent INTEGER NOT NULL, turn TEXT NOT NULL, next INTEGER NOT NULL, ended REAL,
  UNIQUE (agent, turn)
) STRICT;
CREATE INDEX log_ended ON log (ended) WHERE ended IS NOT NULL;
CREATE TABLE segment (
  n INTEGER PRIMARY KEY,
  log INTEGER NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL, json TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX segment_first ON segment (log, first);

-- A message is its head and rows of parts, appended once a step.
CREATE TABLE message (
  n INTEGER PRIMARY KEY,
  agent INTEGER NOT NULL, id TEXT NOT NULL, depth INTEGER, last INTEGER NOT NULL, json TEXT NOT NULL,
  UNIQUE (agent, id)
) STRICT;
CREATE UNIQUE INDEX message_depth ON message (agent, depth) WHERE depth IS NOT NULL;
CREATE TABLE part (
  n INTEGER PRIMARY KEY,
  message INTEGER NOT NULL, row INTEGER NOT NULL, json TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX part_row ON part (message, row);

-- Inbox and outbox rows that could not be read: out of the way, and kept as evidence.
CREATE TABLE damaged (
  n INTEGER PRIMARY KEY,
  agent INTEGER NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, json TEXT
) STRICT;
`;

export const migrations: readonly string[] = [one];

/** The `user_version` that this code reads and writes. */
export const schemaVersion: number = migrations.length;

/** The tables that a file of this version must have. */
export const tables: readonly string[] = [
  ...["owner", "agent", "state", "doomed", "inbox", "tombstone", "outbox", "turn", "ledger"],
  ...["log", "segment", "message", "part", "damaged"],
];

/** Brings an empty or older file to this version, in one transaction. The caller holds the owner lock. */
export function migrate(db: DatabaseSync, from: number): void {
  if (from >= schemaVersion) return;
  db.exec("BEGIN IMMEDIATE");
  try {
    for (const migration of migrations.slice(from)) db.exec(migration);
    db.exec(`PRAGMA application_id = ${applicationId}`);
    db.exec(`PRAGMA user_version = ${schemaVersion}`);
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}
