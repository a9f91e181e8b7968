import {
  at,
  type Driver,
  delta,
  drive,
  kinds,
  ledgerRow,
  notice,
  put,
  readChunks,
  readMessages,
  state,
  submit,
  textPart,
  tombstone,
  turnRow,
} from "./driver.ts";
import type { Test } from "./world.ts";

const agent = "chat/one";

/** ST1, ST2, ST3, ST10: what lands, and that nothing else does. */
export function fenceTests(test: Test): void {
  test("[ST1] a commit that finds (epoch, seq - 1) lands", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    expect(await owner.send({ state: state({ n: 1 }) })).toEqual({ kind: "landed" });
    expect(await owner.send({ state: state({ n: 2 }) })).toEqual({ kind: "landed" });
    const loaded = await store.load(agent);
    expect([loaded.head.epoch, loaded.head.seq, loaded.state]).toEqual([owner.epoch, 2, { n: 2 }]);
  });

  test("[ST1] a seq that does not fit conflicts and writes nothing", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    await owner.land({ state: state("first") });
    for (const seq of [0, 3, 9]) {
      const late = { agent, epoch: owner.epoch, seq, at, state: state("wrong"), messages: [put(`m${seq}`, seq)] };
      expect(kinds(await store.commit([late]))).toEqual(["conflict"]);
    }
    expect((await store.load(agent)).state).toBe("first");
    expect(await readMessages(store, agent)).toEqual([]);
  });

  test("[ST1] another epoch is fenced, older or newer, and so is an unknown agent", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    await owner.land({ state: state(1) });
    const item = { agent, seq: owner.seq(), at, state: state(2) };
    expect(kinds(await store.commit([{ ...item, epoch: owner.epoch - 1 }]))).toEqual(["fenced"]);
    expect(kinds(await store.commit([{ ...item, epoch: owner.epoch + 1 }]))).toEqual(["fenced"]);
    expect(kinds(await store.commit([{ ...item, agent: "chat/nobody", epoch: 1, seq: 1 }]))).toEqual(["fenced"]);
    expect((await store.load(agent)).state).toBe(1);
    expect(await store.head("chat/nobody")).toBe(null);
  });

  test("[ST1] the first commit of a claim is not taken for a repeat of the last owner's", async ({ store }, expect) => {
    const first = await drive(store, agent);
    await first.land({ state: state("old") });
    const second = await drive(store, agent);
    const same = { agent, epoch: second.epoch, seq: first.seq() - 1, at, state: state("new") };
    expect(kinds(await store.commit([same]))).toEqual(["conflict"]);
    await second.land({ state: state("new") });
    expect(kinds(await store.commit([same]))).toEqual(["conflict"]);
  });

  test("[ST1] nothing of a refused item lands", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    await owner.land({ messages: [put("m1", 0, "kept"), { op: "parts", id: "m1", index: 0, parts: [textPart("0")] }] });
    await store.enqueue(agent, submit("c1"));
    const refused = await owner.send({
      state: state("refused", 5),
      chunks: [{ turn: "t1", first: 0, chunks: [delta("x")] }],
      turns: [turnRow("t1")],
      ledger: [ledgerRow("t1", 0)],
      consumed: [tombstone("c1")],
      outboxPut: [notice("n1", 1)],
      messages: [put("m2", 1, "refused"), { op: "parts", id: "m1", index: 0, parts: [textPart("again")] }],
    });
    expect(refused.kind).toBe("refused");
    const loaded = await store.load(agent);
    expect([loaded.head.seq, loaded.head.wake, loaded.state]).toEqual([1, 0, null]);
    expect([loaded.inbox.map((command) => command.id), loaded.outbox]).toEqual([["c1"], []]);
    expect(await readChunks(store, agent, "t1")).toEqual([]);
    expect([await store.turn(agent, "t1"), await store.ledger(agent, "t1")]).toEqual([null, []]);
    expect([await store.tombstone(agent, "c1"), await store.message(agent, "m2")]).toEqual([null, null]);
    const kept = { id: "m1", role: "user", parts: [textPart("kept"), textPart("0")] };
    expect(await readMessages(store, agent)).toEqual([{ depth: 0, message: kept }]);
  });

  test("[ST2] repeating a landed commit answers landed and changes nothing", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    await store.enqueue(agent, submit("c1"));
    const item = owner.next({
      state: state("once", 7),
      chunks: [{ turn: "t1", first: 0, chunks: [delta("a")] }],
      messages: [put("m1", 0, "once"), { op: "parts", id: "m1", index: 0, parts: [textPart("p")] }],
      consumed: [tombstone("c1")],
      outboxPut: [notice("n1", 9)],
    });
    expect(kinds(await store.commit([item]))).toEqual(["landed"]);
    await store.enqueue(agent, submit("c2"));
    const before = await store.load(agent);
    expect(kinds(await store.commit([item]))).toEqual(["landed"]);
    expect(kinds(await store.commit([{ ...item, state: state("other"), clear: true }]))).toEqual(["landed"]);
    expect(await store.load(agent)).toEqual(before);
    expect(await readChunks(store, agent, "t1")).toEqual([delta("a")]);
    expect((await store.message(agent, "m1"))?.parts.length).toBe(2);
  });

  test("[ST2] a repeated batch of several commits of one agent answers landed for each", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    await owner.land({ state: state("before") });
    const batch = ["one", "two", "three"].map((name, first) => {
      return owner.next({ state: state(name), chunks: [{ turn: "t1", first, chunks: [delta(name)] }] });
    });
    expect(kinds(await store.commit(batch))).toEqual(["landed", "landed", "landed"]);
    expect(kinds(await store.commit(batch))).toEqual(["landed", "landed", "landed"]);
    expect((await store.load(agent)).state).toBe("three");
    expect(await readChunks(store, agent, "t1")).toEqual(["one", "two", "three"].map((name) => delta(name)));
  });

  isolationTests(test);
}

