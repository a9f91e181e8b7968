/** What stop, clear, append and continue do to what runs and what waits. */
import { describe, expect, it } from "vitest";
import { asks, cast, end, hangingAfter, type Play, said, silence, words } from "./actor.ts";
import { judged, key, spoken, types, user, World } from "./kit.ts";

/** The n-th request of the world hangs after its words; others are answered. */
const hangs = (...at: readonly number[]): Play => ({
  answer: (_context, n) => (at.includes(n) ? hangingAfter(words("Hel", "lo")) : said("ok")),
});

const midAnswer = (world: World): Promise<void> =>
  world.time.until(() => world.landed.some(({ chunks }) => chunks !== undefined && spoken(chunks[0]!.chunks) !== ""));

describe("stop", () => {
  it.each([
    { name: "by its id", turn: (id: string) => id },
    { name: "whatever runs", turn: () => null },
  ])("[C12] ends the turn that runs, with its partial: $name", async ({ turn: named }) => {
    const aborted: unknown[] = [];
    const play: Play = {
      answer: (_context, _n, signal) => {
        signal.addEventListener("abort", () => aborted.push(signal.reason.message));
        return hangingAfter(words("Hel", "lo"));
      },
    };
    const world = await World.open({ behaviour: cast(play) });
    const turn = await world.submit("u1");
    await midAnswer(world);
    expect(await world.time.of(world.gateway.stop(key, named(turn)))).toBe(true);
    expect(await world.ended(turn)).toMatchObject({ outcome: "stopped", reason: "stopped" });
    expect(aborted).toEqual(["stopped"]);
    const log = await world.log(turn);
    expect(types(log)).toBe("start start-step text-start text-delta text-delta text-end abort");
    expect(log.at(-1)).toEqual({ type: "abort", reason: "stopped" });
    expect(await world.texts()).toEqual(["hi", "Hello"]);
  });

  it("[C12] gives every open call an end, tells what runs to stop, and a late result changes nothing", async () => {
    let finish = (): void => {};
    let signal: AbortSignal | undefined;
    const play: Play = {
      tools: {
        pay: {
          execute: (call) => {
            signal = call.signal;
            return new Promise((resolve) => {
              finish = () => resolve("paid");
            });
          },
        },
      },
      answer: (_context, n) => (n === 0 ? [...asks("c", "pay"), end("tool-calls")] : said("ok")),
    };
    const world = await World.open({ behaviour: cast(play) });
    const turn = await world.submit("u1");
    await world.time.until(() => signal !== undefined);
    expect(await world.time.of(world.gateway.stop(key, turn))).toBe(true);
    expect(signal?.aborted).toBe(true);
    const log = await world.log(turn);
    expect(types(log.slice(-2))).toBe("tool-output-error abort");
    finish();
    await world.time.advance(100);
    expect(await world.log(turn)).toEqual(log);
    expect(await world.store.ledger(key, turn)).toMatchObject([{ state: "unknown", late: { output: "paid" } }]);
    expect(world.told("tool:late").length).toBe(1);
  });

  it("[C12][R1] is not answered before it is durable", async () => {
    let stuck = false;
    const wrap = judged((batch, next) => (stuck ? silence() : next(batch)));
    const world = await World.open({ behaviour: cast(hangs(0)), wrap });
    const turn = await world.submit("u1");
    await midAnswer(world);
    stuck = true;
    let answered = false;
    void world.gateway.stop(key, turn).then(() => {
      answered = true;
    });
    await world.time.advance(1_000);
    expect([answered, (await world.gateway.status(key)).status]).toEqual([false, "running"]);
  });

  it("[C12][T1] once answered it survives a death: the turn is not gone on with", async () => {
    const world = await World.open({ behaviour: cast(hangs(0)) });
    const turn = await world.submit("u1");
    await midAnswer(world);
    await world.time.of(world.gateway.stop(key, turn).finally(() => world.crash()));
    await world.open();
    await world.time.advance(60_000);
    expect(await world.gateway.turn(key, turn)).toMatchObject({ state: "settled", outcome: "stopped" });
    expect(world.told("chat:recovery:detected")).toEqual([]);
    expect(types((await world.log(turn)).slice(-1))).toBe("abort");
  });

  it("[C12] stops a recovery that waits, and one whose agent is not in memory", async () => {
    const play: Play = {
      answer: () => [{ kind: "fault", fault: { kind: "busy", message: "", retryAfterMs: 3_600_000 }, error: null }],
    };
    const world = await World.open({ behaviour: cast(play) });
    const turn = await world.submit("u1");
    await world.time.settle();
    await world.restart();
    await world.time.settle();
    expect(world.runtime.loaded(key)).toBeNull();
    expect(await world.time.of(world.gateway.stop(key, turn))).toBe(true);
    expect(await world.ended(turn)).toMatchObject({ outcome: "stopped" });
    expect(await world.gateway.status(key)).toMatchObject({ status: "idle", incident: null });
    expect(await world.store.head(key)).toMatchObject({ wake: null });
  });

  it("[T11][C12] of a turn that waits: a log of its own, and its message never enters the conversation", async () => {
    const world = await World.open({ behaviour: cast(hangs(0)) });
    const first = await world.submit("u1");
    const second = await world.submit("u2");
    const third = await world.submit("u3");
    expect(await world.gateway.turn(key, second)).toMatchObject({ state: "queued" });
    expect(await world.time.of(world.gateway.stop(key, second))).toBe(true);
    expect(await world.ended(second)).toMatchObject({ outcome: "stopped", reason: "stopped" });
    expect(await world.log(second)).toEqual([
      { type: "start", messageId: (await world.gateway.turn(key, second))?.messageId },
      { type: "abort", reason: "stopped" },
    ]);
    expect(await world.store.message(key, "u2")).toBeNull();
    await world.time.of(world.gateway.stop(key, first));
    expect(await world.ended(third)).toMatchObject({ outcome: "completed" });
    expect((await world.messages()).map(({ id }) => id).filter((id) => id.startsWith("u"))).toEqual(["u1", "u3"]);
  });

  it.each([
    { name: "nothing runs", prepare: async () => null },
    { name: "its turn has ended", prepare: async (world: World) => (await world.turn("u1")).turn },
    { name: "another turn runs", prepare: async (world: World) => `${await world.submit("u1")}-other` },
  ])("[C12] answers false where there is nothing to stop: $name", async ({ name, prepare }) => {
    const world = await World.open({ behaviour: cast(name === "another turn runs" ? hangs(0) : {}) });
    const turn = await prepare(world);
    const before = await world.gateway.status(key);
    expect(await world.time.of(world.gateway.stop(key, turn))).toBe(false);
    expect(await world.gateway.status(key)).toEqual(before);
  });
});

