import type { MessageWrite } from "../../ports/store.ts";
import { drive, put, readMessages, textPart } from "./driver.ts";
import type { FullStore, Test } from "./world.ts";

const agent = "chat/one";

async function textsOf(store: FullStore, id: string): Promise<string> {
  const message = await store.message(agent, id);
  return message === null ? "none" : message.parts.map((stored) => stored.part["text"]).join(" ");
}

async function placedIds(store: FullStore): Promise<string> {
  return (await readMessages(store, agent)).map(({ depth, message }) => `${depth}${message.id}`).join(" ");
}

/** The writes that a message can see, and its pages. */
export function messageTests(test: Test): void {
  test("[ST1] put, parts, replace: what a message holds", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    const message = { id: "m1", role: "assistant", turn: "t1", metadata: { a: 1 } } as const;
    await owner.land({ messages: [{ op: "put", message, depth: 0, parts: [textPart("a")] }] });
    await owner.land({ messages: [{ op: "parts", id: "m1", index: 0, parts: [textPart("b"), textPart("c")] }] });
    await owner.land({ messages: [{ op: "parts", id: "m1", index: 1, parts: [] }] });
    await owner.land({ messages: [{ op: "parts", id: "m1", index: 2, parts: [textPart("d")] }] });
    const parts = ["a", "b", "c", "d"].map(textPart);
    expect(await store.message(agent, "m1")).toEqual({ ...message, parts });
    await owner.land({ messages: [{ op: "replace", id: "m1", parts: [textPart("new")] }] });
    expect(await store.message(agent, "m1")).toEqual({ ...message, parts: [textPart("new")] });
    await owner.land({ messages: [{ op: "replace", id: "m1", parts: [], metadata: "other" }] });
    expect(await store.message(agent, "m1")).toEqual({ ...message, metadata: "other", parts: [] });
    // The index counts on over a replace, and over steps that left no parts.
    expect((await owner.send({ messages: [{ op: "parts", id: "m1", index: 2, parts: [] }] })).kind).toBe("refused");
    const next = await drive(store, agent);
    await next.land({ messages: [{ op: "parts", id: "m1", index: 7, parts: [textPart("e")] }] });
    expect(await textsOf(store, "m1")).toBe("e");
  });

  test("[ST1] an accepted message is found by id, and in no page before it is placed", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    await owner.land({ messages: [put("m1", 0, "one"), put("m2", null, "two"), put("m3", null, "three")] });
    expect([await textsOf(store, "m2"), await placedIds(store)]).toEqual(["two", "0m1"]);
    expect((await store.recent(agent, null, 9_999)).map(({ message }) => message.id)).toEqual(["m1"]);
    await owner.land({
      messages: [
        { op: "place", id: "m2", depth: 1 },
        { op: "drop", id: "m3" },
        { op: "drop", id: "unknown" },
      ],
    });
    expect([await placedIds(store), await textsOf(store, "m3")]).toEqual(["0m1 1m2", "none"]);
    expect(await store.message("chat/other", "m1")).toBe(null);
  });

  test("[ST1] writes that do not fit the message are refused", async ({ store }, expect) => {
    const unfit: readonly MessageWrite[] = [
      put("placed", 5),
      put("waiting", null),
      put("new", 0),
      put("new", -1),
      put("new", 0.5),
      { op: "place", id: "unknown", depth: 3 },
      { op: "place", id: "placed", depth: 3 },
      { op: "place", id: "waiting", depth: 0 },
      { op: "parts", id: "unknown", index: 0, parts: [] },
      { op: "parts", id: "placed", index: 0, parts: [] },
      { op: "parts", id: "placed", index: -1, parts: [] },
      { op: "replace", id: "unknown", parts: [] },
      { op: "drop", id: "placed" },
    ];
    const setUp = await drive(store, agent);
    await setUp.land({ messages: [put("placed", 0, "x"), put("waiting", null, "y")] });
    await setUp.land({ messages: [{ op: "parts", id: "placed", index: 0, parts: [textPart("z")] }] });
    for (const write of unfit) {
      const result = await store.commit([
        { agent, epoch: setUp.epoch, seq: setUp.seq(), at: 1, messages: [put("bystander", 9), write] },
      ]);
      expect([write, result[0]?.kind]).toEqual([write, "refused"]);
    }
    expect([await textsOf(store, "placed"), await placedIds(store)]).toEqual(["x z", "0placed"]);
    expect([await textsOf(store, "waiting"), await textsOf(store, "bystander")]).toEqual(["y", "none"]);
  });

  test("[ST7] pages go both ways", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    const ids = Array.from({ length: 7 }, (_, depth) => `m${depth}`);
    await owner.land({ messages: ids.map((id, depth) => put(id, depth, "x".repeat(100))).reverse() });
    const forward = async (after: number, count: number): Promise<string> =>
      (await store.messages(agent, after, count)).map(({ message }) => message.id).join(" ");
    expect(await forward(-1, 3)).toBe("m0 m1 m2");
    expect(await forward(2, 3)).toBe("m3 m4 m5");
    expect(await forward(5, 3)).toBe("m6");
    expect(await forward(6, 3)).toBe("");
    const back = async (before: number | null, bytes: number): Promise<string> =>
      (await store.recent(agent, before, bytes)).map(({ depth, message }) => `${depth}${message.id}`).join(" ");
    expect(await back(null, 0)).toBe("6m6");
    expect(await back(6, 1)).toBe("5m5");
    expect(await back(3, 100_000)).toBe("2m2 1m1 0m0");
    expect(await back(0, 100_000)).toBe("");
    const some = (await store.recent(agent, null, 500)).length;
    expect(some >= 2 && some <= 4).toBe(true);
    expect(await store.recent("chat/nobody", null, 100)).toEqual([]);
  });

  test("[ST7] a message with the parts of many steps comes back in their order", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    await owner.land({ messages: [put("m0", 0, "q"), put("m1", 1)] });
    for (let index = 0; index < 12; index += 1) {
      await owner.land({ messages: [{ op: "parts", id: "m1", index, parts: [textPart(`${index}`)] }] });
    }
    expect(await textsOf(store, "m1")).toBe("0 1 2 3 4 5 6 7 8 9 10 11");
    const [page] = await store.messages(agent, 0, 5);
    expect([page?.depth, page?.message.parts.length]).toEqual([1, 12]);
  });
}
