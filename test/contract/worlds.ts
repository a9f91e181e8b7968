import { mkdtempSync, rmSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryDisk, MemoryStore } from "../../src/adapters/memory/store.ts";
import { toKey } from "../../src/adapters/sqlite/keys.ts";
import { SqliteStore } from "../../src/adapters/sqlite/store.ts";
import type { ContractWorld, RecordName } from "../../src/testing/contract/store-contract.ts";

export const label = { pid: process.pid, host: hostname(), startedAt: 1, version: "0.0.0" };

/** Any text that is not JSON. */
const broken = '{"torn":';

export async function memoryWorld(): Promise<ContractWorld> {
  const disk = new MemoryDisk();
  const open = async (): Promise<MemoryStore> => {
    const store = new MemoryStore(disk);
    await store.open(label);
    return store;
  };
  return {
    store: await open(),
    reopen: open,
    damage: async (agent, name) => damageMemory(disk, agent, name),
    refuseWrites: async (refuse) => {
      disk.full = refuse;
    },
    dispose: async () => {},
  };
}

function damageMemory(disk: MemoryDisk, agent: string, name: RecordName): void {
  const record = disk.agents.get(agent)!;
  if (name.kind === "state") record.state = broken;
  else if (name.kind === "segment") {
    const segments = record.logs.get(name.turn)!.segments;
    const i = segments.findIndex((segment) => segment.first === name.first);
    segments[i] = { ...segments[i]!, text: broken };
  } else {
    const maps = { message: record.messages, turn: record.turns, command: record.inbox, notice: record.outbox };
    const rows = maps[name.kind] as Map<string, { text: string }>;
    rows.set(name.id, { ...rows.get(name.id)!, text: broken });
  }
}

export function scratch(): { readonly path: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), "perdure-contract-"));
  return { path: join(folder, "perdure.db"), remove: () => rmSync(folder, { recursive: true, force: true }) };
}

export async function sqliteWorld(): Promise<ContractWorld> {
  const { path, remove } = scratch();
  const stores: SqliteStore[] = [];
  // Death without close: the old store stays open, holds its lock, and is what a stopped process would be.
  const open = async (): Promise<SqliteStore> => {
    const store = new SqliteStore({ path, force: stores.length > 0 });
    await store.open(label);
    stores.push(store);
    return store;
  };
  return {
    store: await open(),
    reopen: open,
    damage: async (agent, name) => damageSqlite(stores.at(-1)!, agent, name),
    refuseWrites: async (refuse) => limitPages(stores.at(-1)!, refuse),
    dispose: async () => {
      for (const store of stores) await store.close();
      remove();
    },
  };
}

/** As a full disk does: SQLite may not add a page. */
export function limitPages(store: SqliteStore, refuse: boolean): void {
  const { db } = store.session();
  const pages = refuse ? Number(db.prepare("PRAGMA page_count").get()?.["page_count"]) : 1_000_000;
  db.exec(`PRAGMA max_page_count = ${pages}`);
}

function damageSqlite(store: SqliteStore, agent: string, name: RecordName): void {
  const { db } = store.session();
  const id = db.prepare("SELECT id FROM agent WHERE key = ?").get(toKey(agent))!["id"] as number;
  const change = (sql: string, ...values: (string | number)[]): void => {
    const { changes } = db.prepare(sql).run(broken, id, ...values);
    if (changes !== 1) throw new Error(`nothing to damage: ${sql}`);
  };
  if (name.kind === "state") change("UPDATE state SET json = ? WHERE agent = ?");
  else if (name.kind === "segment") {
    const log = "(SELECT id FROM log WHERE agent = ? AND turn = ?)";
    change(`UPDATE segment SET json = ? WHERE log = ${log} AND first = ?`, toKey(name.turn), name.first);
  } else {
    const table = { message: "message", turn: "turn", command: "inbox", notice: "outbox" }[name.kind];
    change(`UPDATE ${table} SET json = ? WHERE agent = ? AND id = ?`, toKey(name.id));
  }
}
