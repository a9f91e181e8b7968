/** What is due is found, loaded within bounds, and one agent's trouble is its own. */
import { describe, expect, it } from "vitest";
import type { AgentState } from "../../src/core/state.ts";
import { blank } from "../../src/core/state.ts";
import { busy, cast, hangingAfter, type Play, said, silence, words } from "./actor.ts";
import { type AnyStore, Gate, judged, key, overriding, spoken, user, World, type WorldParts } from "./kit.ts";

/** Counts what the store is asked. */
function counting(): { readonly asked: Record<string, string[]>; wrap(store: AnyStore): AnyStore } {
  const asked: Record<string, string[]> = { claim: [], load: [], due: [] };
  const count =
    (name: "claim" | "load" | "due", store: AnyStore) =>
    (...given: unknown[]): Promise<never> => {
      asked[name]!.push(String(given[0]));
      return (store[name] as (...given: unknown[]) => Promise<never>)(...given);
    };
  const wrap = (store: AnyStore): AnyStore =>
    overriding(store, { claim: count("claim", store), load: count("load", store), due: count("due", store) });
  return { asked, wrap };
}

/** Agents that are on the disk, and of whom some are in mid-answer when the process dies. */
async function sleeping(
  play: Play,
  idle: number,
  owed: readonly string[],
  parts: Partial<WorldParts> = {},
): Promise<World> {
  const world = await World.open({ behaviour: cast(play), ...parts });
  for (const agent of owed) await world.submit(`${agent}-u`, agent);
  await world.time.settle();
  world.crash();
  for (let n = 0; n < idle; n++) {
    const agent = `chat/idle-${n}`;
    await world.store.claim(agent, 0);
    const value = { ...blank, now: 1 } satisfies AgentState;
    await world.store.commit([{ agent, epoch: 1, seq: 1, at: 1, state: { value: value as never, wake: null } }]);
  }
  return world;
}

const owed = ["chat/x", "chat/y", "chat/z"];

describe("boot", () => {
  it("[K1] of a thousand agents the three that are due are loaded, and nothing else is looked at to know it", async () => {
    const { asked, wrap } = counting();
    const play: Play = { answer: (_context, n) => (n < 3 ? hangingAfter(words("Hel")) : said("lo")) };
    const world = await sleeping(play, 997, owed, { wrap });
    for (const calls of Object.values(asked)) calls.length = 0;
    await world.open();
    for (const agent of owed)
      await world.time.until(() => world.told("chat:turn:finish").some((event) => event.agent === agent));
    expect([asked["load"]!.sort(), asked["claim"]!.sort()]).toEqual([owed, owed]);
    expect(asked["due"]!.length).toBeLessThan(5);
  });

  it("[K1] a wake that lies ahead loads nothing before, and fires when it is there", async () => {
    const { asked, wrap } = counting();
    const play: Play = { answer: (_context, n) => (n === 0 ? [busy(3_600_000)] : said("later")) };
    const world = await sleeping(play, 5, [key], { wrap });
    expect((await world.state()).turn?.incident).toMatchObject({ kind: "waiting" });
    for (const calls of Object.values(asked)) calls.length = 0;
    await world.open();
    await world.time.advance(3_590_000);
    expect(asked["load"]).toEqual([]);
    await world.time.advance(20_000);
    expect(asked["load"]).toEqual([key]);
    expect((await world.state()).last).toMatchObject({ outcome: "completed" });
  });

  it("[K1] a directory that does not answer at boot is asked again", async () => {
    let failures = 1;
    const wrap = (store: AnyStore): AnyStore =>
      overriding(store, {
        due: (...asked) => (failures-- > 0 ? Promise.reject(new Error("busy")) : store.due(...asked)),
      });
    const play: Play = { answer: (_context, n) => (n === 0 ? hangingAfter(words("Hel")) : said("lo")) };
    failures = 0;
    const world = await sleeping(play, 0, [key], { wrap });
    failures = 1;
    await world.open();
    await world.time.advance(5_000);
    expect((await world.state()).last).toMatchObject({ outcome: "completed" });
  });

  it("[K2] loading is bounded, and a fresh command is not behind 500 recoveries", async () => {
    const gate = new Gate();
    let loading = 0;
    let most = 0;
    let gated = false;
    const wrap = (store: AnyStore): AnyStore =>
      overriding(store, {
        load: async (agent) => {
          most = Math.max(most, ++loading);
          if (gated && agent !== "chat/fresh") await gate.opened;
          loading--;
          return store.load(agent);
        },
      });
    const world = await World.open({ behaviour: cast(), wrap });
    world.crash();
    for (let n = 0; n < 500; n++) await world.store.enqueue(`chat/r${n}`, submitCommand(`u${n}`));
    gated = true;
    await world.open({ recoveriesMax: 8 });
    await world.time.advance(1_000);
    expect([loading, most]).toEqual([8, 8]);
    expect(await world.turn("fresh", "chat/fresh")).toMatchObject({ outcome: "completed" });
    expect(most).toBe(9);
    gate.open();
    await world.time.advance(1_000);
    expect(world.told("chat:turn:finish").length).toBe(501);
    expect(most).toBe(9);
  });

  it("[K2] turns that run hold no place: all are under way at once", async () => {
    const world = await World.open({ behaviour: cast({ answer: () => hangingAfter(words("Hel")) }) });
    world.crash();
    for (let n = 0; n < 50; n++) await world.store.enqueue(`chat/r${n}`, submitCommand(`u${n}`));
    await world.open({ recoveriesMax: 2 });
    await world.time.advance(1_000);
    expect(world.told("chat:turn:start").length).toBe(50);
  });
});

