/** What the doors are told: landed state, as views. */
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import type { Outcome } from "../../src/core/records.ts";
import type { Chunk } from "../../src/core/transcript.ts";
import {
  asks,
  begin,
  broken,
  busy,
  cast,
  delta,
  end,
  hangingAfter,
  type Play,
  refused,
  said,
  silence,
  words,
} from "./actor.ts";
import { key, spoken, World } from "./kit.ts";

const midAnswer = (world: World): Promise<void> =>
  world.time.until(() => world.landed.some(({ chunks }) => chunks !== undefined && spoken(chunks[0]!.chunks) !== ""));

/** What the SDK's own client makes of chunks. */
async function shown(chunks: readonly Chunk[]): Promise<UIMessage | undefined> {
  let last: UIMessage | undefined;
  const stream = ReadableStream.from(chunks as readonly UIMessageChunk[]);
  for await (const message of readUIMessageStream({ stream, onError: () => {} })) last = message;
  return last && (JSON.parse(JSON.stringify(last)) as UIMessage);
}

describe("status", () => {
  it("[R1] of an agent that nobody has heard of: idle, and nothing is made of it", async () => {
    const world = await World.open({ behaviour: cast() });
    const status = await world.gateway.status(key);
    expect(status).toEqual({ status: "idle", turn: null, incident: null, pending: [], last: null });
    expect(await world.store.head(key)).toBeNull();
  });

  it("running, with how many wait; then idle, with how the last one ended", async () => {
    const world = await World.open({ behaviour: cast({ answer: () => hangingAfter(words("Hello")) }) });
    const [first, second] = [await world.submit("u1"), await world.submit("u2")];
    await world.submit("u3");
    const { messageId } = (await world.gateway.turn(key, first))!;
    expect(await world.gateway.status(key)).toMatchObject({
      status: "running",
      turn: { id: first, messageId, queued: 2 },
      incident: null,
    });
    expect(await world.gateway.turn(key, first)).toMatchObject({
      state: "running",
      createdAt: expect.any(Number),
      startedAt: expect.any(Number),
    });
    expect(await world.gateway.turn(key, second)).toMatchObject({ state: "queued" });
    for (let n = 0; n < 3; n++) await world.time.of(world.gateway.stop(key, null));
    const stopped = { status: "idle", turn: null, last: { outcome: "stopped", reason: "stopped" } };
    expect(await world.gateway.status(key)).toMatchObject(stopped);
    expect(await world.gateway.turn(key, second)).toMatchObject({
      state: "settled",
      outcome: "stopped",
      endedAt: expect.any(Number),
    });
  });

  it("[I1][I7] recovering, with the incident: its attempt, its budget, its cause and until when it waits", async () => {
    const world = await World.open({ behaviour: cast({ policy: { maxAttempts: 4 }, answer: () => [broken()] }) });
    const turn = await world.submit("u1");
    await world.time.advance(100);
    const { incident, status } = await world.gateway.status(key);
    expect(status).toBe("recovering");
    expect(incident).toEqual({
      id: `${turn}:u1`,
      attempt: 2,
      maxAttempts: 4,
      cause: "cut",
      since: expect.any(Number),
      until: incident!.since + 500,
    });
    expect(await world.gateway.turn(key, turn)).toMatchObject({ state: "recovering" });
    await world.time.advance(400);
    expect((await world.gateway.status(key)).incident).toMatchObject({ attempt: 3 });
  });

  it("[I4] busy: recovering, with no attempt spent", async () => {
    const world = await World.open({ behaviour: cast({ answer: () => [busy(60_000)] }) });
    await world.submit("u1");
    await world.time.advance(100);
    expect((await world.gateway.status(key)).incident).toMatchObject({ attempt: 0, cause: "busy" });
  });

  it("an unknown turn is null, and has no source", async () => {
    const world = await World.open({ behaviour: cast() });
    expect(await world.gateway.turn(key, "turn_0")).toBeNull();
    await expect(world.gateway.source(key, "turn_0", 0)).rejects.toMatchObject({ code: "TURN_NOT_FOUND" });
    await expect(world.gateway.ended(key, "turn_0")).rejects.toMatchObject({ code: "TURN_NOT_FOUND" });
  });

  it("whoever waited and was answered leaves nothing behind", async () => {
    const world = await World.open({ behaviour: cast() });
    const { turn } = await world.turn("u1");
    let listening = 0;
    const { hub } = world.runtime;
    const once = hub.once.bind(hub);
    hub.once = (agent, listener) => {
      const forget = once(agent, listener);
      listening++;
      return () => {
        listening--;
        forget();
      };
    };
    await world.ended(turn);
    await expect(world.ended("turn_0")).rejects.toMatchObject({ code: "TURN_NOT_FOUND" });
    const source = await world.gateway.source(key, turn, 0);
    if (source.kind !== "chunks") throw new Error("its chunks are there");
    while (await source.reader.read());
    expect(listening).toBe(0);
  });

  it("the current turn: the one in flight, else the last, as long as it is young", async () => {
    const world = await World.open({
      behaviour: cast({ answer: (_context, n) => (n === 0 ? said("ok") : hangingAfter([])) }),
    });
    expect(await world.gateway.current(key, 60_000)).toBeNull();
    const { turn } = await world.turn("u1");
    expect(await world.gateway.current(key, 60_000)).toBe(turn);
    await world.time.advance(59_000);
    expect(await world.gateway.current(key, 60_000)).toBe(turn);
    await world.time.advance(1_000);
    expect(await world.gateway.current(key, 60_000)).toBeNull();
    const next = await world.submit("u2");
    await world.time.advance(120_000);
    expect(await world.gateway.current(key, 60_000)).toBe(next);
  });

  it("messages in pages by depth, without the turn in flight", async () => {
    const world = await World.open({
      behaviour: cast({ answer: (_context, n) => (n < 3 ? said(`${n}`) : hangingAfter(words("no"))) }),
    });
    for (const id of ["u1", "u2", "u3"]) await world.turn(id);
    await world.submit("u4");
    await world.time.settle();
    const pages: string[][] = [];
    for (let after = -1; ; ) {
      const page = await world.gateway.messages(key, after, 4);
      if (page.length === 0) break;
      pages.push(page.map(({ message }) => message.role));
      after = page.at(-1)!.depth;
    }
    expect(pages).toEqual([
      ["user", "assistant", "user", "assistant"],
      ["user", "assistant", "user"],
    ]);
  });
});

