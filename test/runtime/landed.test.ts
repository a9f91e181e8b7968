/** What a commit orders is done once it has landed, and not before; an instance whose commit cannot land is over. */
import { describe, expect, it } from "vitest";
import type { AgentCommit, CommitResult } from "../../src/ports/store.ts";
import { asks, cast, delta, hangingAfter, type Play, said, words } from "./actor.ts";
import { type AnyStore, Gate, judged, key, spoken, user, World } from "./kit.ts";

/** A store whose commits wait until they are let go, each with a name that says what it is for. */
class Slow {
  held: { readonly items: readonly AgentCommit[]; go(): void }[] = [];
  open = false;

  wrap = judged(async (batch, next) => {
    if (!this.open) await new Promise<void>((go) => this.held.push({ items: batch, go }));
    return next(batch);
  });

  letGo(): void {
    this.held.shift()!.go();
  }
}

async function slowWorld(play: Play): Promise<{ world: World; slow: Slow; next(): Promise<void> }> {
  const slow = new Slow();
  const world = await World.open({ behaviour: cast(play), wrap: slow.wrap });
  const next = async (): Promise<void> => {
    await world.time.until(() => slow.held.length > 0, "the next commit");
    slow.letGo();
    await world.time.settle();
  };
  return { world, slow, next };
}

describe("effects and answers", () => {
  it("[R1][C1] a submit is answered, and its turn prepared, only after the commit of its acceptance", async () => {
    const log: string[] = [];
    const play: Play = {
      answer: () => {
        log.push("asked");
        return said("ok");
      },
    };
    const { world, next } = await slowWorld(play);
    const submitted = world.gateway.submit(key, { messages: [user("u1")] }).then(() => log.push("answered"));
    await world.time.advance(1_000);
    expect(log).toEqual([]);
    expect(await world.gateway.status(key)).toMatchObject({ status: "idle", turn: null });
    await next();
    await submitted;
    expect(log.sort()).toEqual(["answered", "asked"]);
    expect(await world.gateway.status(key)).toMatchObject({ status: "running" });
  });

  it("[R1] a chunk is shown, and the end told, only after its commit", async () => {
    const { world, next } = await slowWorld({ answer: () => said("one ", "two") });
    const submitted = world.gateway.submit(key, { messages: [user("u1")] });
    await next();
    const { turn } = await submitted;
    const source = await world.gateway.source(key, turn, 0);
    if (source.kind !== "chunks") throw new Error("a running turn is read from its log");
    const shown: string[] = [];
    let ended = false;
    void (async () => {
      for (let slice = await source.reader.read(); slice; slice = await source.reader.read())
        shown.push(...slice.texts);
      ended = true;
    })();
    void world.gateway.ended(key, turn).then(() => shown.push("told"));
    await world.time.advance(1_000);
    expect([shown, ended]).toEqual([['{"type":"start","messageId":"msg_1"}'], false]);
    while (!ended) {
      await next();
      const durable = world.landed.flatMap(({ chunks }) => chunks?.flatMap((some) => some.chunks) ?? []);
      expect(shown.filter((text) => text !== "told")).toEqual(durable.map((chunk) => JSON.stringify(chunk)));
      expect(shown.includes("told")).toBe(durable.some((chunk) => chunk.type === "finish"));
    }
  });

  it("[R1][C7] a tool starts only after its start has landed, and its result is used only after its own commit", async () => {
    const log: string[] = [];
    const play: Play = {
      tools: {
        pay: {
          execute: () => {
            log.push("paid");
            return "paid";
          },
        },
      },
      answer: (_context, n) => {
        log.push(`request ${n}`);
        return n === 0 ? [...asks("c", "pay"), { kind: "end", summary: { finishReason: "tool-calls" } }] : said("done");
      },
    };
    const { world, slow, next } = await slowWorld(play);
    const submitted = world.gateway.submit(key, { messages: [user("u1")] });
    await next();
    const { turn } = await submitted;
    const starts = (): boolean =>
      slow.held[0]?.items.some(({ ledger }) => ledger?.some(({ state }) => state === "started")) ?? false;
    while (!starts()) await next().then(() => world.time.until(() => slow.held.length > 0));
    await world.time.advance(500);
    expect(log).toEqual(["request 0"]);
    await next();
    expect(log).toEqual(["request 0", "paid"]);
    await world.time.until(() => slow.held.length > 0);
    expect(slow.held[0]!.items[0]!.ledger).toMatchObject([{ state: "settled", outcome: "output" }]);
    expect(log).toEqual(["request 0", "paid"]);
    slow.open = true;
    slow.letGo();
    expect(await world.ended(turn)).toMatchObject({ outcome: "completed" });
    expect(log).toEqual(["request 0", "paid", "request 1"]);
  });

  it("[R1][G4] while the store is unavailable nothing is answered or shown, and the host is not ready", async () => {
    let full = true;
    const wrap = judged(async (batch, next) =>
      full ? batch.map(() => ({ kind: "unavailable", code: "FULL" })) : next(batch),
    );
    const world = await World.open({ behaviour: cast(), wrap });
    let answered = false;
    const submitted = world.gateway.submit(key, { messages: [user("u1")] });
    void submitted.then(() => {
      answered = true;
    });
    await world.time.advance(60_000);
    expect([answered, world.gateway.ready()]).toEqual([false, false]);
    expect(await world.gateway.status(key)).toMatchObject({ status: "idle", turn: null });
    full = false;
    await world.time.advance(1_000);
    expect([answered, world.gateway.ready()]).toEqual([true, true]);
    expect(await world.ended((await submitted).turn)).toMatchObject({ outcome: "completed" });
    expect((await world.state()).turn).toBeNull();
  });

  it("[R1] while too much waits for the store, the model is no longer read", async () => {
    let read = 0;
    const play: Play = {
      *answer() {
        yield* words("");
        for (; read < 1_000; read++) yield delta("x".repeat(10_000));
        yield* said("");
      },
    };
    const { world, next } = await slowWorld(play);
    void world.gateway.submit(key, { messages: [user("u1")] });
    await next();
    await world.time.advance(1_000);
    expect(read).toBeGreaterThan(10);
    expect(read).toBeLessThan(40);
  });
});

