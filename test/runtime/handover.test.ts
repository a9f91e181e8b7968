/** A process that ends in order: what runs is let go, what was started may finish, and no attempt is spent. */
import { describe, expect, it } from "vitest";
import type { ToolRun } from "../../src/ports/behaviour.ts";
import { asks, busy, cast, end, hangingAfter, type Play, refused, said, silence, words } from "./actor.ts";
import { Gate, judged, key, spoken, user, World } from "./kit.ts";

/** Begins the hand-over. `tookMs`: how long it took, once it is over. */
function handOver(world: World, graceMs: number): { over: boolean; tookMs: number } {
  const beganMs = world.time.elapsed();
  const seen = { over: false, tookMs: -1 };
  void world.runtime.handOver(graceMs).then(() => {
    seen.over = true;
    seen.tookMs = world.time.elapsed() - beganMs;
  });
  return seen;
}

const midAnswer = (world: World): Promise<void> =>
  world.time.until(() => world.landed.some(({ chunks }) => chunks !== undefined && spoken(chunks[0]!.chunks) !== ""));

const attempts = async (world: World): Promise<unknown> => {
  const incident = (await world.state()).turn?.incident;
  return incident && "ledger" in incident ? incident.ledger.attempt : 0;
};

describe("model streams", () => {
  it("[K4][I3] are cut at once, whatever the grace; the answer goes on, and no attempt is spent", async () => {
    const aborted: string[] = [];
    const play: Play = {
      answer: (_context, n, signal) => {
        signal.addEventListener("abort", () => aborted.push(String(signal.reason.message)));
        return n === 0 ? hangingAfter(words("Hello ")) : hangingAfter(words("there"));
      },
    };
    const world = await World.open({ behaviour: cast(play) });
    const turn = await world.submit("u1");
    await midAnswer(world);
    const seen = handOver(world, 60_000);
    await world.time.advance(100);
    expect(seen).toEqual({ over: true, tookMs: expect.any(Number) });
    expect(seen.tookMs).toBeLessThan(100);
    expect(aborted).toEqual(["handed over"]);
    expect((await world.state()).turn?.phase).toEqual({ kind: "handed-over" });
    expect(await world.store.head(key)).toMatchObject({ wake: 0, claims: 0 });
    await world.open();
    await world.time.advance(50);
    expect(spoken(await world.log(turn))).toBe("Hello there");
    expect(await attempts(world)).toBe(0);
  });

  it("[K4] are cut at once, also while the tool of another agent has its grace", async () => {
    const gate = new Gate();
    const play: Play = {
      tools: { pay: { execute: () => gate.opened } },
      answer: (context) =>
        context.turn.inputs[0] === "u1" ? hangingAfter(words("Hello")) : [...asks("c", "pay"), end("tool-calls")],
    };
    const world = await World.open({ behaviour: cast(play) });
    await world.submit("u1", "chat/a");
    await world.submit("u2", "chat/b");
    await world.time.advance(100);
    const seen = handOver(world, 10_000);
    await world.time.advance(100);
    expect(seen.over).toBe(false);
    expect((await world.state("chat/a")).turn?.phase.kind).toBe("handed-over");
    expect((await world.state("chat/b")).turn?.phase.kind).toBe("calling");
    gate.open();
    await world.time.advance(100);
    expect(seen.over).toBe(true);
  });

  it("[K4][I3] more deploys than attempts are no reason to give up", async () => {
    const play: Play = {
      policy: { maxAttempts: 3 },
      answer: (_context, n) => (n < 12 ? hangingAfter([]) : said("at last")),
    };
    const world = await World.open({ behaviour: cast(play) });
    const turn = await world.submit("u1");
    await world.time.settle();
    for (let n = 0; n < 12; n++) {
      await world.deploy();
      await world.time.settle();
    }
    expect(await world.ended(turn)).toMatchObject({ outcome: "completed" });
    expect(await world.texts()).toEqual(["hi", "at last"]);
  });
});

