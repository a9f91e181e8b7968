import { describe, expect, it } from "vitest";
import { MemoryDisk, MemoryStore } from "../../src/adapters/memory/store.ts";
import { codeOf, drive, state, submit } from "../../src/testing/contract/driver.ts";
import { registerStoreContract } from "../../src/testing/contract/store-contract.ts";
import { label, memoryWorld } from "./worlds.ts";

registerStoreContract({ name: "memory", create: memoryWorld }, { describe, expect, it });

describe("memory disk", () => {
  it("[O4] the session that was opened last has the disk", async () => {
    const disk = new MemoryDisk();
    const [old, next] = [new MemoryStore(disk), new MemoryStore(disk)];
    await old.open(label);
    const owner = await drive(old, "chat/a");
    await owner.land({ state: state(1) });
    await next.open(label);
    expect((await owner.send({ state: state(2) })).kind).toBe("fenced");
    const asked = [old.enqueue("chat/a", submit("c1")), old.claim("chat/a", 1), old.head("chat/a"), old.peek("chat/a")];
    for (const promise of asked) expect(await codeOf(promise)).toBe("OWNER_LOST");
    expect(await next.peek("chat/a")).toBe(1);
  });

  it("[ST10] a full disk says so to everybody who writes", async () => {
    const store = new MemoryStore();
    expect(await codeOf(store.claim("chat/a", 1))).toBe("STORE_UNAVAILABLE");
    await store.open(label);
    const owner = await drive(store, "chat/a");
    store.disk.full = true;
    const writes = [store.claim("chat/a", 1), store.enqueue("chat/a", submit("c1")), store.destroy("chat/a")];
    for (const promise of writes) expect(await codeOf(promise)).toBe("STORE_UNAVAILABLE");
    store.disk.full = false;
    await owner.land({ state: state(1) });
  });
});