describe("an agent that cannot be loaded", () => {
  const played = (): Play => ({ answer: (_context, n) => (n < 3 ? hangingAfter(words("Hel")) : said("lo")) });

  it("[K3][ST9] backs off and is told of, and the others run", async () => {
    const { asked, wrap } = counting();
    const world = await sleeping(played(), 0, owed, { wrap });
    const sound = world.disk.agents.get("chat/y")!.state;
    world.disk.agents.get("chat/y")!.state = "{";
    await world.open();
    await world.time.advance(500);
    expect(
      world
        .told("chat:turn:finish")
        .map(({ agent }) => agent)
        .sort(),
    ).toEqual(["chat/x", "chat/z"]);
    expect(world.told("agent:unloadable").map(({ payload }) => payload)).toEqual([{ times: 1, code: "STORE_DAMAGED" }]);
    const fresh = { messages: [user("u9")] };
    await expect(world.gateway.submit("chat/y", fresh)).rejects.toMatchObject({ code: "STORE_DAMAGED" });
    await expect(world.gateway.status("chat/y")).rejects.toMatchObject({ code: "STORE_DAMAGED" });
    // 1, 2, 4 ... seconds, and no submit in between makes it more.
    asked["load"]!.length = 0;
    await world.time.advance(1_000 + 2_000 + 4_000);
    expect(asked["load"]).toEqual(["chat/y", "chat/y", "chat/y"]);
    world.disk.agents.get("chat/y")!.state = sound;
    await world.time.advance(10_000);
    expect(world.told("chat:turn:finish").map(({ agent }) => agent)).toContain("chat/y");
  });

  it("[E3] a state of an unknown version is left alone, never taken for an idle agent", async () => {
    const { wrap } = counting();
    const world = await sleeping(played(), 0, owed, { wrap });
    const newer = JSON.stringify({ ...JSON.parse(world.disk.agents.get("chat/y")!.state!), v: 2 });
    world.disk.agents.get("chat/y")!.state = newer;
    const { seq, wake } = world.disk.agents.get("chat/y")!.head;
    await world.open();
    await world.time.advance(30_000);
    const code = "STATE_VERSION_UNKNOWN";
    await expect(world.gateway.submit("chat/y", { messages: [user("u9")] })).rejects.toMatchObject({ code });
    await expect(world.gateway.status("chat/y")).rejects.toMatchObject({ code });
    expect(world.disk.agents.get("chat/y")).toMatchObject({ state: newer, head: { seq, wake } });
    expect(
      world
        .told("chat:turn:finish")
        .map(({ agent }) => agent)
        .sort(),
    ).toEqual(["chat/x", "chat/z"]);
  });

  it("[K3] one that ended the process three times before it could be saved is not loaded a fourth time", async () => {
    const { asked, wrap } = counting();
    let deaf = false;
    const lost = judged((batch, next) =>
      deaf && batch.some(({ agent }) => agent === "chat/y") ? silence() : next(batch),
    );
    const world = await sleeping(played(), 0, owed, { wrap: (store) => wrap(lost(store)) });
    deaf = true;
    asked["load"]!.length = 0;
    for (let death = 0; death < 3; death++) {
      await world.open();
      await world.time.settle();
      world.crash();
    }
    const loads = (): number => asked["load"]!.filter((agent) => agent === "chat/y").length;
    expect(loads()).toBe(3);
    deaf = false;
    await world.open();
    await world.time.advance(5_000);
    expect(loads()).toBe(3);
    const quarantined = { code: "AGENT_QUARANTINED" };
    await expect(world.gateway.submit("chat/y", { messages: [user("u9")] })).rejects.toMatchObject(quarantined);
    expect(await world.turn("u1", "chat/new")).toMatchObject({ outcome: "completed" });
  });

  it("[K3] a class that is not served: its turns stay as they are, and nobody else waits", async () => {
    const world = await sleeping(played(), 0, owed);
    await world.store.enqueue("gone/a", submitCommand("u1"));
    await world.open();
    await world.time.advance(120_000);
    expect(world.told("chat:turn:finish").length).toBe(3);
    expect(await world.store.head("gone/a")).toMatchObject({ seq: 0, wake: 0 });
    const error = { code: "AGENT_NOT_FOUND" };
    await expect(world.gateway.submit("gone/a", { messages: [user("u2")] })).rejects.toMatchObject(error);
  });

  it.each([
    { name: "throws", start: () => Promise.reject(new Error("no")), waitMs: 0 },
    { name: "hangs", start: silence, waitMs: 30_000 },
  ])("[K3] an onStart that $name does not keep the agent from answering", async ({ start, waitMs }) => {
    const world = await World.open({ behaviour: cast({ start }) });
    const submitted = world.gateway.submit(key, { messages: [user("u1")] });
    await world.time.advance(waitMs);
    expect(await world.ended((await submitted).turn)).toMatchObject({ outcome: "completed" });
    expect(world.told("chat:onstart:degraded").length).toBe(1);
  });
});