describe("tools", () => {
  function toolWorld(policy: "report" | "retry", execute: (call: ToolRun) => unknown): Promise<World> {
    const answer: Play["answer"] = (context) =>
      context.step === 0 ? [...asks("c", "pay", { n: 1 }), end("tool-calls")] : said("done");
    return World.open({ behaviour: cast({ tools: { pay: { policy, execute } }, answer }) });
  }

  it("[K4][C7] one that was started may finish within the grace, and what it gave is used by the next process", async () => {
    const runs: number[] = [];
    const gate = new Gate();
    const world = await toolWorld("report", async ({ run }) => {
      runs.push(run);
      await gate.opened;
      return "paid";
    });
    const turn = await world.submit("u1");
    await world.time.until(() => runs.length > 0);
    const seen = handOver(world, 10_000);
    await world.time.advance(3_000);
    expect(seen.over).toBe(false);
    gate.open();
    await world.time.settle();
    expect(seen.over).toBe(true);
    expect(await world.store.ledger(key, turn)).toMatchObject([{ state: "settled", outcome: "output" }]);
    await world.open();
    expect(await world.ended(turn)).toMatchObject({ outcome: "completed" });
    expect(runs).toEqual([1]);
    expect((await world.log(turn)).find(({ type }) => type === "tool-output-available")).toMatchObject({
      output: "paid",
    });
  });

  it.each([
    { policy: "report" as const, runs: ["1 same"], shown: "tool-output-error" },
    { policy: "retry" as const, runs: ["1 same", "2 same"], shown: "tool-output-available" },
  ])(
    "[K4][C6] one that outlasts the grace is told to stop, and its outcome is unknown: $policy",
    async ({ policy, runs, shown }) => {
      const seen: ToolRun[] = [];
      const world = await toolWorld(policy, (call) => {
        seen.push(call);
        return seen.length === 1 ? silence() : "paid";
      });
      const turn = await world.submit("u1");
      await world.time.until(() => seen.length > 0);
      const over = handOver(world, 2_000);
      await world.time.advance(1_999);
      expect([over.over, seen[0]!.signal.aborted]).toEqual([false, false]);
      await world.time.advance(101);
      expect([over.over, seen[0]!.signal.aborted]).toEqual([true, true]);
      await world.open();
      expect(await world.ended(turn)).toMatchObject({ outcome: "completed" });
      const key1 = seen[0]!.idempotencyKey;
      expect(seen.map((call) => `${call.run} ${call.idempotencyKey === key1 ? "same" : "other"}`)).toEqual(runs);
      expect(
        (await world.log(turn)).filter(({ type }) => type.startsWith("tool-output")).map(({ type }) => type),
      ).toEqual([shown]);
    },
  );

  it("[K4][C9] one whose check is still asked never ran: the next process asks again, and runs it once", async () => {
    const runs: number[] = [];
    const gate = new Gate();
    let asked = 0;
    const play: Play = {
      asks: { beforeTool: true },
      beforeTool: async () => {
        if (asked++ === 0) await gate.opened;
        return { action: "allow" };
      },
      tools: { pay: { execute: async ({ run }) => runs.push(run) } },
      answer: (context) => (context.step === 0 ? [...asks("c", "pay"), end("tool-calls")] : said("done")),
    };
    const world = await World.open({ behaviour: cast(play) });
    const turn = await world.submit("u1");
    await world.time.until(() => asked > 0);
    handOver(world, 5_000);
    gate.open();
    await world.time.advance(6_000);
    await world.open();
    expect(await world.ended(turn)).toMatchObject({ outcome: "completed" });
    expect(runs).toEqual([1]);
    expect((await world.store.ledger(key, turn)).map(({ state }) => state)).toEqual(["settled"]);
  });

  it("[K4][C6] one whose start was on its way to the store is not said to be unknown without having run", async () => {
    const runs: number[] = [];
    let slow = false;
    const gate = new Gate();
    const wrap = judged(async (batch, next) => {
      if (batch.some((item) => item.ledger?.some(({ state }) => state === "started"))) {
        slow = true;
        await gate.opened;
      }
      return next(batch);
    });
    const play: Play = {
      tools: { pay: { execute: async ({ run }) => runs.push(run) } },
      answer: (context) => (context.step === 0 ? [...asks("c", "pay"), end("tool-calls")] : said("done")),
    };
    const world = await World.open({ behaviour: cast(play), wrap });
    const turn = await world.submit("u1");
    await world.time.until(() => slow);
    handOver(world, 5_000);
    gate.open();
    await world.time.advance(6_000);
    await world.open();
    expect(await world.ended(turn)).toMatchObject({ outcome: "completed" });
    expect(runs).toEqual([1]);
  });
});

