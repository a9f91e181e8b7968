import { at, delta, drive, notice, state, submit, tombstone } from "./driver.ts";
import type { FullStore, Test } from "./world.ts";

const agent = "chat/one";

async function wake(store: FullStore): Promise<number | null | undefined> {
  return (await store.head(agent))?.wake;
}

/** ST5, D1, D2: commands in, their tombstones, and the derived wake. */
export function inboxTests(test: Test): void {
  test("[D1] enqueue is idempotent: same id and hash answers the first turn", async ({ store }, expect) => {
    expect(await store.enqueue(agent, submit("c1"))).toEqual({ kind: "accepted" });
    const again = submit("c1", "hash of c1", { turn: "turn_other", at: at + 5 });
    expect(await store.enqueue(agent, again)).toEqual({ kind: "duplicate", turn: "turn_c1" });
    expect((await store.load(agent)).inbox).toEqual([submit("c1")]);
    expect(await store.enqueue("chat/two", submit("c1"))).toEqual({ kind: "accepted" });
  });

  test("[D1] same id, other hash conflicts", async ({ store }, expect) => {
    await store.enqueue(agent, submit("c1"));
    expect(await store.enqueue(agent, submit("c1", "other"))).toEqual({ kind: "conflict" });
    const owner = await drive(store, agent);
    await owner.land({ consumed: [tombstone("c1")] });
    expect(await store.enqueue(agent, submit("c1", "other"))).toEqual({ kind: "conflict" });
    expect((await store.load(agent)).inbox).toEqual([]);
  });

  test("[D1] a consumed command leaves a tombstone that answers for it", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    await store.enqueue(agent, submit("c1"));
    await store.enqueue(agent, { v: 1, id: "c2", hash: "h2", at, kind: "stop", turn: "turn_c1" });
    const none = { id: "c2", hash: "h2", turn: null, at };
    await owner.land({ consumed: [tombstone("c1"), none] });
    expect((await store.load(agent)).inbox).toEqual([]);
    expect([await store.tombstone(agent, "c1"), await store.tombstone(agent, "c2")]).toEqual([tombstone("c1"), none]);
    expect([await store.tombstone(agent, "c3"), await store.tombstone("chat/two", "c1")]).toEqual([null, null]);
    expect(await store.enqueue(agent, submit("c1"))).toEqual({ kind: "duplicate", turn: "turn_c1" });
    const stop = { v: 1, id: "c2", hash: "h2", at, kind: "stop", turn: "turn_c1" } as const;
    expect(await store.enqueue(agent, stop)).toEqual({ kind: "duplicate", turn: null });
    expect([await wake(store), (await store.load(agent)).inbox]).toEqual([null, []]);
  });

  test("[D1] only submit and continue make a turn that a duplicate is told of", async ({ store }, expect) => {
    const commands = [
      { v: 1, id: "a", hash: "h", at, kind: "continue", turn: "turn_a" },
      { v: 1, id: "b", hash: "h", at, kind: "stop", turn: "turn_a" },
      { v: 1, id: "c", hash: "h", at, kind: "append", messages: [], mode: "append" },
      { v: 1, id: "d", hash: "h", at, kind: "clear" },
    ] as const;
    for (const command of commands) await store.enqueue(agent, command);
    const answers = await Promise.all(commands.map((command) => store.enqueue(agent, command)));
    const turns = answers.map((answer) => (answer.kind === "duplicate" ? answer.turn : answer.kind));
    expect(turns).toEqual(["turn_a", null, null, null]);
    expect((await store.load(agent)).inbox).toEqual(commands);
  });

  test("[D1] a command consumed without an inbox row leaves its tombstone too", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    await owner.land({ consumed: [tombstone("direct")] });
    expect(await store.enqueue(agent, submit("direct"))).toEqual({ kind: "duplicate", turn: "turn_direct" });
  });

  test("[D1] a second effect of a consumed command is refused", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    await owner.land({ consumed: [tombstone("c1")] });
    const twice = await owner.send({ state: state("doubled"), consumed: [tombstone("c1")] });
    expect([twice.kind, (await store.load(agent)).state]).toEqual(["refused", null]);
  });

  test("[D2] the inbox keeps the order of arrival", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    for (const id of ["c3", "c1", "c2", "c10"]) await store.enqueue(agent, submit(id));
    await owner.land({ consumed: [tombstone("c1")] });
    await store.enqueue(agent, submit("c0"));
    expect((await store.load(agent)).inbox.map((command) => command.id)).toEqual(["c3", "c2", "c10", "c0"]);
  });

  test("[D2] enqueue makes an agent due, also one that nobody has ever claimed", async ({ store }, expect) => {
    await store.enqueue(agent, submit("c1"));
    const head = await store.head(agent);
    expect([head?.seq, head?.claims, head?.wake, head?.at]).toEqual([0, 0, 0, at]);
    expect(await store.due(0, 9)).toEqual([{ agent, wake: 0 }]);
  });

  wakeTests(test);
}

function wakeTests(test: Test): void {
  test("[D2] a commit with a later wake does not put an enqueued command to sleep", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    const item = owner.next({ state: state("decided before the command came", at + 60_000) });
    await store.enqueue(agent, submit("c1"));
    await store.commit([item]);
    expect([await wake(store), (await store.due(at, 9)).length]).toEqual([0, 1]);
    await owner.land({ state: state("still not consumed") });
    expect(await wake(store)).toBe(0);
    await owner.land({ state: state("consumed", at + 60_000), consumed: [tombstone("c1")] });
    expect(await wake(store)).toBe(at + 60_000);
  });

  test("[ST5] wake is the least of the state's and the outbox's", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    await owner.land({ state: state(1, 500) });
    expect(await wake(store)).toBe(500);
    await owner.land({ outboxPut: [notice("n1", 300), notice("n2", 700)] });
    expect(await wake(store)).toBe(300);
    await owner.land({ outboxDone: ["n1"] });
    expect(await wake(store)).toBe(500);
    await owner.land({ state: state(2) });
    expect(await wake(store)).toBe(700);
    await owner.land({ outboxPut: [notice("n2", 900, 1)] });
    expect(await wake(store)).toBe(900);
    await owner.land({ outboxDone: ["n2", "unknown"] });
    expect(await wake(store)).toBe(null);
  });

  test("[ST5] a commit without a state derives from the last state's wake", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    await owner.land({ state: state("kept", 500) });
    await owner.land({ chunks: [{ turn: "t1", first: 0, chunks: [delta("x")] }] });
    await store.enqueue(agent, submit("c1"));
    await owner.land({ chunks: [{ turn: "t1", first: 1, chunks: [delta("y")] }] });
    expect(await wake(store)).toBe(0);
    await owner.land({ consumed: [tombstone("c1")] });
    const loaded = await store.load(agent);
    expect([loaded.head.wake, loaded.state]).toEqual([500, "kept"]);
  });

  test("[ST5] wake 0 is at once, and claims and reads leave the wake alone", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    await owner.land({ state: state("owed", 0) });
    await drive(store, agent);
    await store.load(agent);
    expect([await wake(store), await store.due(0, 1)]).toEqual([0, [{ agent, wake: 0 }]]);
  });

  test("[ST5] a wake that is no number is refused", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    expect((await owner.send({ state: state(1, Number.NaN) })).kind).toBe("refused");
  });
}