describe("an agent that is quiet", () => {
  it("[K5] leaves memory, gives its epoch up, and is found again by what comes next", async () => {
    const { asked, wrap } = counting();
    const world = await World.open({ behaviour: cast(), wrap, options: { idleMs: 10_000 } });
    const first = await world.turn("u1");
    const { epoch } = (await world.store.head(key))!;
    await world.time.advance(9_999);
    expect(world.runtime.loaded(key)).not.toBeNull();
    await world.time.advance(1);
    expect(world.runtime.loaded(key)).toBeNull();
    expect(await world.store.head(key)).toMatchObject({ epoch: epoch + 1, claims: 0, wake: null });
    // Looking loads nothing.
    expect(await world.gateway.status(key)).toMatchObject({ status: "idle", last: { turn: first.turn } });
    expect(await world.gateway.turn(key, first.turn)).toMatchObject({ state: "settled" });
    expect(asked["load"]).toEqual([key]);
    expect(await world.turn("u2")).toMatchObject({ outcome: "completed" });
    expect(asked["load"]).toEqual([key, key]);
    expect(await world.texts()).toEqual(["hi", "ok", "hi", "ok"]);
  });

  it("[K5] a turn that runs or waits keeps it there; each end begins the time anew", async () => {
    const play: Play = { answer: (_context, n) => (n === 1 ? [busy(60_000)] : said("ok")) };
    const world = await World.open({ behaviour: cast(play), options: { idleMs: 10_000 } });
    await world.turn("u1");
    await world.time.advance(9_000);
    await world.submit("u2");
    await world.time.advance(60_000);
    await world.time.advance(9_000);
    await world.turn("u3");
    expect(await world.state()).toMatchObject({ turn: null });
    await world.time.advance(9_000);
    expect(world.runtime.loaded(key)).not.toBeNull();
    await world.time.advance(1_000);
    expect(world.runtime.loaded(key)).toBeNull();
  });

  it("[K5] one that was loaded for nothing leaves, too", async () => {
    const world = await World.open({ behaviour: cast(), options: { idleMs: 10_000 } });
    await world.time.of(world.runtime.agent(key));
    await world.time.advance(10_000);
    expect(world.runtime.loaded(key)).toBeNull();
  });
});

describe("retention", () => {
  it("[W7] chunks of settled turns go after their time, a slice at a time, and those of a running one stay", async () => {
    const slices: number[] = [];
    const wrap = (store: AnyStore): AnyStore =>
      overriding(store, {
        retain: async (now, limits) => {
          slices.push(limits.rowsMax);
          return store.retain(now, { ...limits, rowsMax: 2 });
        },
      });
    const play: Play = { answer: (_context, n) => (n < 3 ? said("one ", "two") : hangingAfter(words("Hel"))) };
    const world = await World.open({ behaviour: cast(play), wrap, options: { chunksMs: 600_000 } });
    const turns = [await world.turn("u1"), await world.turn("u2"), await world.turn("u3")];
    await world.time.advance(300_000);
    const running = await world.submit("u4");
    await world.time.advance(299_000);
    for (const { turn } of turns) expect((await world.log(turn)).length).toBeGreaterThan(5);
    slices.length = 0;
    await world.time.advance(61_000);
    for (const { turn } of turns) expect(await world.log(turn)).toEqual([]);
    expect(slices.length).toBeGreaterThan(3);
    expect(spoken(await world.log(running))).toBe("Hel");
    expect((await world.gateway.source(key, turns[0]!.turn, 0)).kind).toBe("snapshot");
    expect(await world.texts()).toEqual(["hi", "one two", "hi", "one two", "hi", "one two", "hi"]);
  });

  it("a store that cannot do it now is asked again at its time; a closed runtime asks no more", async () => {
    let asked = 0;
    const wrap = (store: AnyStore): AnyStore =>
      overriding(store, {
        retain: () => {
          asked++;
          return Promise.reject(new Error("busy"));
        },
      });
    const world = await World.open({ behaviour: cast(), wrap });
    await world.time.advance(180_000);
    expect(asked).toBe(3);
    world.crash();
    await world.time.advance(600_000);
    expect(asked).toBe(3);
  });
});

function submitCommand(id: string): Parameters<AnyStore["enqueue"]>[1] {
  return { v: 1, id: `message:${id}`, hash: id, at: 1, kind: "submit", turn: `turn_${id}`, messages: [user(id)] };
}
