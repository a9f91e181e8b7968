/** Files of every schema version open, and the migrations that made them stay as they were. */
import { readdirSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { migrate, migrations, schemaVersion, tables } from "../../src/adapters/sqlite/schema.ts";
import { SqliteStore } from "../../src/adapters/sqlite/store.ts";
import { drive, state } from "../../src/testing/contract/driver.ts";
import { label, scratch } from "./worlds.ts";

const cutover = (name: string): string => fileURLToPath(new URL(`../cutover/${name}`, import.meta.url));
const versions = migrations.map((_, index) => index + 1);
let place: ReturnType<typeof scratch>;

beforeEach(() => {
  place = scratch();
});

afterEach(() => place.remove());

function schemaOf(db: DatabaseSync): unknown {
  return db.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").all();
}

function frozen(version: number): DatabaseSync {
  const db = new DatabaseSync(place.path);
  db.exec(readFileSync(cutover(`schema-${version}.sql`), "utf8"));
  return db;
}

describe("schema", () => {
  it("[E2] every version has its frozen file", () => {
    const names = readdirSync(cutover(".")).filter((name) => /^schema-\d+\.sql$/.test(name));
    expect(names.sort()).toEqual(versions.map((version) => `schema-${version}.sql`));
  });

  it.each(versions)("[E2] a file of schema %i opens with all that is in it", async (version) => {
    frozen(version).close();
    const store = new SqliteStore({ path: place.path });
    await store.open(label);
    const dumps = JSON.parse(readFileSync(cutover(`schema-${version}.json`), "utf8")) as Record<string, unknown>;
    for (const [agent, dump] of Object.entries(dumps)) {
      expect(JSON.stringify(store.dump(agent))).toBe(JSON.stringify(dump));
    }
    await (await drive(store, "chat/one")).land({ state: state("goes on") });
    await store.close();
  });

  it.each(versions)("[E2] migrations up to %i make the schema that was released", (version) => {
    const made = new DatabaseSync(":memory:");
    for (const migration of migrations.slice(0, version)) made.exec(migration);
    const released = frozen(version);
    expect(schemaOf(made)).toEqual(schemaOf(released));
    released.close();
  });

  it("[E2] an older file is brought to the schema of a new one, once", () => {
    const fresh = new DatabaseSync(":memory:");
    migrate(fresh, 0);
    const older = frozen(1);
    migrate(older, 1);
    migrate(older, schemaVersion);
    expect(schemaOf(older)).toEqual(schemaOf(fresh));
    expect(older.prepare("PRAGMA user_version").get()?.["user_version"]).toBe(schemaVersion);
    const names = fresh.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    const own = names.map((row) => String(row["name"])).filter((name) => !name.startsWith("sqlite_"));
    expect(own.sort()).toEqual([...tables].sort());
    older.close();
  });
});