describe("the death of an instance", () => {
  /** One commit that fits is answered so, instead of being made. */
  function failing(
    kind: CommitResult["kind"],
    fits: (item: AgentCommit) => boolean,
  ): { wrap(store: AnyStore): AnyStore; struck(): number } {
    let struck = 0;
    const result = (kind === "refused" ? { kind, code: "TEST" } : { kind }) as CommitResult;
    const wrap = judged(async (batch, next) => {
      const results = [...(await next(batch.filter((item) => struck > 0 || !fits(item))))];
      return batch.map((item) => {
        if (struck > 0 || !fits(item)) return results.shift()!;
        struck++;
        return result;
      });
    });
    return { wrap, struck: () => struck };
  }

  const kinds = ["fenced", "conflict", "refused"] as const;

  it.each(kinds)(
    "[R2] %s on the acceptance: whoever submitted finds the next instance, and there is one turn",
    async (kind) => {
      const { wrap, struck } = failing(kind, (item) => item.consumed !== undefined);
      const world = await World.open({ behaviour: cast(), wrap });
      const turn = await world.submit("u1");
      expect(await world.ended(turn)).toMatchObject({ outcome: "completed" });
      expect(struck()).toBe(1);
      expect(world.told("agent:instance-died").map(({ payload }) => payload)).toEqual([{ result: kind }]);
      expect(await world.texts()).toEqual(["hi", "ok"]);
      expect(world.told("chat:turn:start").length).toBe(1);
    },
  );

  it.each(kinds)(
    "[R2] %s in mid-answer: readers and waiters go on with the next instance, and see each chunk once",
    async (kind) => {
      const gate = new Gate();
      const { wrap, struck } = failing(
        kind,
        (item) => item.chunks?.some(({ chunks }) => spoken(chunks).includes("two")) ?? false,
      );
      const play: Play = {
        async *answer(_context, n) {
          yield* words(n === 0 ? "one " : "three ");
          await gate.opened;
          yield* n === 0 ? [delta("two ")] : said("four");
        },
      };
      const world = await World.open({ behaviour: cast(play), wrap });
      const turn = await world.submit("u1");
      const reading = readAll(world, turn);
      const waiting = world.gateway.ended(key, turn);
      await world.time.until(() =>
        world.landed.some(({ chunks }) => chunks !== undefined && spoken(chunks[0]!.chunks) !== ""),
      );
      gate.open();
      expect(await world.time.of(waiting, "the end")).toMatchObject({ turn, outcome: "completed" });
      expect(struck()).toBe(1);
      const log = await world.log(turn);
      // What the dead instance had in memory only was never durable, and is not there.
      expect(spoken(log)).toBe("one three four");
      expect(await world.time.of(reading)).toEqual(log.map((chunk) => JSON.stringify(chunk)));
    },
  );

  it("[R2] a command that died with its instance after it had landed is found by its id, and not done twice", async () => {
    let lied = false;
    const wrap = judged(async (batch, next) => {
      const results = await next(batch);
      if (lied || !batch.some((item) => item.consumed)) return results;
      lied = true;
      return batch.map(() => ({ kind: "conflict" }));
    });
    const world = await World.open({ behaviour: cast(), wrap });
    const { turn, accepted } = await world.time.of(world.gateway.submit(key, { messages: [user("u1")] }));
    expect([lied, accepted]).toEqual([true, false]);
    expect(await world.ended(turn)).toMatchObject({ outcome: "completed" });
    expect(await world.texts()).toEqual(["hi", "ok"]);
  });

  it("[R2] an agent that dies harms no other", async () => {
    const { wrap } = failing("fenced", (item) => item.agent === "chat/b" && item.consumed === undefined);
    const world = await World.open({ behaviour: cast({ answer: () => said("one ", "two") }), wrap });
    const [a, b] = await Promise.all([world.submit("u1", "chat/a"), world.submit("u2", "chat/b")]);
    expect(await world.ended(a, "chat/a")).toMatchObject({ outcome: "completed" });
    expect(await world.ended(b, "chat/b")).toMatchObject({ outcome: "completed" });
    expect(world.told("agent:instance-died").map(({ agent }) => agent)).toEqual(["chat/b"]);
  });

  it("[R2] an ear that throws (telemetry) harms neither its agent nor its neighbours", async () => {
    const world = await World.open({ behaviour: cast({ answer: () => said("one ", "two") }) });
    world.events.push = () => {
      throw new Error("the disk of the log is full");
    };
    const turns = await Promise.all(["chat/a", "chat/b"].map((agent) => world.submit("u1", agent)));
    for (const [at, agent] of ["chat/a", "chat/b"].entries()) {
      expect(await world.ended(turns[at]!, agent)).toMatchObject({ outcome: "completed" });
    }
  });

  it("[R2][O4] whoever lost the store answers nothing more, tells its host, and the successor goes on", async () => {
    const lost: string[] = [];
    const play: Play = { answer: (_context, n) => (n === 0 ? hangingAfter(words("Hello ")) : said("there")) };
    const world = await World.open({ behaviour: cast(play), options: { onLost: () => lost.push("lost") } });
    const turn = await world.submit("u1");
    await world.time.until(() =>
      world.landed.some(({ chunks }) => chunks !== undefined && spoken(chunks[0]!.chunks) !== ""),
    );
    const before = { gateway: world.gateway, store: world.store };
    await world.open();
    expect(await world.ended(turn)).toMatchObject({ outcome: "completed" });
    await expect(before.gateway.submit("chat/b", { messages: [user("u2")] })).rejects.toMatchObject({
      code: "OWNER_LOST",
    });
    expect(lost).toEqual(["lost"]);
    await expect(before.gateway.submit(key, { messages: [user("u3")] })).rejects.toMatchObject({ code: "HOST_CLOSED" });
    expect(await world.texts()).toEqual(["hi", "Hello there"]);
  });
});

async function readAll(world: World, turn: string): Promise<string[]> {
  const texts: string[] = [];
  const source = await world.gateway.source(key, turn, 0);
  if (source.kind !== "chunks") throw new Error("a running turn is read from its log");
  for (let slice = await source.reader.read(); slice; slice = await source.reader.read()) {
    expect(slice.first).toBe(texts.length);
    texts.push(...slice.texts);
  }
  return texts;
}
