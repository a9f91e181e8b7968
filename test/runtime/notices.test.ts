/** Outbox rows that have landed, on their way to the hooks. */
import { describe, expect, it } from "vitest";
import type { NoticeContext } from "../../src/ports/behaviour.ts";
import { asks, cast, end, type Play, said, silence, words } from "./actor.ts";
import { type AnyStore, Gate, judged, key, overriding, textIn, user, World, type WorldParts } from "./kit.ts";

type Notice = NonNullable<Play["notice"]>;

const all = ["response", "step", "tool"] as const;

/** Deliveries, by the id of their notice without the turn's. */
function heard(): { readonly ids: string[]; readonly contexts: NoticeContext[]; notice(inner?: Notice): Notice } {
  const ids: string[] = [];
  const contexts: NoticeContext[] = [];
  return {
    ids,
    contexts,
    notice: (inner) => async (context) => {
      ids.push(context.id);
      contexts.push(context);
      await inner?.(context);
    },
  };
}

const open = (play: Play, more: Partial<WorldParts> = {}): Promise<World> =>
  World.open({ ...more, behaviour: cast({ ...play, asks: { notices: [...all], ...play.asks } }) });

const outbox = (world: World, agent = key): number => world.disk.agents.get(agent)?.outbox.size ?? 0;

describe("notices", () => {
  it("[H3] each once, in the order in which they happened, with what they are about", async () => {
    const log = heard();
    const world = await open({
      notice: log.notice(),
      tools: { look: { execute: async () => "seen" } },
      answer: (_context, n) =>
        n === 0 ? [...words("Let me "), ...asks("c", "look", { q: 1 }), end("tool-calls")] : said("done"),
    });
    const { turn } = await world.turn("u1");
    await world.time.settle();
    expect(log.ids).toEqual([`${turn}/step/0`, `${turn}/tool/0`, `${turn}/step/1`, `${turn}/response`]);
    const [first, tool, second, response] = log.contexts;
    expect(first).toMatchObject({ kind: "step", step: 0, summary: { finishReason: "tool-calls" } });
    expect(first?.kind === "step" && textIn(first.parts)).toBe("Let me ");
    expect(tool).toMatchObject({
      kind: "tool",
      ordinal: 0,
      part: { toolCallId: "c", input: { q: 1 }, output: "seen" },
    });
    expect(second?.kind === "step" && textIn(second.parts)).toBe("done");
    expect(response).toMatchObject({ kind: "response", turn: { outcome: "completed" }, message: { id: "msg_1" } });
    expect(response?.kind === "response" && textIn(response.message.parts)).toBe("Let me done");
    expect(outbox(world)).toBe(0);
  });

  it("[H3][R1] none is delivered before its commit has landed", async () => {
    const log = heard();
    const gate = new Gate();
    const wrap = judged(async (batch, next) => {
      if (batch.some((item) => item.outboxPut)) await gate.opened;
      return next(batch);
    });
    const world = await open({ notice: log.notice() }, { wrap });
    await world.submit("u1");
    await world.time.advance(500);
    expect(log.ids).toEqual([]);
    gate.open();
    await world.time.advance(100);
    expect(log.ids.length).toBe(2);
  });

  it("[H4] one whose hook is not there leaves no row", async () => {
    const log = heard();
    const world = await open({ asks: { notices: [] }, notice: log.notice() });
    await world.turn("u1");
    await world.time.settle();
    expect([log.ids, world.landed.flatMap(({ outboxPut }) => outboxPut ?? [])]).toEqual([[], []]);
  });

  it.each([
    { name: "throws", fail: () => Promise.reject(new Error("down")), takesMs: 0 },
    { name: "gives no answer in time", fail: silence, takesMs: 30_000 },
  ])("[H3] one that $name is tried again after a while, and those behind it wait", async ({ fail, takesMs }) => {
    const log = heard();
    let failures = 2;
    const world = await open({ notice: log.notice(async () => (failures-- > 0 ? fail() : undefined)) });
    const { turn } = await world.turn("u1");
    await world.time.advance(takesMs + 999);
    expect(log.ids).toEqual([`${turn}/step/0`]);
    await world.time.advance(1 + takesMs + 1_999);
    expect(log.ids).toEqual([`${turn}/step/0`, `${turn}/step/0`]);
    await world.time.advance(1);
    expect(log.ids).toEqual([...Array.from({ length: 3 }, () => `${turn}/step/0`), `${turn}/response`]);
    expect(world.told("notice:failed").map(({ payload }) => payload["attempts"])).toEqual([1, 2]);
    expect(outbox(world)).toBe(0);
  });

  it("[H3] after five deliveries one is given up, visibly, and the next one is delivered", async () => {
    const log = heard();
    const world = await open({
      notice: log.notice(async ({ kind }) => (kind === "step" ? Promise.reject(new Error("down")) : undefined)),
    });
    const { turn } = await world.turn("u1");
    await world.time.advance(60_000);
    expect(log.ids).toEqual([...Array.from({ length: 5 }, () => `${turn}/step/0`), `${turn}/response`]);
    const abandoned = { notice: "step", requestId: turn, attempts: 5 };
    expect(world.told("notice:abandoned").map(({ payload }) => payload)).toEqual([abandoned]);
    expect(outbox(world)).toBe(0);
  });

  it("[H3] one that hangs holds up no turn", async () => {
    const log = heard();
    const world = await open({ notice: log.notice(silence) });
    await world.turn("u1");
    expect(await world.turn("u2")).toMatchObject({ outcome: "completed" });
    expect(log.ids.length).toBe(1);
    expect(outbox(world)).toBe(4);
  });

  it("[H3] an agent with one that is not delivered does not leave memory", async () => {
    const gate = new Gate();
    const world = await open({ notice: () => gate.opened }, { options: { idleMs: 5_000 } });
    await world.turn("u1");
    await world.time.advance(20_000);
    expect(world.runtime.loaded(key)).not.toBeNull();
    gate.open();
    await world.time.advance(20_000);
    expect(world.runtime.loaded(key)).toBeNull();
  });
});

