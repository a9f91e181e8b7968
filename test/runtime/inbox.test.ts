/** Commands on their way in: durable before they are acknowledged, once, in order, and never waiting. */
import { describe, expect, it } from "vitest";
import type { Command, CommandBody } from "../../src/core/records.ts";
import { cast, hangingAfter, type Play, said, silence, words } from "./actor.ts";
import { Gate, judged, key, user, World } from "./kit.ts";

const hanging: Play = { answer: () => hangingAfter(words("Hello")) };

function command(id: string, body: CommandBody): Command {
  return { v: 1, id, hash: `hash of ${id}`, at: 1, ...body };
}

const submitting = (id: string): Command =>
  command(`message:${id}`, { kind: "submit", turn: `turn_${id}`, messages: [user(id, id)] });

/** Its time is long past. */
async function withoutTombstones(world: World): Promise<void> {
  await world.time.advance(60_000);
  await world.store.retain(world.time.now(), { chunksMs: 1, tombstonesMs: 1, rowsMax: 1_000 });
  expect(await world.store.tombstone(key, "message:u1")).toBeNull();
}

/** Commands that came in while nobody owned the agent. */
async function delivered(world: World, ...commands: readonly Command[]): Promise<void> {
  for (const one of commands) expect(await world.store.enqueue(key, one)).toMatchObject({ kind: "accepted" });
}

describe("acceptance", () => {
  it("[C1] a submit whose commit never landed was never acknowledged, and leaves nothing", async () => {
    let stuck = true;
    const wrap = judged((batch, next) => (stuck ? silence() : next(batch)));
    const world = await World.open({ behaviour: cast(), wrap });
    const answered: string[] = [];
    world.gateway.submit(key, { messages: [user("u1")] }).then(
      () => answered.push("yes"),
      () => answered.push("no"),
    );
    await world.time.advance(1_000);
    stuck = false;
    await world.restart();
    await world.time.advance(1_000);
    expect(answered).toEqual([]);
    expect(await world.gateway.status(key)).toMatchObject({ status: "idle", last: null });
    expect(await world.turn("u1")).toMatchObject({ outcome: "completed" });
    expect(await world.texts()).toEqual(["hi", "ok"]);
  });

  it("[C1] one that was acknowledged is there after a death at that very moment", async () => {
    const world = await World.open({ behaviour: cast() });
    const { turn } = await world.time.of(
      world.gateway.submit(key, { messages: [user("u1")] }).finally(() => world.crash()),
    );
    await world.open();
    expect(await world.ended(turn)).toMatchObject({ outcome: "completed" });
    expect(await world.texts()).toEqual(["hi", "ok"]);
  });

  it("[C1] a body goes with its turn, over a death", async () => {
    const bodies: unknown[] = [];
    const play: Play = {
      answer: (context, n) => {
        bodies.push(context.turn.body);
        return n === 0 ? hangingAfter(words("Hel")) : said("lo");
      },
    };
    const world = await World.open({ behaviour: cast(play) });
    const { turn } = await world.time.of(world.gateway.submit(key, { messages: [user("u1")], body: { lang: "de" } }));
    await world.time.until(() => bodies.length > 0);
    await world.restart();
    await world.ended(turn);
    expect(bodies).toEqual([{ lang: "de" }, { lang: "de" }]);
  });
});

