import {
  codeOf,
  delta,
  drive,
  notice,
  put,
  readChunks,
  readMessages,
  state,
  submit,
  tombstone,
  turnRow,
} from "./driver.ts";
import type { Test } from "./world.ts";

const agent = "chat/one";

/** ST9: a record that cannot be read loses itself only. Empty where the engine lets nobody damage a record. */
export function damageTests(test: Test): void {
  test("[ST9] a damaged segment leaves a gap, and pages go on over it", async (world, expect) => {
    if (world.damage === undefined) return;
    const { store } = world;
    const owner = await drive(store, agent);
    for (let n = 0; n < 6; n += 2) {
      await owner.land({ chunks: [{ turn: "t1", first: n, chunks: [delta(`${n}`), delta(`${n + 1}`)] }] });
    }
    await world.damage(agent, { kind: "segment", turn: "t1", first: 2 });
    expect(await readChunks(store, agent, "t1", 0, 1)).toEqual([delta("0"), delta("1"), delta("4"), delta("5")]);
    const gap = await store.chunks(agent, "t1", 3, 1);
    expect([gap.segments, gap.next, gap.more]).toEqual([[], 4, true]);
    await owner.land({ chunks: [{ turn: "t1", first: 6, chunks: [delta("6")] }] });
    expect((await readChunks(store, agent, "t1")).length).toBe(5);
  });

  test("[ST9] a damaged message or turn is missing, and its neighbours are there", async (world, expect) => {
    if (world.damage === undefined) return;
    const { store } = world;
    const owner = await drive(store, agent);
    const messages = ["m0", "m1", "m2", "m3"].map((id, depth) => put(id, depth, id));
    await owner.land({ messages, turns: [turnRow("t1"), turnRow("t2")] });
    for (const id of ["m1", "m2"]) await world.damage(agent, { kind: "message", id });
    await world.damage(agent, { kind: "turn", id: "t1" });
    const ids = (await readMessages(store, agent, 1)).map(({ message }) => message.id);
    expect(ids).toEqual(["m0", "m3"]);
    expect((await store.recent(agent, null, 99_999)).map(({ depth }) => depth)).toEqual([3, 0]);
    expect((await store.recent(agent, 3, 1)).map(({ depth }) => depth)).toEqual([0]);
    expect([await store.message(agent, "m1"), await store.turn(agent, "t1")]).toEqual([null, null]);
    expect((await store.turn(agent, "t2"))?.id).toBe("t2");
  });

  test("[ST9] a damaged state stops its own agent only, before any commit", async (world, expect) => {
    if (world.damage === undefined) return;
    const { store } = world;
    await (await drive(store, agent)).land({ state: state("lost") });
    await (await drive(store, "chat/two")).land({ state: state("fine") });
    await world.damage(agent, { kind: "state" });
    await store.claim(agent, 1);
    expect(await codeOf(store.load(agent))).toBe("STORE_DAMAGED");
    expect(await codeOf(store.peek(agent))).toBe("STORE_DAMAGED");
    expect((await store.load("chat/two")).state).toBe("fine");
    expect((await store.head(agent))?.agent).toBe(agent);
  });

  test("[ST9] a damaged command or notice does not keep its agent due for ever", async (world, expect) => {
    if (world.damage === undefined) return;
    const { store } = world;
    const owner = await drive(store, agent);
    await owner.land({ state: state(1, 900), outboxPut: [notice("n1", 5), notice("n2", 700)] });
    for (const id of ["c1", "c2"]) await store.enqueue(agent, submit(id));
    await world.damage(agent, { kind: "command", id: "c1" });
    await world.damage(agent, { kind: "notice", id: "n1" });
    const loaded = await store.load(agent);
    expect(loaded.inbox.map((command) => command.id)).toEqual(["c2"]);
    expect(loaded.outbox.map((row) => row.id)).toEqual(["n2"]);
    await owner.land({ consumed: [tombstone("c2")] });
    expect((await store.head(agent))?.wake).toBe(700);
    // Its sender may send it again: it never had an effect.
    expect(await store.enqueue(agent, submit("c1"))).toEqual({ kind: "accepted" });
  });
}