function isolationTests(test: Test): void {
  test("[ST3] a batch judges each item alone", async ({ store }, expect) => {
    const of = (id: string): Promise<Driver> => drive(store, `chat/${id}`);
    const [a, b, c, d, e] = [await of("a"), await of("b"), await of("c"), await of("d"), await of("e")] as const;
    await b.land({ state: state("before") });
    await of("d");
    const batch = [
      a.next({ state: state("a") }),
      { ...b.next({ state: state("b") }), seq: 99 },
      c.next({ state: state("c"), messages: [{ op: "place", id: "nobody", depth: 0 }] }),
      d.next({ state: state("d") }),
      e.next({ state: state("e") }),
    ];
    expect(kinds(await store.commit(batch))).toEqual(["landed", "conflict", "refused", "fenced", "landed"]);
    const states = await Promise.all([a, b, c, d, e].map(async ({ agent }) => (await store.load(agent)).state));
    expect(states).toEqual(["a", "before", null, null, "e"]);
  });

  test("[ST3] what JSON cannot hold is refused alone", async ({ store }, expect) => {
    const [bad, good] = [await drive(store, "chat/bad"), await drive(store, "chat/good")];
    const cycle: unknown[] = [];
    cycle.push(cycle);
    for (const value of [undefined, 1n, cycle]) {
      const item = { ...bad.next({ state: state(value) }), seq: 1 };
      const results = await store.commit([good.next({ state: state("fine") }), item]);
      expect(kinds(results)).toEqual(["landed", "refused"]);
    }
    expect((await store.load("chat/bad")).head.seq).toBe(0);
  });

  test("[ST3] two commits of one agent in one batch land in order", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    const items = [1, 2, 3].map((n) => owner.next({ state: state(n), messages: [put(`m${n}`, n - 1)] }));
    expect(kinds(await store.commit(items))).toEqual(["landed", "landed", "landed"]);
    const broken = [owner.next({ messages: [put("m1", 9)] }), owner.next({ state: state(5) })];
    expect(kinds(await store.commit(broken))).toEqual(["refused", "conflict"]);
    expect((await store.load(agent)).state).toBe(3);
  });

  test("[ST3] a large batch lands whole", async ({ store }, expect) => {
    const owners = await Promise.all(Array.from({ length: 20 }, (_, i) => drive(store, `chat/${i}`)));
    const text = "x".repeat(150_000);
    const piece = { turn: "t1", first: 0, chunks: [delta(text)] };
    expect(await store.commit([])).toEqual([]);
    const results = await store.commit(owners.map((owner) => owner.next({ chunks: [piece] })));
    expect(kinds(results)).toEqual(owners.map(() => "landed"));
    for (const owner of owners) expect((await readChunks(store, owner.agent, "t1"))[0]?.["delta"]).toBe(text);
  });

  test("[ST10] while the engine refuses writes nothing lands, and then the same batch does", async (world, expect) => {
    if (world.refuseWrites === undefined) return;
    const { store } = world;
    const owners = [await drive(store, "chat/a"), await drive(store, "chat/b")];
    const chunks = [{ turn: "t1", first: 0, chunks: [delta("y".repeat(300_000))] }];
    const batch = owners.map((owner) => owner.next({ state: state("full"), chunks }));
    await world.refuseWrites(true);
    expect(kinds(await store.commit(batch))).toEqual(["unavailable", "unavailable"]);
    expect(kinds(await store.commit(batch))).toEqual(["unavailable", "unavailable"]);
    expect((await store.load("chat/a")).head.seq).toBe(0);
    expect(await readChunks(store, "chat/b", "t1")).toEqual([]);
    await world.refuseWrites(false);
    expect(kinds(await store.commit(batch))).toEqual(["landed", "landed"]);
    expect((await readChunks(store, "chat/b", "t1")).length).toBe(1);
  });
}
