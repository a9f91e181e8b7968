/** What a file may look like: refused untouched (ST9), full (ST10), of an older version: sqlite-schema.test.ts. */
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { networkName, placeOf, refuseNetwork } from "../../src/adapters/sqlite/place.ts";
import { schemaVersion, tables } from "../../src/adapters/sqlite/schema.ts";
import { SqliteStore } from "../../src/adapters/sqlite/store.ts";
import { PerdureError } from "../../src/core/errors.ts";
import {
  codeOf,
  delta,
  drive,
  kinds,
  ledgerRow,
  notice,
  state,
  submit,
  tombstone,
  turnRow,
} from "../../src/testing/contract/driver.ts";
import { label, limitPages, scratch } from "./worlds.ts";

let place: ReturnType<typeof scratch>;
let store: SqliteStore;

beforeEach(() => {
  place = scratch();
  store = new SqliteStore({ path: place.path });
});

afterEach(async () => {
  await store.close();
  place.remove();
});

/** A closed store with something in it. */
async function written(): Promise<void> {
  await store.open(label);
  const owner = await drive(store, "chat/a");
  for (let n = 0; n < 30; n += 1) {
    await owner.land({ state: state(n), chunks: [{ turn: "t1", first: n, chunks: [delta("x".repeat(500))] }] });
  }
  await store.close();
}

function alter(sql: string): void {
  const db = new DatabaseSync(place.path);
  db.exec(sql);
  db.close();
}

/** Names and bytes of all files in the folder. */
function folder(): Record<string, string> {
  const names = readdirSync(dirname(place.path)).sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(dirname(place.path), name), "latin1")]));
}

/** Opens it, expects the code, and that no byte and no name in the folder has changed. */
async function refused(code: string): Promise<string> {
  const before = folder();
  const again = new SqliteStore({ path: place.path });
  const error = await again.open(label).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  const after = folder();
  expect(Object.keys(after)).toEqual(Object.keys(before));
  for (const name of Object.keys(before)) expect([name, after[name] === before[name]]).toEqual([name, true]);
  if (!PerdureError.is(error)) throw new Error(`expected a PerdureError, got ${String(error)}`);
  expect(error.code).toBe(code);
  return error.message;
}

