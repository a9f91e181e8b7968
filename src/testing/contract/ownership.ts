import { claimsMax } from "../../ports/store.ts";
import { at, delta, drive, kinds, put, readChunks, readMessages, state, submit, tombstone } from "./driver.ts";
import type { ContractWorld, Test } from "./world.ts";

const agent = "chat/one";

async function claimKind(store: ContractWorld["store"]): Promise<string> {
  return (await store.claim(agent, at)).kind;
}

/** ST4, ST6: epochs, claims, release, destroy, and death. */
export function ownershipTests(test: Test): void {
  test("[ST4] every claim mints a new epoch, also for the same incarnation", async ({ store }, expect) => {
    const first = await drive(store, agent);
    await first.land({ state: state(1) });
    const second = await drive(store, agent);
    expect(second.epoch > first.epoch).toBe(true);
    expect((await first.send({ state: state("zombie") })).kind).toBe("fenced");
    expect((await second.send({ state: state(2) })).kind).toBe("landed");
    expect((await store.load(agent)).state).toBe(2);
  });

  test("[ST4] a first claim makes an agent that has no state and needs no owner", async ({ store }, expect) => {
    const claim = await store.claim(agent, at);
    if (claim.kind !== "claimed") throw new Error(claim.kind);
    expect(claim.head).toEqual({ agent, epoch: claim.head.epoch, seq: 0, claims: 1, wake: null, at });
    const loaded = await store.load(agent);
    expect(loaded).toEqual({ head: claim.head, state: null, inbox: [], outbox: [] });
  });

  test("[ST4] claims count, and the agent is quarantined at claimsMax", async ({ store }, expect) => {
    for (let n = 1; n <= claimsMax; n += 1) {
      expect(await claimKind(store)).toBe("claimed");
      expect((await store.head(agent))?.claims).toBe(n);
    }
    const claim = await store.claim(agent, at);
    expect(claim.kind).toBe("quarantined");
    if (claim.kind !== "quarantined") return;
    expect([claim.head.agent, claim.head.claims]).toEqual([agent, claimsMax]);
    // Its epoch is new too: under it a last commit can give the agent a terminal state, and frees it.
    const last = { agent, epoch: claim.head.epoch, seq: claim.head.seq + 1, at, state: state("ended") };
    expect(kinds(await store.commit([last]))).toEqual(["landed"]);
    expect(await claimKind(store)).toBe("claimed");
  });

  test("[ST4] a landed commit zeroes the claims; a refused one does not", async ({ store }, expect) => {
    await drive(store, agent);
    const owner = await drive(store, agent);
    expect((await owner.send({ messages: [{ op: "place", id: "none", depth: 0 }] })).kind).toBe("refused");
    expect((await store.head(agent))?.claims).toBe(2);
    await (await drive(store, agent)).land({ state: state(1) });
    expect((await store.head(agent))?.claims).toBe(0);
  });

  test("[ST4] release gives the agent up, and a commit of its epoch is fenced", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    await owner.land({ state: state("kept", at) });
    expect(await store.release(agent, owner.epoch)).toBe(true);
    expect((await owner.send({ state: state("late") })).kind).toBe("fenced");
    expect(await store.release(agent, owner.epoch)).toBe(false);
    const next = await drive(store, agent);
    const loaded = await store.load(agent);
    expect([loaded.state, loaded.head.seq, loaded.head.wake, next.epoch > owner.epoch]).toEqual(["kept", 1, at, true]);
  });

  test("[ST4] release without a commit is not a death", async ({ store }, expect) => {
    for (let n = 0; n < claimsMax + 2; n += 1) {
      const owner = await drive(store, agent);
      expect(await store.release(agent, owner.epoch)).toBe(true);
    }
    expect((await store.head(agent))?.claims).toBe(0);
  });

  test("[ST4] release is refused with an old epoch or a non-empty inbox", async ({ store }, expect) => {
    const old = await drive(store, agent);
    const owner = await drive(store, agent);
    expect(await store.release(agent, old.epoch)).toBe(false);
    expect(await store.release("chat/nobody", 1)).toBe(false);
    await store.enqueue(agent, submit("c1"));
    const before = await store.head(agent);
    expect(await store.release(agent, owner.epoch)).toBe(false);
    expect(await store.head(agent)).toEqual(before);
    await owner.land({ consumed: [tombstone("c1")] });
    expect(await store.release(agent, owner.epoch)).toBe(true);
  });

  deathTests(test);
  destroyTests(test);
}

function deathTests(test: Test): void {
  test("[ST6] what landed is read back equal after death", async (world, expect) => {
    const owner = await drive(world.store, agent);
    for (let n = 0; n < 5; n += 1) {
      const chunks = [{ turn: "t1", first: n * 2, chunks: [delta(`${n}a`), delta(`${n}b`)] }];
      await owner.land({ state: state({ n }, n), chunks, messages: [put(`m${n}`, n, `text ${n}`)] });
    }
    await world.store.enqueue(agent, submit("c1"));
    const before = await world.store.load(agent);
    const [chunks, messages] = [await readChunks(world.store, agent, "t1"), await readMessages(world.store, agent)];
    const store = await world.reopen();
    expect(await store.load(agent)).toEqual(before);
    expect([await readChunks(store, agent, "t1"), await readMessages(store, agent)]).toEqual([chunks, messages]);
    expect(chunks.length).toBe(10);
  });

  test("[ST6] an owner that was taken for dead and wakes changes nothing", async (world, expect) => {
    const owner = await drive(world.store, agent);
    await owner.land({ state: state("old") });
    const store = await world.reopen();
    const next = await drive(store, agent);
    expect((await owner.send({ state: state("zombie"), messages: [put("m1", 0)] })).kind).toBe("fenced");
    expect(await world.store.release(agent, owner.epoch).catch(() => false)).toBe(false);
    expect((await store.load(agent)).state).toBe("old");
    await next.land({ state: state("new"), messages: [put("m1", 0)] });
  });
}

function destroyTests(test: Test): void {
  test("[ST1] destroy leaves nothing, and a later claim finds a new agent", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    const chunks = [{ turn: "t1", first: 0, chunks: [delta("x")] }];
    await owner.land({ state: state("gone", 1), chunks, messages: [put("m1", 0)], consumed: [tombstone("c0")] });
    await store.enqueue(agent, submit("c1"));
    await store.destroy(agent);
    await store.destroy(agent);
    expect([await store.head(agent), await store.due(at, 9), await store.list(null, 9)]).toEqual([null, [], []]);
    const again = await drive(store, agent);
    const loaded = await store.load(agent);
    expect([loaded.state, loaded.inbox, loaded.head.seq]).toEqual([null, [], 0]);
    expect([await readMessages(store, agent), await readChunks(store, agent, "t1")]).toEqual([[], []]);
    expect([await store.tombstone(agent, "c0"), await store.message(agent, "m1")]).toEqual([null, null]);
    await again.land({ messages: [put("m1", 0)], chunks });
    expect((await owner.send({ state: state("zombie") })).kind).toBe("fenced");
  });

  test("[ST1] an owner from before destroy does not fit the agent that comes after", async ({ store }, expect) => {
    for (let lives = 0; lives < 3; lives += 1) {
      const owner = await drive(store, agent);
      await store.destroy(agent);
      await store.enqueue(agent, submit("c1"));
      expect((await owner.send({ state: state("zombie") })).kind).toBe("fenced");
      await drive(store, agent);
      expect((await store.commit([owner.next({ state: state("zombie") })]))[0]?.kind).toBe("fenced");
    }
  });
}