describe("clear", () => {
  it("[C13] in mid-turn: what runs and what waits ends, and the conversation is empty, in one commit", async () => {
    const world = await World.open({ behaviour: cast(hangs(1)) });
    const settled = await world.turn("u0");
    const first = await world.submit("u1");
    const second = await world.submit("u2");
    await world.time.of(world.gateway.append(key, [user("m1")], "append"));
    await midAnswer(world);
    await world.time.until(() =>
      world.landed.some(({ chunks }) => chunks?.[0]?.turn === first && spoken(chunks[0].chunks) !== ""),
    );
    const source = await world.gateway.source(key, first, (await world.log(first)).length);
    if (source.kind !== "chunks") throw new Error("a running turn is read from its log");
    const reading = source.reader.read();
    await world.time.of(world.gateway.clear(key));
    const [clearing, ...others] = world.landed.filter(({ clear }) => clear);
    expect(others).toEqual([]);
    expect(clearing?.turns?.map(({ id, outcome, reason }) => [id, outcome, reason])).toEqual([
      [second, "stopped", "cleared"],
      [first, "stopped", "cleared"],
    ]);
    for (const turn of [first, second]) {
      expect(await world.ended(turn)).toMatchObject({ outcome: "stopped", reason: "cleared" });
      expect((await world.log(turn)).at(-1)).toEqual({ type: "abort", reason: "cleared" });
    }
    // Whoever was reading is told, and sees the end.
    expect((await world.time.of(reading))?.texts.at(-1)).toBe('{"type":"abort","reason":"cleared"}');
    expect(await world.messages()).toEqual([]);
    for (const id of ["u0", "u1", "u2", "m1"]) expect(await world.store.message(key, id)).toBeNull();
    expect(await world.gateway.turn(key, settled.turn)).toBeNull();
    expect(await world.gateway.status(key)).toMatchObject({ status: "idle", turn: null });
  });

  it("[C13] what comes after it begins anew, and is not sent what was wiped", async () => {
    const asked: string[][] = [];
    const play: Play = {
      answer: (context, n) => {
        asked.push(context.request("mock:one", { prefill: false }).map(({ id }) => id));
        return n === 1 ? hangingAfter(words("Hel")) : said("ok");
      },
    };
    const world = await World.open({ behaviour: cast(play) });
    await world.turn("u0");
    await world.submit("u1");
    await world.time.until(() => asked.length > 1);
    await world.time.of(world.gateway.clear(key));
    await world.turn("u2");
    expect(asked.at(-1)).toEqual(["u2"]);
    await world.restart();
    expect(await world.turn("u3")).toMatchObject({ outcome: "completed" });
    expect(await world.texts()).toEqual(["hi", "ok", "hi", "ok"]);
    expect((await world.gateway.messages(key, -1, 10)).map(({ depth }) => depth)).toEqual([0, 1, 2, 3]);
  });
});