describe("files that are refused", () => {
  it("[ST9][E2] a newer file is untouched, with and without a side file", async () => {
    await written();
    alter("PRAGMA user_version = 999");
    expect(await refused("STORE_NEWER")).toContain(`schema 999; this Perdure knows up to ${schemaVersion}`);
    const alone = readFileSync(place.path);
    place.remove();
    place = scratch();
    writeFileSync(place.path, alone);
    await refused("STORE_NEWER");
  });

  it("[ST9] a newer version that only the WAL of a killed owner knows of is untouched", async () => {
    await written();
    const script = `
      const { DatabaseSync } = require("node:sqlite");
      const db = new DatabaseSync(${JSON.stringify(place.path)});
      db.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA user_version = 999");
      process.kill(process.pid, "SIGKILL");`;
    spawnSync(process.execPath, ["-e", script]);
    expect(existsSync(`${place.path}-wal`)).toBe(true);
    const before = folder();
    expect(await codeOf(new SqliteStore({ path: place.path }).open(label))).toBe("STORE_NEWER");
    const after = folder();
    // Its shared memory is rebuilt by looking into the WAL; that is no data.
    for (const name of ["perdure.db", "perdure.db-wal", "perdure.db-owner"]) {
      expect([name, after[name] === before[name]]).toEqual([name, true]);
    }
  });

  it("[ST9] what is not a database, or of another program, is untouched", async () => {
    writeFileSync(place.path, "not a database at all ".repeat(500));
    expect(await refused("STORE_DAMAGED")).toContain("not a SQLite database");
    writeFileSync(place.path, "short");
    await refused("STORE_DAMAGED");
    for (const mark of ["", "PRAGMA application_id = 7;", "PRAGMA journal_mode = WAL;", "PRAGMA user_version = 1;"]) {
      writeFileSync(place.path, "");
      alter(`CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1); ${mark}`);
      expect(await refused("STORE_DAMAGED")).toContain("another program");
    }
  });

  it("[ST9] a file that lost its end or its tables is untouched", async () => {
    await written();
    truncateSync(place.path, 8192);
    expect(await refused("STORE_DAMAGED")).toContain("its end is missing");
    place.remove();
    place = scratch();
    store = new SqliteStore({ path: place.path });
    await written();
    alter("DROP TABLE segment");
    expect(await refused("STORE_DAMAGED")).toContain("segment");
  });

  it("[ST9] a file whose maker was killed before the first table is made again", async () => {
    alter("PRAGMA journal_mode = WAL");
    expect(statSync(place.path).size).toBe(4096);
    await store.open(label);
    await (await drive(store, "chat/a")).land({ state: state(1) });
  });

  it("[ST9] garbage in the middle is found when it is read, and harms nobody else", async () => {
    await written();
    const bytes = readFileSync(place.path);
    const from = bytes.indexOf("x".repeat(400));
    bytes.fill(0xee, from - (from % 4096), from - (from % 4096) + 4096);
    writeFileSync(place.path, bytes);
    store = new SqliteStore({ path: place.path });
    await store.open(label);
    expect(await codeOf(store.chunks("chat/a", "t1", 0, 100_000))).toBe("STORE_DAMAGED");
    expect((await store.load("chat/a")).state).toBe(29);
    await (await drive(store, "chat/b")).land({ state: state("fine") });
  });

  it("[ST9] a path that cannot be a store is refused in a clear sentence", async () => {
    const text = async (path: string): Promise<string> => {
      const error = await new SqliteStore({ path }).open(label).catch((thrown: unknown) => thrown);
      return PerdureError.is(error, "STORE_UNWRITABLE") ? error.problem.message : String(error);
    };
    const root = dirname(place.path);
    mkdirSync(join(root, "folder"));
    symlinkSync(join(root, "nowhere"), join(root, "link"));
    expect(await text(join(root, "folder"))).toContain("it is a folder, not a file");
    expect(await text(join(root, "none", "p.db"))).toContain(`its folder ${join(root, "none")} does not exist`);
    expect(await text(join(root, "link"))).toContain("leads nowhere");
    expect(await text("/proc/perdure.db")).toContain("cannot be written");
    expect(readdirSync(root).sort()).toEqual(["folder", "link"]);
  });

  it("[ST9] network filesystems are told by their type", () => {
    expect([0x6969, 0xff534d42, -0xacbdbe, 0x01021997].map((type) => networkName(type))).toEqual([
      "NFS",
      "CIFS",
      null,
      "9p",
    ]);
    expect(networkName(0xfe534d42 | 0)).toBe("SMB2");
    expect([0xef53, 0x01021994, 0x9123683e, 0x58465342].map((type) => networkName(type))).toEqual([
      null,
      null,
      null,
      null,
    ]);
    refuseNetwork(placeOf(place.path));
  });
});