/** One turn of each end, by the class that plays it. */
const ends: readonly {
  outcome: Outcome;
  play: Play;
  act?(world: World, turn: string): Promise<unknown>;
  last: Chunk["type"];
}[] = [
  { outcome: "completed", play: { answer: () => said("Hel", "lo") }, last: "finish" },
  {
    outcome: "stopped",
    play: { answer: () => hangingAfter(words("Hel", "lo")) },
    act: (world, turn) => midAnswer(world).then(() => world.time.of(world.gateway.stop(key, turn))),
    last: "abort",
  },
  { outcome: "failed", play: { answer: () => [...words("Hello"), refused("too long")] }, last: "error" },
  {
    outcome: "sealed",
    play: {
      policy: { maxAttempts: 1, terminalMessage: "Gave up." },
      answer: (_context, n) => (n === 0 ? [...words("Hello"), broken()] : [broken()]),
    },
    act: (world) => world.time.advance(60_000),
    last: "error",
  },
];

describe("a turn whose chunks are past their time", () => {
  it.each(ends)(
    "[W7][T1] is shown as chunks that replay to its final message, and its end: $outcome",
    async ({ outcome, play, act, last }) => {
      const world = await World.open({ behaviour: cast(play), options: { chunksMs: 600_000 } });
      const turn = await world.submit("u1");
      await act?.(world, turn);
      const { messageId } = await world.ended(turn);
      const log = await world.log(turn);
      await world.time.advance(800_000);
      expect(await world.log(turn)).toEqual([]);
      const source = await world.gateway.source(key, turn, 0);
      if (source.kind !== "snapshot") throw new Error("its chunks are gone");
      expect(await world.gateway.turn(key, turn)).toMatchObject({ outcome });
      expect(source.chunks[0]).toEqual({ type: "start", messageId });
      expect(source.chunks.at(-1)).toEqual(log.at(-1));
      expect(source.chunks.at(-1)?.type).toBe(last);
      expect(await shown(source.chunks)).toEqual(await shown(log));
      expect(await shown(source.chunks)).toMatchObject((await world.messages()).at(-1)!);
    },
  );

  it("[W7] one that was stopped while it waited is shown as its end alone", async () => {
    const world = await World.open({
      behaviour: cast({ answer: () => hangingAfter([]) }),
      options: { chunksMs: 60_000 },
    });
    await world.submit("u1");
    const second = await world.submit("u2");
    await world.time.of(world.gateway.stop(key, second));
    await world.time.advance(180_000);
    const source = await world.gateway.source(key, second, 0);
    expect(source.kind === "snapshot" && source.chunks.map(({ type }) => type)).toEqual(["start", "abort"]);
  });
});

