import { drive, ledgerRow, notice, state, turnRow } from "./driver.ts";
import type { Test } from "./world.ts";

const agent = "chat/one";

/** Turns, ledger and outbox: rows that are written again under their id. */
export function rowTests(test: Test): void {
  test("[ST1] a turn row is written again under its id", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    await owner.land({ turns: [turnRow("t1", "queued"), turnRow("t2", "queued")] });
    await owner.land({ turns: [turnRow("t1", "running")] });
    const settled = { ...turnRow("t1", "settled", 77), reason: "stopped", body: { deep: [1, { x: null }] } } as const;
    await owner.land({ turns: [settled] });
    expect([await store.turn(agent, "t1"), await store.turn(agent, "t2")]).toEqual([settled, turnRow("t2", "queued")]);
    expect([await store.turn(agent, "t3"), await store.turn("chat/two", "t1")]).toEqual([null, null]);
  });

  test("[ST1] ledger rows are kept by (turn, ordinal) and come in order", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    await owner.land({ ledger: [ledgerRow("t1", 10), ledgerRow("t1", 2), ledgerRow("t2", 0)] });
    await owner.land({ ledger: [ledgerRow("t1", 2, "started"), ledgerRow("t1", 0)] });
    const late = { ...ledgerRow("t1", 2, "unknown"), late: { result: [1] } };
    await owner.land({ ledger: [late] });
    expect(await store.ledger(agent, "t1")).toEqual([ledgerRow("t1", 0), late, ledgerRow("t1", 10)]);
    expect(await store.ledger(agent, "t2")).toEqual([ledgerRow("t2", 0)]);
    expect([await store.ledger(agent, "t3"), await store.ledger("chat/two", "t1")]).toEqual([[], []]);
  });

  test("[ST1] clear wipes the ledger", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    await owner.land({ ledger: [ledgerRow("t1", 0)] });
    await owner.land({ clear: true, ledger: [ledgerRow("t2", 0)] });
    expect([await store.ledger(agent, "t1"), (await store.ledger(agent, "t2")).length]).toEqual([[], 1]);
  });

  test("[ST1] outbox rows come in the order they were first put, until they are done", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    await owner.land({ outboxPut: [notice("z", 5), notice("a", 9)] });
    await owner.land({ state: state(1), outboxPut: [notice("m", 1), notice("z", 50, 1)] });
    expect((await store.load(agent)).outbox).toEqual([notice("z", 50, 1), notice("a", 9), notice("m", 1)]);
    await owner.land({ outboxPut: [notice("b", 3)], outboxDone: ["z", "b", "unknown"] });
    expect((await store.load(agent)).outbox).toEqual([notice("a", 9), notice("m", 1)]);
    await owner.land({ clear: true });
    expect((await store.load(agent)).outbox.length).toBe(2);
  });
}