describe("the same id", () => {
  const moments: readonly { name: string; play?: Play; next(world: World): Promise<void> }[] = [
    { name: "while its turn runs", play: hanging, next: (world) => world.time.settle() },
    { name: "after its turn has ended", next: (world) => world.time.advance(100) },
    { name: "after its agent has left memory", next: (world) => world.time.advance(60_000) },
    { name: "after a death", play: hanging, next: (world) => world.restart() },
    { name: "after a deploy", next: (world) => world.deploy() },
    { name: "without its tombstone", next: withoutTombstones },
  ];

  it.each(moments)("[C3][W4] with the same content gives the same answer: $name", async ({ play, next }) => {
    const world = await World.open({ behaviour: cast(play) });
    const first = await world.time.of(world.gateway.submit(key, { messages: [user("u1")] }));
    await next(world);
    const again = await world.time.of(world.gateway.submit(key, { messages: [user("u1")] }));
    expect(again).toEqual({ ...first, accepted: false });
    expect(world.told("chat:turn:start").length).toBe(1);
  });

  it.each(moments)("[C3][W4] with other content is refused and changes nothing: $name", async ({ play, next }) => {
    const world = await World.open({ behaviour: cast(play) });
    await world.submit("u1");
    await next(world);
    const other = world.gateway.submit(key, { messages: [user("u1", "something else")] });
    await expect(world.time.of(other)).rejects.toMatchObject({ code: "CONTENT_CONFLICT" });
    expect(world.told("chat:turn:start").length).toBe(1);
    expect((await world.texts())[0]).toBe("hi");
  });

  it("[C3] while its commit is on its way: one turn, and both are answered when it has landed", async () => {
    const gate = new Gate();
    const wrap = judged((batch, next) => gate.opened.then(() => next(batch)));
    const world = await World.open({ behaviour: cast(), wrap });
    const answers: unknown[] = [];
    const send = (text: string): void => {
      world.gateway.submit(key, { messages: [user("u1", text)] }).then(
        ({ turn, accepted }) => answers.push([turn, accepted]),
        (error) => answers.push(error.code),
      );
    };
    send("hi");
    send("hi");
    send("other");
    await world.time.advance(100);
    send("hi");
    send("other");
    await world.time.advance(100);
    expect(answers).toEqual(["CONTENT_CONFLICT", "CONTENT_CONFLICT"]);
    gate.open();
    await world.time.advance(100);
    const [[turn]] = answers.slice(2) as [[string]];
    expect(answers.slice(2)).toEqual([
      [turn, true],
      [turn, false],
      [turn, false],
    ]);
    expect(await world.texts()).toEqual(["hi", "ok"]);
  });

  it("[C3] of an earlier message of a submit is not stored twice; that of the last one decides", async () => {
    const world = await World.open({ behaviour: cast() });
    const first = await world.time.of(world.gateway.submit(key, { messages: [user("u1")] }));
    await world.ended(first.turn);
    const more = await world.time.of(world.gateway.submit(key, { messages: [user("u1"), user("u2")] }));
    expect(more.accepted).toBe(true);
    expect(await world.ended(more.turn)).toMatchObject({ outcome: "completed" });
    const other = world.time.of(world.gateway.submit(key, { messages: [user("u3"), user("u1")] }));
    await expect(other).rejects.toMatchObject({ code: "CONTENT_CONFLICT" });
    expect((await world.messages()).map(({ id }) => id)).toEqual(["u1", first.messageId, "u2", more.messageId]);
  });

  it.each([
    { name: "the same id twice in one submit", messages: [user("u1"), user("u1", "other")] },
    { name: "content that is not JSON", messages: [{ ...user("u1"), metadata: { n: 1n } }] },
    { name: "an id that cannot be one", messages: [user("a\nb")] },
  ])("[C3][W6] a submit that can never be stored is refused, and the agent goes on: $name", async ({ messages }) => {
    const world = await World.open({ behaviour: cast() });
    await world.turn("u0");
    await expect(world.time.of(world.gateway.submit(key, { messages }))).rejects.toMatchObject({
      code: expect.stringMatching(/^BAD_/),
    });
    expect(world.told("agent:instance-died")).toEqual([]);
    expect(await world.turn("u2")).toMatchObject({ outcome: "completed" });
    expect(await world.texts()).toEqual(["hi", "ok", "hi", "ok"]);
  });
});

