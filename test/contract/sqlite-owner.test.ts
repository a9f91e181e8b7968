/** Ownership of a file between real processes (O1 to O4). */
import { readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SqliteStore } from "../../src/adapters/sqlite/store.ts";
import { PerdureError } from "../../src/core/errors.ts";
import { codeOf, drive, state, submit } from "../../src/testing/contract/driver.ts";
import { endHolder, type Holder, startHolder } from "./child/start.ts";
import { label, scratch } from "./worlds.ts";

let place: ReturnType<typeof scratch>;
let holders: Holder[] = [];
let stores: SqliteStore[] = [];

beforeEach(() => {
  place = scratch();
});

afterEach(async () => {
  for (const holder of holders) await endHolder(holder);
  for (const store of stores) await store.close();
  [holders, stores] = [[], []];
  place.remove();
});

async function holding(): Promise<Holder> {
  const holder = startHolder(place.path);
  holders.push(holder);
  expect(await holder.heard()).toBe("open");
  return holder;
}

function storeOf(options: { wait?: number; force?: boolean; path?: string } = {}): SqliteStore {
  const store = new SqliteStore({ path: place.path, ...options });
  stores.push(store);
  return store;
}

async function openStore(options: { wait?: number; force?: boolean } = {}): Promise<SqliteStore> {
  const store = storeOf(options);
  await store.open(label);
  return store;
}

async function problemOf(promise: Promise<unknown>): Promise<PerdureError> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!PerdureError.is(error)) throw new Error(`expected a PerdureError, got ${String(error)}`);
  return error;
}