describe("damage", () => {
  it("[ST9][W2] a damaged first segment of a settled turn loses itself only: the rest is still read by offset", async () => {
    const world = await World.open({ behaviour: cast({ answer: () => said("one ", "two") }) });
    const { turn } = await world.turn("u1");
    await world.time.advance(60_000);
    const { segments } = world.disk.agents.get(key)!.logs.get(turn)!;
    const lost = segments[0]!.count;
    segments[0] = { ...segments[0]!, text: "{" };
    const source = await world.gateway.source(key, turn, 0);
    if (source.kind !== "chunks") throw new Error("its chunks are there");
    const slice = await world.time.of(source.reader.read());
    expect(slice?.first).toBe(lost);
    expect(slice?.texts.at(-1)).toContain("finish");
  });

  it("[ST9] a damaged row of the turn that runs loses itself only: the turn goes on and ends", async () => {
    const play: Play = { answer: (_context, n) => (n === 0 ? hangingAfter(words("Hel")) : said("lo")) };
    const world = await World.open({ behaviour: cast(play) });
    const turn = await world.submit("u1");
    await midAnswer(world);
    world.crash();
    damageTurn(world, turn);
    await world.open();
    await world.time.advance(1_000);
    expect(await world.gateway.turn(key, turn)).toMatchObject({ state: "settled", outcome: "completed" });
    expect(await world.texts()).toEqual(["hi", "Hello"]);
  });

  it("[ST9] a damaged row of a turn that waits loses itself only: it runs, and harms nobody", async () => {
    const play: Play = { answer: (_context, n) => (n === 0 ? hangingAfter(words("Hel")) : said("lo")) };
    const world = await World.open({ behaviour: cast(play) });
    await world.submit("u1");
    const second = await world.submit("u2");
    await midAnswer(world);
    world.crash();
    damageTurn(world, second);
    await world.open();
    await world.time.advance(1_000);
    expect(await world.gateway.turn(key, second)).toMatchObject({ id: second, state: "settled", outcome: "completed" });
    expect(await world.texts()).toEqual(["hi", "Hello", "hi", "lo"]);
  });

  it("[ST9] a damaged segment of the step that runs: what can be read of it is gone on from", async () => {
    const play: Play = {
      async *answer(_context, n) {
        if (n > 0) return yield* said("three");
        yield begin();
        for (const word of ["one ", "two "]) {
          yield delta(word);
          await world.time.advance(100);
        }
        await silence();
      },
    };
    const world = await World.open({ behaviour: cast(play) });
    const turn = await world.submit("u1");
    await world.time.until(() =>
      world.landed.some(({ chunks }) => chunks?.some((some) => spoken(some.chunks) === "two ")),
    );
    world.crash();
    const { segments } = world.disk.agents.get(key)!.logs.get(turn)!;
    const at = segments.findIndex(({ text }) => text.includes("two "));
    segments[at] = { ...segments[at]!, text: "{" };
    await world.open();
    expect(await world.ended(turn)).toMatchObject({ outcome: "completed" });
    expect(await world.texts()).toEqual(["hi", "one three"]);
    const { next } = world.disk.agents.get(key)!.logs.get(turn)!;
    expect(segments.reduce((sum, { count }) => sum + count, 0)).toBe(next);
  });
});

describe("limits", () => {
  it("[L1] the state stays small over 200 turns of long text and tools", async () => {
    const long = "x".repeat(300);
    const play: Play = {
      tools: { look: { execute: async () => ({ found: long }) } },
      answer: (context) =>
        context.step === 0 ? [...words(long), ...asks("c", "look", { q: long }), end("tool-calls")] : said(long),
    };
    const world = await World.open({ behaviour: cast(play) });
    let most = 0;
    for (let n = 0; n < 200; n++) {
      await world.turn(`u${n}`);
      const before = world.landed.length;
      for (const { state } of world.landed.splice(0, before))
        most = Math.max(most, JSON.stringify(state?.value ?? null).length);
    }
    expect(most).toBeGreaterThan(500);
    expect(most).toBeLessThan(4_000);
    expect((await world.messages()).length).toBe(400);
  });
});

function damageTurn(world: World, turn: string): void {
  const { turns } = world.disk.agents.get(key)!;
  turns.set(turn, { ...turns.get(turn)!, text: "{" });
}