describe("a queue that is full", () => {
  it("[L2] the 65th turn that would wait is refused, and nothing of it is stored; when one ends there is room", async () => {
    const gate = new Gate();
    const play: Play = {
      async *answer() {
        await gate.opened;
        yield* said("ok");
      },
    };
    const world = await World.open({ behaviour: cast(play) });
    const turns: string[] = [];
    for (let n = 0; n <= 64; n++) turns.push(await world.submit(`u${n}`));
    const full = { code: "INBOX_FULL", problem: { retriable: true } };
    const landed = world.landed.length;
    await expect(world.gateway.submit(key, { messages: [user("u65")] })).rejects.toMatchObject(full);
    await expect(world.gateway.continue(key)).rejects.toMatchObject(full);
    await world.time.advance(100);
    expect(world.landed.length).toBe(landed);
    expect(await world.store.message(key, "u65")).toBeNull();
    // What was accepted before is still answered, and a stop still taken.
    const again = await world.time.of(world.gateway.submit(key, { messages: [user("u64")] }));
    expect(again).toMatchObject({ turn: turns[64], accepted: false });
    expect(await world.time.of(world.gateway.stop(key, turns[64]!))).toBe(true);
    expect(await world.submit("u65")).toMatch(/^turn/);
    gate.open();
    expect(await world.turn("u66").catch(({ code }) => code)).toBe("INBOX_FULL");
    await world.time.until(() => world.told("chat:turn:finish").length === 65);
    expect(await world.turn("u66")).toMatchObject({ outcome: "completed" });
  });

  it("[L2][L1] long ids fill the state's room before 64 turns wait", async () => {
    const world = await World.open({ behaviour: cast(hanging) });
    let accepted = 0;
    let code: unknown;
    for (; code === undefined && accepted < 64; accepted++) {
      const ids = Array.from({ length: 8 }, (_, n) => `${accepted}-${n}-`.padEnd(256, "x"));
      const sent = world.gateway.submit(key, { messages: ids.map((id) => user(id)) });
      await world.time.of(sent).catch((error) => {
        code = error.code;
      });
    }
    expect(code).toBe("INBOX_FULL");
    expect(accepted).toBeGreaterThan(5);
    expect(JSON.stringify(await world.state()).length).toBeLessThan(64 * 1024);
  });

  it("[L1] messages without a turn that wait behind one do not grow the state without bound", async () => {
    const world = await World.open({ behaviour: cast(hanging) });
    await world.submit("u1");
    for (let n = 0; n < 250; n++) {
      await world.time.of(world.gateway.append(key, [user(`m${n}`.padEnd(200, "x"))], "append")).catch(() => {});
    }
    expect(JSON.stringify(await world.state()).length).toBeLessThan(64 * 1024);
  });
});

describe("the durable inbox", () => {
  it("[C1][C2] what other processes put there is done at load, in order, and each once", async () => {
    const world = await World.open({
      behaviour: cast({ answer: (context) => said(`to ${context.turn.inputs.join()}`) }),
    });
    world.crash();
    const append = command("a1", { kind: "append", messages: [user("m1", "by the way")], mode: "append" });
    await delivered(world, submitting("u1"), append, submitting("u2"));
    await world.open();
    await world.time.advance(1_000);
    expect(await world.texts()).toEqual(["u1", "to u1", "by the way", "u2", "to u2"]);
    expect(await world.store.head(key)).toMatchObject({ wake: null });
    await world.restart();
    await world.time.advance(1_000);
    expect((await world.texts()).length).toBe(5);
    expect(await world.store.enqueue(key, submitting("u1"))).toEqual({ kind: "duplicate", turn: "turn_u1" });
  });

  it("[C2] a message without a turn stays before the turn that was sent after it", async () => {
    const world = await World.open({ behaviour: cast() });
    world.crash();
    const append = command("a1", { kind: "append", messages: [user("m1", "first")], mode: "append" });
    await delivered(world, append, submitting("u1"));
    await world.open();
    await world.time.advance(1_000);
    expect(await world.texts()).toEqual(["first", "u1", "ok"]);
  });

  it("[C2][C12] a stop and a clear that wait there find what stands before them", async () => {
    const world = await World.open({ behaviour: cast() });
    world.crash();
    await delivered(world, submitting("u1"), command("s1", { kind: "stop", turn: "turn_u1" }), submitting("u2"));
    await world.open();
    await world.time.advance(1_000);
    expect(await world.gateway.turn(key, "turn_u1")).toMatchObject({ state: "settled", outcome: "stopped" });
    expect(await world.gateway.turn(key, "turn_u2")).toMatchObject({ state: "settled", outcome: "completed" });
    world.crash();
    await delivered(world, command("c1", { kind: "clear" }), submitting("u3"));
    await world.open();
    await world.time.advance(1_000);
    expect(await world.texts()).toEqual(["u3", "ok"]);
  });

  it("[C3] a command there whose message is stored already makes no second turn, and poisons nobody", async () => {
    const world = await World.open({ behaviour: cast() });
    await world.turn("u1");
    world.crash();
    const again = command("other-id", { kind: "submit", turn: "turn_again", messages: [user("u1")] });
    await delivered(world, again, submitting("u2"));
    await world.open();
    await world.time.advance(10_000);
    expect(await world.gateway.turn(key, "turn_u2")).toMatchObject({ outcome: "completed" });
    expect(world.told("agent:instance-died")).toEqual([]);
    expect(await world.store.head(key)).toMatchObject({ wake: null, claims: 0 });
  });
});