describe("messages without a turn", () => {
  it("[T12] they and queued turns enter behind everything that settled before, in the order in which they came", async () => {
    const world = await World.open({ behaviour: cast(hangs(0)) });
    const first = await world.submit("u1");
    await midAnswer(world);
    await world.time.of(world.gateway.append(key, [user("m1", "one"), user("m2", "two")], "append"));
    const second = await world.submit("u2");
    await world.time.of(world.gateway.append(key, [user("m3", "three")], "append"));
    expect(await world.texts()).toEqual(["hi"]);
    await world.restart();
    await world.ended(first);
    await world.ended(second);
    expect(await world.texts()).toEqual(["hi", "Hellook", "one", "two", "hi", "ok", "three"]);
  });

  it("known ids are left as they are by `append`, and replaced by `upsert`", async () => {
    const world = await World.open({ behaviour: cast() });
    await world.turn("u1");
    await world.time.of(world.gateway.append(key, [user("u1", "other"), user("m1", "new")], "append"));
    expect(await world.texts()).toEqual(["hi", "ok", "new"]);
    await world.time.of(world.gateway.append(key, [user("u1", "other"), user("m2", "newer")], "upsert"));
    expect(await world.texts()).toEqual(["other", "ok", "new", "newer"]);
  });

  it("the same id twice in one call is refused; in two calls at once it is stored once", async () => {
    const world = await World.open({ behaviour: cast() });
    const twice = world.time.of(world.gateway.append(key, [user("m1"), user("m1")], "append"));
    await expect(twice).rejects.toMatchObject({ code: "BAD_REQUEST" });
    await Promise.all([1, 2].map(() => world.time.of(world.gateway.append(key, [user("m2")], "append"))));
    expect((await world.messages()).map(({ id }) => id)).toEqual(["m2"]);
  });
});

describe("continue", () => {
  it("[T2][T7] goes on in the last assistant message, as a turn of its own", async () => {
    const world = await World.open({ behaviour: cast({ answer: (_context, n) => said(n === 0 ? "One." : " Two.") }) });
    const first = await world.turn("u1");
    const { turn } = await world.time.of(world.gateway.continue(key));
    expect(turn).not.toBe(first.turn);
    expect(await world.ended(turn)).toMatchObject({ outcome: "completed", messageId: first.messageId });
    expect(await world.texts()).toEqual(["hi", "One. Two."]);
    const ids = (await world.log(turn)).filter(({ type }) => type === "text-start").map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("where the conversation does not end in one there is nothing to do", async () => {
    const world = await World.open({ behaviour: cast() });
    const { turn } = await world.time.of(world.gateway.continue(key));
    expect(await world.ended(turn)).toMatchObject({ outcome: "completed", reason: "nothing_to_continue" });
    expect([await world.messages(), types(await world.log(turn))]).toEqual([[], "start finish"]);
  });

  it("[T2] interrupted, it goes on over a death, and the message is one", async () => {
    const play: Play = {
      answer: (_context, n) => [said("One."), hangingAfter([...words(" Two")]), said(" and three.")][n] ?? said("?"),
    };
    const world = await World.open({ behaviour: cast(play) });
    const first = await world.turn("u1");
    const { turn } = await world.time.of(world.gateway.continue(key));
    await world.time.until(() =>
      world.landed.some(({ chunks }) => chunks !== undefined && spoken(chunks[0]!.chunks) === " Two"),
    );
    await world.restart();
    expect(await world.ended(turn)).toMatchObject({ outcome: "completed", messageId: first.messageId });
    expect(await world.texts()).toEqual(["hi", "One. Two and three."]);
  });
});
