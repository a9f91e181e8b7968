import type { Due } from "../../ports/directory.ts";
import { at, codeOf, drive, state, submit } from "./driver.ts";
import type { FullStore, Test } from "./world.ts";

async function sleepers(store: FullStore, wakes: Readonly<Record<string, number | null>>): Promise<void> {
  for (const [agent, wake] of Object.entries(wakes)) await (await drive(store, agent)).land({ state: state(1, wake) });
}

/** D3, D4: who is due, who is there, and hints. */
export function directoryTests(test: Test): void {
  test("[D3] due lists agents whose wake has passed, oldest first", async ({ store }, expect) => {
    await sleepers(store, { "chat/c": 30, "chat/b": 20, "chat/a": 30, "chat/late": 31, "chat/never": null });
    const keys = (await store.due(30, 9)).map((due) => due.agent);
    expect(keys).toEqual(["chat/b", "chat/a", "chat/c"]);
    expect(await store.due(19, 9)).toEqual([]);
  });

  test("[D3] pages of due by (wake, agent) reach everybody once", async ({ store }, expect) => {
    const names = ["m", "a", "z", "k", "b", "y", "c"];
    await sleepers(store, Object.fromEntries(names.map((name, i) => [`chat/${name}`, 10 * (i % 2)])));
    const seen: Due[] = [];
    for (;;) {
      const page = await store.due(100, 2, seen.at(-1));
      if (page.length === 0) break;
      seen.push(...page);
    }
    const keys = seen.map((due) => `${due.wake} ${due.agent.slice(5)}`);
    expect(keys).toEqual(["0 b", "0 c", "0 m", "0 z", "10 a", "10 k", "10 y"]);
  });

  test("[D3] an agent that stays due at the head of the page starves nobody", async ({ store }, expect) => {
    await sleepers(store, { "chat/broken": 0, "chat/fine": 5 });
    const first = await store.due(10, 1);
    expect(first).toEqual([{ agent: "chat/broken", wake: 0 }]);
    expect(await store.due(10, 1, first[0])).toEqual([{ agent: "chat/fine", wake: 5 }]);
  });

  test("[D3] list pages all agents by key", async ({ store }, expect) => {
    await sleepers(store, { "chat/b": null, "chat/a": 4, "bot/z": 0 });
    await store.enqueue("chat/c", submit("c1"));
    const first = await store.list(null, 3);
    expect(first.map((head) => head.agent)).toEqual(["bot/z", "chat/a", "chat/b"]);
    expect((await store.list("chat/b", 3)).map((head) => head.agent)).toEqual(["chat/c"]);
    expect(first[1]).toEqual(await store.head("chat/a"));
    expect(await store.list("chat/c", 3)).toEqual([]);
  });

  test("[D3] peek answers the landed state, whoever owns the agent", async (world, expect) => {
    const owner = await drive(world.store, "chat/a");
    expect([await world.store.peek("chat/a"), await world.store.peek("chat/nobody")]).toEqual([null, null]);
    await owner.land({ state: state({ n: 1 }) });
    await owner.send({ state: state({ n: 2 }), messages: [{ op: "place", id: "none", depth: 0 }] });
    expect(await world.store.peek("chat/a")).toEqual({ n: 1 });
    expect(await world.store.head("chat/nobody")).toBe(null);
    expect(await (await world.reopen()).peek("chat/a")).toEqual({ n: 1 });
  });

  test("[D3] keys are ordered by code point, also above U+FFFF", async ({ store }, expect) => {
    const keys = ["chat/\u{1F600}", "chat/\uFFEE", "chat/z", "chat/é", "chat/Z"];
    for (const key of keys) await store.enqueue(key, submit("c1"));
    const ordered = ["chat/Z", "chat/z", "chat/é", "chat/\uFFEE", "chat/\u{1F600}"];
    expect((await store.list(null, 9)).map((head) => head.agent)).toEqual(ordered);
    expect((await store.due(at, 9)).map((due) => due.agent)).toEqual(ordered);
    expect((await store.list("chat/\uFFEE", 9)).map((head) => head.agent)).toEqual(["chat/\u{1F600}"]);
  });

  test("[D4] watch hints at what landed, for its agent only, until it is ended", async ({ store }, expect) => {
    const hints: string[] = [];
    const listener = (): void => void hints.push("a");
    const end = store.watch("chat/a", listener);
    const endAgain = store.watch("chat/a", listener);
    store.watch("chat/a", () => {
      throw new Error("a listener's own failure");
    });
    const owner = await drive(store, "chat/a");
    const before = hints.length;
    await owner.land({ state: state(1) });
    const landed = hints.length;
    expect(landed > before).toBe(true);
    await store.enqueue("chat/a", submit("c1"));
    expect(hints.length > landed).toBe(true);
    endAgain();
    const single = hints.length;
    await owner.land({ state: state(2) });
    expect(hints.length).toBe(single + 1);
    await store.enqueue("chat/b", submit("c1"));
    end();
    await owner.land({ state: state(3) });
    expect(hints.length).toBe(single + 1);
  });

  test("[D4] a closed store answers nothing", async ({ store }, expect) => {
    await drive(store, "chat/a");
    await store.close();
    await store.close();
    expect(await codeOf(store.enqueue("chat/a", submit("c1")))).toBe("STORE_UNAVAILABLE");
    expect(await codeOf(store.head("chat/a"))).toBe("STORE_UNAVAILABLE");
    expect(await codeOf(store.commit([]))).toBe("STORE_UNAVAILABLE");
  });
}
