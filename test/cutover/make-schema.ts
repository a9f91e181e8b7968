/**
 * Writes schema-<version>.sql and .json: a file of the schema of today with something in every table, and what a store
 * reads out of it. Run once, when a schema version is new; what it wrote is frozen from then on.
 *
 *   node test/cutover/make-schema.ts
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { schemaVersion } from "../../src/adapters/sqlite/schema.ts";
import { SqliteStore } from "../../src/adapters/sqlite/store.ts";
import * as say from "../../src/testing/contract/driver.ts";

const folder = mkdtempSync(join(tmpdir(), "perdure-cutover-"));
const path = join(folder, "perdure.db");
const store = new SqliteStore({ path, now: () => say.at });
await store.open({ pid: 7, host: "frozen", startedAt: say.at, version: "0.1.0" });

const owner = await say.drive(store, "chat/one");
for (const id of ["c1", "c2", "odd\ud800\u0000"]) await store.enqueue("chat/one", say.submit(id));
await owner.land({
  state: say.state({ "": ["\ud800", "Привет 😀"], n: 1.5 }, 9_000),
  chunks: [{ turn: "t1", first: 0, chunks: [say.delta("a"), say.delta("it's")] }],
  messages: [say.put("m1", 0, "hello"), say.put("m2", null, "waits"), say.put("m\u0000", 1)],
  turns: [say.turnRow("t1"), say.turnRow("t2", "queued"), say.turnRow("t0", "settled", say.at)],
  ledger: [say.ledgerRow("t1", 0, "settled"), say.ledgerRow("t1", 1, "started")],
  consumed: [say.tombstone("c1")],
  outboxPut: [say.notice("n1", 5_000), say.notice("n2", 100)],
});
await owner.land({
  chunks: [{ turn: "t1", first: 2, chunks: [say.delta("b")] }],
  messages: [{ op: "parts", id: "m\u0000", index: 2, parts: [say.textPart("step")] }],
});
await (await say.drive(store, "chat/gone")).land({ messages: [say.put("m1", 0)] });
await store.destroy("chat/gone");
await store.enqueue("bot/new", say.submit("c9"));
const dumps = Object.fromEntries(["chat/one", "bot/new"].map((agent) => [agent, store.dump(agent)]));
await store.close();

const base = fileURLToPath(new URL(`schema-${schemaVersion}`, import.meta.url));
writeFileSync(`${base}.sql`, sqlOf(path));
writeFileSync(`${base}.json`, `${JSON.stringify(dumps, null, 1)}\n`);
rmSync(folder, { recursive: true });

function sqlOf(file: string): string {
  const db = new DatabaseSync(file);
  const schema = db.prepare("SELECT name, type, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid").all();
  const lines = [`PRAGMA application_id = ${db.prepare("PRAGMA application_id").get()?.["application_id"]};`];
  lines.push(`PRAGMA user_version = ${schemaVersion};`);
  for (const { name, sql } of schema) if (name !== "sqlite_sequence") lines.push(`${sql};`);
  for (const { name, type } of schema) {
    if (type !== "table") continue;
    if (name === "sqlite_sequence") lines.push("DELETE FROM sqlite_sequence;");
    for (const row of db.prepare(`SELECT * FROM ${name}`).all()) {
      lines.push(`INSERT INTO ${name} VALUES (${Object.values(row).map(literal).join(", ")});`);
    }
  }
  db.close();
  return `${lines.join("\n")}\n`;
}

function literal(value: unknown): string {
  if (typeof value !== "string") return value === null ? "NULL" : String(value);
  if (/^[ -~]*$/.test(value)) return `'${value.replaceAll("'", "''")}'`;
  return `CAST(X'${Buffer.from(value).toString("hex")}' AS TEXT)`;
}