describe("files that take no writes now", () => {
  it("[ST10] a full disk: nothing lands, nothing is lost, and work goes on when there is space", async () => {
    await store.open(label);
    const owners = await Promise.all(["a", "b", "c"].map((id) => drive(store, `chat/${id}`)));
    const chunks = [{ turn: "t1", first: 0, chunks: [delta("y".repeat(200_000))] }];
    const batch = owners.map((owner) => owner.next({ state: state("x"), chunks }));
    limitPages(store, true);
    for (let n = 0; n < 3; n += 1) {
      const results = await store.commit(batch);
      expect(results).toEqual(batch.map(() => ({ kind: "unavailable", code: "SQLITE_FULL" })));
    }
    expect((await store.load("chat/a")).head.seq).toBe(0);
    const error = await store
      .destroy("chat/none")
      .then(() => store.enqueue("chat/new", bigCommand()))
      .catch((e: unknown) => e);
    expect(PerdureError.is(error, "STORE_UNAVAILABLE") && error.problem.retriable).toBe(true);
    limitPages(store, false);
    expect(kinds(await store.commit(batch))).toEqual(["landed", "landed", "landed"]);
    expect((await store.enqueue("chat/new", bigCommand())).kind).toBe("accepted");
  });

  it("[ST10] a repair tool that writes makes the store wait, not fail", async () => {
    await store.open(label);
    const owner = await drive(store, "chat/a");
    const tool = new DatabaseSync(place.path);
    tool.exec("BEGIN IMMEDIATE");
    const item = owner.next({ state: state(1) });
    expect(await store.commit([item])).toEqual([{ kind: "unavailable", code: "SQLITE_BUSY" }]);
    expect(await codeOf(store.claim("chat/b", 1))).toBe("STORE_UNAVAILABLE");
    tool.exec("ROLLBACK");
    tool.close();
    expect(kinds(await store.commit([item]))).toEqual(["landed"]);
  });

  it("[ST10] a COMMIT that fails is nobody's fault, and the next try tells whether it had landed", async () => {
    await store.open(label);
    const owners = [await drive(store, "chat/a"), await drive(store, "chat/b")];
    const { sql } = store.session();
    const run = sql.run.bind(sql);
    const failing = (errcode: number, after: boolean): void => {
      sql.run = (text, ...values) => {
        if (text !== "COMMIT") return run(text, ...values);
        if (after) run(text);
        throw Object.assign(new Error("injected"), { errcode });
      };
    };
    for (const [errcode, code] of [
      [10, "SQLITE_IOERR"],
      [11, "SQLITE_CORRUPT"],
      [1, "SQLITE_1"],
    ] as const) {
      for (const after of [false, true]) {
        const batch = owners.map((owner) => owner.next({ state: state(`${errcode} ${after}`) }));
        failing(errcode, after);
        expect(await store.commit(batch)).toEqual(batch.map(() => ({ kind: "unavailable", code })));
        sql.run = run;
        const seq = (await store.load("chat/a")).head.seq;
        expect(seq).toBe((batch[0]?.seq ?? 0) - (after ? 0 : 1));
        expect(kinds(await store.commit(batch))).toEqual(["landed", "landed"]);
        expect((await store.load("chat/b")).state).toBe(`${errcode} ${after}`);
      }
    }
  });

  it("[ST10] commits that run while it is closed are not said to have landed", async () => {
    await store.open(label);
    const owner = await drive(store, "chat/a");
    const text = "z".repeat(900_000);
    const batch = [0, 1, 2, 3].map((first) => owner.next({ chunks: [{ turn: "t1", first, chunks: [delta(text)] }] }));
    const [results] = await Promise.all([store.commit(batch), store.close()]);
    const landed = results.filter((result) => result.kind === "landed").length;
    store = new SqliteStore({ path: place.path });
    await store.open(label);
    expect((await store.load("chat/a")).head.seq).toBe(landed);
  });
});

describe("what is destroyed", () => {
  it("[ST7] leaves no row of any table, also when the sweep is left to retention", async () => {
    await store.open(label);
    const { db, sql } = store.session();
    const rows = (): string[] =>
      tables.filter((name) => name !== "owner" && db.prepare(`SELECT 1 FROM ${name} LIMIT 1`).get() !== undefined);
    const run = sql.run.bind(sql);
    for (const swept of [true, false]) {
      const owner = await drive(store, "chat/a");
      await owner.land({
        state: state(1),
        chunks: [{ turn: "t1", first: 0, chunks: [delta("x")] }],
        messages: [{ op: "put", message: { id: "m", role: "user" }, depth: 0, parts: [{ part: { type: "x" } }] }],
        turns: [turnRow("t1")],
        ledger: [ledgerRow("t1", 0)],
        outboxPut: [notice("n1", 1), notice("n2", 2)],
        consumed: [tombstone("c1")],
      });
      await store.enqueue("chat/a", submit("c2"));
      db.exec("UPDATE outbox SET json = 'broken' WHERE id = 'n1'");
      await store.load("chat/a");
      expect(rows().sort()).toEqual(tables.filter((name) => name !== "owner" && name !== "doomed").sort());
      sql.run = (text, ...values) => {
        if (!swept && text.startsWith("DELETE FROM segment")) throw Object.assign(new Error("full"), { errcode: 13 });
        return run(text, ...values);
      };
      await store.destroy("chat/a");
      sql.run = run;
      expect(rows().includes("segment")).toBe(!swept);
      for (let slices = 0; await store.retain(0, { chunksMs: 0, tombstonesMs: 0, rowsMax: 2 }); slices += 1) {
        expect(slices).toBeLessThan(30);
      }
      expect(rows()).toEqual([]);
    }
  });
});

function bigCommand() {
  const body = { text: "w".repeat(300_000) };
  return { v: 1, id: "c1", hash: "h", at: 1, kind: "submit", turn: "t1", messages: [], body } as const;
}