describe("what waits", () => {
  it("[K4] commands are refused from the first moment, and queued turns are the next process's", async () => {
    const play: Play = { answer: (_context, n) => (n === 0 ? hangingAfter(words("Hello")) : said("ok")) };
    const world = await World.open({ behaviour: cast(play) });
    await world.submit("u1");
    const second = await world.submit("u2");
    await midAnswer(world);
    handOver(world, 5_000);
    expect(world.gateway.ready()).toBe(false);
    const error = { code: "HOST_CLOSED" };
    await expect(world.gateway.submit(key, { messages: [user("u3")] })).rejects.toMatchObject(error);
    await world.time.advance(6_000);
    await world.open();
    expect(await world.ended(second)).toMatchObject({ outcome: "completed" });
    expect(await world.texts()).toEqual(["hi", "Hellook", "hi", "ok"]);
  });

  it("[K4][I2] a recovery that waits goes on waiting, as long as it would have", async () => {
    const play: Play = { answer: (_context, n) => (n === 0 ? [busy(60_000)] : said("ok")) };
    const world = await World.open({ behaviour: cast(play) });
    await world.submit("u1");
    await world.time.advance(10_000);
    const before = (await world.state()).turn?.incident;
    await world.deploy(5_000);
    expect((await world.state()).turn?.incident).toMatchObject({
      kind: "waiting",
      until: (before as { until: number }).until,
    });
    await world.time.advance(44_000);
    expect((await world.state()).turn).not.toBeNull();
    await world.time.advance(6_000);
    expect((await world.state()).last).toMatchObject({ outcome: "completed" });
  });

  it("[K4][H5] a hook that is being asked is asked again, and no attempt is spent", async () => {
    const attempts: number[] = [];
    const play: Play = {
      asks: { recovery: true },
      recover: async ({ attempt }) => {
        attempts.push(attempt);
        return attempts.length < 3 ? silence() : {};
      },
      answer: (_context, n) => (n === 0 ? hangingAfter(words("Hel")) : said("lo")),
    };
    const world = await World.open({ behaviour: cast(play) });
    const turn = await world.submit("u1");
    await midAnswer(world);
    await world.restart();
    await world.time.until(() => attempts.length > 0);
    await world.deploy(1_000);
    await world.time.until(() => attempts.length > 1);
    await world.deploy(1_000);
    expect(await world.ended(turn)).toMatchObject({ outcome: "completed" });
    expect(attempts).toEqual([1, 1, 1]);
  });

  it("[K4][H8] a failed turn whose text is being asked for fails in the next process", async () => {
    let asked = 0;
    const play: Play = {
      asks: { error: true },
      mapError: async () => (asked++ === 0 ? silence() : "Sorry."),
      answer: () => [refused("no such model")],
    };
    const world = await World.open({ behaviour: cast(play) });
    const turn = await world.submit("u1");
    await world.time.until(() => asked > 0);
    await world.deploy(1_000);
    expect(await world.ended(turn)).toMatchObject({ outcome: "failed", error: "Sorry." });
  });

  it("[K4] a notice that waits for its next time does not hold up the end", async () => {
    const play: Play = { asks: { notices: ["response"] }, notice: () => Promise.reject(new Error("down")) };
    const world = await World.open({ behaviour: cast(play) });
    await world.turn("u1");
    await world.time.advance(3_500);
    const seen = handOver(world, 60_000);
    await world.time.advance(1_000);
    expect(seen.over).toBe(true);
  });

  it("[K4][G4] a store that takes nothing does not keep the process longer than the grace", async () => {
    let full = false;
    const wrap = judged(async (batch, next) =>
      full ? batch.map(() => ({ kind: "unavailable", code: "FULL" })) : next(batch),
    );
    const play: Play = { answer: (_context, n) => (n === 0 ? hangingAfter(words("Hel")) : said("lo")) };
    const world = await World.open({ behaviour: cast(play), wrap });
    const turn = await world.submit("u1");
    await midAnswer(world);
    full = true;
    const seen = handOver(world, 3_000);
    await world.time.advance(3_100);
    expect(seen.over).toBe(true);
    full = false;
    await world.open();
    expect(await world.ended(turn)).toMatchObject({ outcome: "completed" });
    expect(await world.texts()).toEqual(["hi", "Hello"]);
  });
});