describe("one owner of a file", () => {
  it("[O1] a second live process is refused, and told who holds it", async () => {
    const holder = await holding();
    const error = await problemOf(storeOf().open(label));
    expect(error.code).toBe("OWNER_ALIVE");
    expect(error.message).toContain(`process ${holder.pid} on child-host (1.2.3)`);
    expect(error.problem.details?.["holder"]).toEqual({
      pid: holder.pid,
      host: "child-host",
      startedAt: 42,
      version: "1.2.3",
    });
    expect(await holder.ask("claim")).toBe("claimed 1");
    expect(await holder.ask("commit")).toBe("landed");
  });

  it("[O1] two stores of one process are refused too, also through a symbolic link", async () => {
    const first = await openStore();
    expect(await codeOf(storeOf().open(label))).toBe("OWNER_ALIVE");
    const link = `${place.path}-link`;
    symlinkSync(place.path, link);
    const error = await problemOf(storeOf({ path: link }).open(label));
    expect([error.code, error.message.includes("this very process")]).toEqual(["OWNER_ALIVE", true]);
    await (await drive(first, "chat/a")).land({ state: state(1) });
    await first.close();
    await (await drive(await openStore(), "chat/a")).land({ state: state(2) });
  });

  it("[O1] a refused attempt inside the process does not drop its lock", async () => {
    await openStore();
    expect(await codeOf(storeOf().open(label))).toBe("OWNER_ALIVE");
    const thread = new Worker(new URL("./child/thread.ts", import.meta.url), { workerData: place.path });
    expect(await new Promise((resolve) => thread.once("message", resolve))).toBe("OWNER_ALIVE");
    await thread.terminate();
    const outside = startHolder(place.path);
    holders.push(outside);
    expect(await outside.heard()).toBe("OWNER_ALIVE");
  });

  it("[O1] of many that open at once, one gets it", async () => {
    const many = Array.from({ length: 4 }, () => startHolder(place.path));
    holders.push(...many);
    const said = await Promise.all(many.map((holder) => holder.heard()));
    expect(said.sort()).toEqual(["OWNER_ALIVE", "OWNER_ALIVE", "OWNER_ALIVE", "open"]);
  });

  it("[O2] a waiter has it at once after the holder was killed, and blocks nothing while it waits", async () => {
    const figures: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      const holder = await holding();
      expect(await holder.ask("claim")).toMatch(/^claimed/);
      expect(await holder.ask("commit")).toBe("landed");
      const store = storeOf({ wait: 10_000 });
      let turns = 0;
      const ticking = setInterval(() => {
        turns += 1;
      }, 5);
      let killed = 0;
      const opened = store.open(label).then(() => performance.now() - killed);
      await sleep(60);
      expect(turns).toBeGreaterThan(0);
      killed = performance.now();
      holder.kill("SIGKILL");
      const ms = await opened;
      clearInterval(ticking);
      figures.push(Math.round(ms * 10) / 10);
      expect(ms).toBeLessThan(1_000);
      expect((await store.load("chat/child")).state).toEqual({ child: 1 });
      await store.close();
    }
    console.log(`takeover after SIGKILL, ms: ${figures.join(" ")}`);
  });

  it("[O2] a waiter gets it when the holder closes", async () => {
    const holder = await holding();
    const opened = storeOf({ wait: 10_000 }).open(label);
    await sleep(30);
    expect(await holder.ask("close")).toBe("closed");
    await opened;
  });

  it("[ST6] a killed owner has lost nothing that it was told has landed", async () => {
    let epoch = 0;
    for (let round = 0; round < 5; round += 1) {
      const holder = await holding();
      expect(await holder.ask("claim")).toBe(`claimed ${++epoch}`);
      let [said, line] = ["", await holder.ask("flood")];
      const dying = sleep(20 + round * 17).then(() => holder.kill("SIGKILL"));
      for (; line !== "ended"; line = await holder.heard()) {
        expect(line).toMatch(/^landed/);
        said = line;
      }
      await dying;
      const store = await openStore({ wait: 1_000 });
      const count = Number(said.split(" ")[1]);
      // The last commit may have landed without a word of it.
      const { child } = (await store.load("chat/child")).state as { child: number };
      expect(child === count || child === count + 1).toBe(true);
      await store.close();
    }
  });

  it("[O3] a stopped holder is not dead: nobody waits it out", async () => {
    const holder = await holding();
    expect(await holder.ask("claim")).toBe("claimed 1");
    holder.kill("SIGSTOP");
    expect(await codeOf(storeOf({ wait: 300 }).open(label))).toBe("OWNER_ALIVE");
    holder.kill("SIGCONT");
    expect(await holder.ask("commit")).toBe("landed");
  });

  it("[O4] a stopped owner that wakes after a forced takeover changes nothing", async () => {
    const holder = await holding();
    await holder.ask("claim");
    expect(await holder.ask("commit")).toBe("landed");
    holder.kill("SIGSTOP");
    const store = await openStore({ force: true });
    const before = JSON.stringify(store.dump("chat/child"));
    holder.kill("SIGCONT");
    expect(await holder.ask("commit")).toBe("fenced");
    expect(await holder.ask("commit")).toBe("fenced");
    expect(await holder.ask("enqueue")).toBe("OWNER_LOST");
    expect(await holder.ask("claim")).toBe("OWNER_LOST");
    expect(JSON.stringify(store.dump("chat/child"))).toBe(before);
    await (await drive(store, "chat/child")).land({ state: state("new owner") });
    // The lock went with the takeover: a third process is refused although the first one still runs.
    const third = startHolder(place.path);
    holders.push(third);
    expect(await third.heard()).toBe("OWNER_ALIVE");
  });

  it("[O4] a holder whose lock was dropped unseen is still fenced", async () => {
    const store = await openStore();
    const owner = await drive(store, "chat/a");
    await owner.land({ state: state("first") });
    // What a backup of the folder does inside the holder's process: POSIX drops the lock without a word.
    readFileSync(`${place.path}-owner`);
    const thief = await holding();
    expect((await owner.send({ state: state("zombie") })).kind).toBe("fenced");
    expect(await codeOf(store.enqueue("chat/a", submit("c1")))).toBe("OWNER_LOST");
    expect(await codeOf(store.head("chat/a"))).toBe("OWNER_LOST");
    expect((await store.commit([owner.next({ state: state("again") })]))[0]?.kind).toBe("fenced");
    expect(await thief.ask("claim")).toBe("claimed 1");
    expect(await thief.ask("commit")).toBe("landed");
  });

  it("[O4] a file that was deleted or replaced takes no more commits", async () => {
    for (const move of ["delete", "replace"]) {
      const store = await openStore();
      const owner = await drive(store, "chat/a");
      await owner.land({ state: state(1) });
      rmSync(place.path);
      if (move === "replace") {
        const other = storeOf({ path: `${place.path}-other` });
        await other.open(label);
        await other.close();
        renameSync(`${place.path}-other`, place.path);
      }
      expect((await owner.send({ state: state(2) })).kind).toBe("fenced");
      expect(await codeOf(store.claim("chat/a", 1))).toBe("OWNER_LOST");
      await store.close();
      place.remove();
      place = scratch();
    }
  });
});