describe("notices and death", () => {
  it("[H3] a process that dies inside the hook: the next one delivers it again, under the same id", async () => {
    const log = heard();
    const world = await open({ notice: log.notice(async () => (log.ids.length === 1 ? silence() : undefined)) });
    const { turn } = await world.turn("u1");
    await world.time.settle();
    expect(log.ids).toEqual([`${turn}/step/0`]);
    await world.restart();
    await world.time.advance(100);
    expect(log.ids).toEqual([`${turn}/step/0`, `${turn}/step/0`, `${turn}/response`]);
  });

  it("[H3] an instance that dies while one waits for its next time leaves it to the next instance alone", async () => {
    const log = heard();
    let fence = false;
    const wrap = judged((batch, next) => {
      const strike = fence;
      fence = false;
      return strike ? Promise.resolve(batch.map(() => ({ kind: "fenced" }))) : next(batch);
    });
    const fail = async (): Promise<void> => {
      if (log.ids.length === 1) throw new Error("down");
    };
    const world = await open({ notice: log.notice(fail), asks: { notices: ["response"] } }, { wrap });
    await world.turn("u1");
    await world.time.settle();
    fence = true;
    await world.time.of(world.gateway.append(key, [user("u2")], "append"));
    expect(world.told("agent:instance-died").length).toBe(1);
    await world.time.advance(10_000);
    expect(log.ids.length).toBe(2);
  });

  it("[H3] a death after the hook and before that is durable: it is delivered again; after it, it is not", async () => {
    const log = heard();
    const wrap = judged(async (batch, next) => {
      if (log.ids.length === 1 && batch.some((item) => item.outboxDone)) return silence();
      return next(batch);
    });
    const world = await open({ notice: log.notice(), asks: { notices: ["response"] } }, { wrap });
    const { turn } = await world.turn("u1");
    await world.time.settle();
    await world.restart();
    await world.time.advance(100);
    expect(log.ids).toEqual([`${turn}/response`, `${turn}/response`]);
    await world.restart();
    await world.time.advance(60_000);
    expect(log.ids.length).toBe(2);
  });

  it("[H3][K1] what was tried is counted over deaths, and its next time wakes an agent that nobody asks for", async () => {
    const log = heard();
    const world = await open({
      notice: log.notice(() => Promise.reject(new Error("down"))),
      asks: { notices: ["response"] },
    });
    await world.turn("u1");
    await world.time.advance(1_000 + 2_000);
    expect(log.ids.length).toBe(3);
    await world.restart();
    await world.time.advance(3_999);
    expect(log.ids.length).toBe(3);
    await world.time.advance(1);
    expect(log.ids.length).toBe(4);
    await world.time.advance(60_000);
    expect(log.ids.length).toBe(5);
    expect(world.told("notice:abandoned").length).toBe(1);
  });

  it.each(["turn", "message", "ledger"] as const)(
    "[H3] a store that cannot be read just then (%s) loses none",
    async (read) => {
      const log = heard();
      let failures = 1;
      let delivering = false;
      const wrap = (store: AnyStore): AnyStore =>
        overriding(store, {
          [read]: (...asked: never[]) => {
            if (delivering && failures-- > 0) return Promise.reject(new Error("cannot be read"));
            return (store[read] as (...asked: never[]) => Promise<never>)(...asked);
          },
        });
      const notices = read === "ledger" ? (["tool"] as const) : (["response"] as const);
      const world = await open(
        {
          notice: log.notice(),
          asks: { notices: [...notices] },
          tools: { look: { execute: async () => "seen" } },
          answer: (_context, n) => (n === 0 ? [...asks("c", "look"), end("tool-calls")] : said("done")),
        },
        { wrap },
      );
      const turn = await world.submit("u1");
      delivering = true;
      await world.time.advance(10_000);
      expect(failures).toBeLessThan(1);
      expect(log.ids).toEqual([read === "ledger" ? `${turn}/tool/0` : `${turn}/response`]);
    },
  );
});

describe("notices of a turn that goes on with a message", () => {
  it("[H3] they tell of its own step and its own calls", async () => {
    const log = heard();
    const gate = new Gate();
    const world = await open({
      notice: log.notice(),
      tools: { quick: { execute: async () => "quick" }, slow: { execute: () => gate.opened.then(() => "slow") } },
      answer: (_context, n) => {
        if (n === 0) return said("The first answer.");
        return n === 1
          ? [...words("And more."), ...asks("c1", "quick"), ...asks("c2", "slow"), end("tool-calls")]
          : said(" Done.");
      },
    });
    await world.turn("u1");
    await world.time.settle();
    log.contexts.length = 0;
    const { turn } = await world.time.of(world.gateway.continue(key));
    await world.time.until(() => log.contexts.some(({ kind }) => kind === "tool"), "the first tool's notice");
    gate.open();
    await world.ended(turn);
    await world.time.settle();
    const told = log.contexts.map((context) =>
      context.kind === "tool"
        ? String(context.part["output"])
        : context.kind === "step"
          ? textIn(context.parts)
          : textIn(context.message.parts),
    );
    expect(told).toEqual(["And more.", "quick", "slow", " Done.", "The first answer.And more. Done."]);
  });
});
