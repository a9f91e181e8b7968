/** One turn's landed chunks by offset, from memory and from the store. */
import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../src/adapters/memory/store.ts";
import type { Chunk } from "../../src/core/transcript.ts";
import type { TurnReader } from "../../src/ports/gateway.ts";
import { Hub } from "../../src/runtime/hub.ts";
import { Reader } from "../../src/runtime/reader.ts";
import { cast, delta, hangingAfter, said, silence, words } from "./actor.ts";
import { Gate, key, overriding, owner, spoken, World } from "./kit.ts";
import { FakeTime } from "./time.ts";

const row = { v: 1, id: "t1", kind: "submit", messageId: "m1", inputs: [], createdAt: 0 } as const;
const chunk = (n: number, chars = 1): Chunk => ({ type: "text-delta", id: "0", delta: `${n}:${"x".repeat(chars)}` });
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index);

/** A turn's log with a store below it and a hub beside it, and nobody who writes but the test. */
class Log {
  readonly time = new FakeTime();
  readonly store = new MemoryStore();
  readonly hub = new Hub();
  /** Pages that were asked for: the offsets. */
  readonly asked: number[] = [];
  #seq = 0;
  #next = 0;

  static async open(): Promise<Log> {
    const log = new Log();
    await log.store.open(owner);
    await log.store.claim("a", 0);
    return log;
  }

  /** One segment. `where`: who knows of it. */
  async write(count: number, options: { chars?: number; tell?: boolean; end?: boolean } = {}): Promise<void> {
    const first = this.#next;
    const chunks = range(first, first + count).map((n) => chunk(n, options.chars));
    const status = options.end
      ? ({ status: "settled", outcome: "completed", endedAt: 1 } as const)
      : ({ status: "running" } as const);
    const turns = [{ ...row, ...status }];
    await this.store.commit([
      { agent: "a", epoch: 1, seq: ++this.#seq, at: 0, chunks: [{ turn: "t1", first, chunks }], turns },
    ]);
    this.#next += count;
    if (options.tell === false) return;
    this.hub.landed(
      "a",
      "t1",
      first,
      chunks.map((one) => JSON.stringify(one)),
    );
    if (options.end) this.hub.ended("a", "t1");
    this.hub.notify("a");
  }

  damage(first: number): void {
    const { segments } = this.store.disk.agents.get("a")!.logs.get("t1")!;
    const at = segments.findIndex((segment) => segment.first === first);
    segments[at] = { ...segments[at]!, text: "{" };
  }

  reader(from: number): Reader {
    const store = overriding(this.store, {
      chunks: (agent, turn, at, bytesMax) => {
        this.asked.push(at);
        return this.store.chunks(agent, turn, at, bytesMax);
      },
    });
    return new Reader(store, this.hub, "a", "t1", from);
  }
}

/** Offsets as `first+count`, until the end. */
async function offsets(reader: TurnReader): Promise<string[]> {
  const seen: string[] = [];
  for (let slice = await reader.read(); slice; slice = await reader.read()) {
    for (const [index, text] of slice.texts.entries()) expect(text).toContain(`"${slice.first + index}:`);
    seen.push(`${slice.first}+${slice.texts.length}`);
  }
  return seen;
}

describe("a reader", () => {
  it.each([0, 3, 7, 9])("[W2] begins at the offset that it is given: %i", async (from) => {
    const log = await Log.open();
    await log.write(5);
    await log.write(5, { end: true });
    const seen = await offsets(log.reader(from));
    expect(seen).toEqual([`${from}+${10 - from}`]);
  });

  it("who keeps up is served from memory, and the store is not asked", async () => {
    const log = await Log.open();
    await log.write(1);
    const reading = offsets(log.reader(0));
    for (const _ of range(0, 5)) {
      await log.time.settle();
      await log.write(2);
    }
    await log.write(1, { end: true });
    const seen = await reading;
    expect(seen).toEqual(["0+1", "1+2", "3+2", "5+2", "7+2", "9+2", "11+1"]);
    expect(log.asked).toEqual([]);
  });

  it("who comes too late for memory is served pages of the store, and then from memory again", async () => {
    const log = await Log.open();
    // 100 000 characters a segment: memory keeps the last two or three, a page holds two or three.
    for (const _ of range(0, 10)) await log.write(10, { chars: 10_000 });
    await log.write(1, { end: true });
    const seen = await offsets(log.reader(0));
    expect(log.asked.length).toBeGreaterThan(2);
    expect(Math.max(...log.asked)).toBeLessThan(90);
    expect(seen.at(0)?.startsWith("0+")).toBe(true);
    expect(seen.reduce((sum, one) => sum + Number(one.split("+")[1]), 0)).toBe(101);
  });

  it("without memory (another process wrote it) it reads the store alone, to the end", async () => {
    const log = await Log.open();
    await log.write(4, { tell: false });
    await log.write(3, { tell: false, end: true });
    expect(await offsets(log.reader(2))).toEqual(["2+5"]);
  });

  it("waits while the turn is silent, and misses nothing that lands while it looks", async () => {
    const log = await Log.open();
    await log.write(1, { tell: false });
    const gate = new Gate();
    const slow = overriding(log.store, {
      chunks: async (...asked) => {
        const page = await log.store.chunks(...asked);
        await gate.opened;
        return page;
      },
    });
    const reader = new Reader(slow, log.hub, "a", "t1", 1);
    const next = reader.read();
    await log.time.settle();
    await log.write(2);
    gate.open();
    expect((await log.time.of(next))?.first).toBe(1);
  });

  it.each([
    { name: "in the middle", damaged: 5, from: 0, seen: ["0+5", "10+10"] },
    { name: "at the front", damaged: 0, from: 0, seen: ["5+15"] },
    { name: "where it begins, in its middle", damaged: 5, from: 7, seen: ["10+10"] },
    { name: "at the end", damaged: 15, from: 0, seen: ["0+15"] },
  ])("[ST9] a damaged segment $name loses itself only, and its offsets are spent", async ({ damaged, from, seen }) => {
    const log = await Log.open();
    for (const n of range(0, 4)) await log.write(5, { tell: false, end: n === 3 });
    log.damage(damaged);
    expect(await offsets(log.reader(from))).toEqual(seen);
  });

  it("a store that cannot be read rejects the read; the next one goes on where it was, and nobody listens on", async () => {
    const log = await Log.open();
    await log.write(2, { tell: false, end: true });
    let failures = 2;
    const failing = overriding(log.store, {
      chunks: (...asked) => (failures-- > 0 ? Promise.reject(new Error("busy")) : log.store.chunks(...asked)),
    });
    let listening = 0;
    const once = log.hub.once.bind(log.hub);
    log.hub.once = (agent, listener) => {
      const forget = once(agent, listener);
      listening++;
      return () => {
        listening--;
        forget();
      };
    };
    const reader = new Reader(failing, log.hub, "a", "t1", 0);
    await expect(reader.read()).rejects.toThrow("busy");
    await expect(reader.read()).rejects.toThrow("busy");
    expect([await offsets(reader), listening]).toEqual([["0+2"], 0]);
  });

  it("closing answers a read that waits, and every later one", async () => {
    const log = await Log.open();
    await log.write(1);
    const reader = log.reader(1);
    const waiting = reader.read();
    await log.time.settle();
    reader.close();
    expect([await waiting, await reader.read()]).toEqual([null, null]);
  });

  it("a host that goes away is no end: it rejects", async () => {
    const log = await Log.open();
    await log.write(1);
    const waiting = log.reader(1).read();
    await log.time.settle();
    log.hub.close();
    await expect(waiting).rejects.toMatchObject({ code: "HOST_CLOSED" });
    await expect(log.reader(0).read()).rejects.toMatchObject({ code: "HOST_CLOSED" });
  });

  it("the memory of turns that have ended does not grow with their number", async () => {
    const hub = new Hub();
    for (const turn of ["t1", "t2", "t3"]) {
      hub.landed("a", turn, 0, ["{}"]);
      hub.ended("a", turn);
    }
    expect(["t1", "t2"].map((turn) => hub.slice("a", turn, 0))).toEqual([null, null]);
    expect(hub.slice("a", "t3", 0)).toMatchObject({ ended: true });
  });
});

describe("readers of a live turn", () => {
  const mid = (world: World): Promise<void> =>
    world.time.until(() => world.landed.some(({ chunks }) => chunks !== undefined && spoken(chunks[0]!.chunks) !== ""));

  it("[W5] one that does not read, or goes away, delays neither the turn nor another reader", async () => {
    const many = range(0, 300).map((n) => `${n} `.padEnd(3_000, "."));
    const world = await World.open({ behaviour: cast({ answer: () => said(...many) }) });
    const turn = await world.submit("u1");
    const open = async (): Promise<TurnReader> => {
      const source = await world.gateway.source(key, turn, 0);
      if (source.kind !== "chunks") throw new Error("a running turn is read from its log");
      return source.reader;
    };
    const [slow, gone, quick] = [await open(), await open(), await open()];
    gone.close();
    expect(await world.ended(turn)).toMatchObject({ outcome: "completed" });
    const count = async (reader: TurnReader): Promise<number> => {
      let sum = 0;
      for (let slice = await reader.read(); slice; slice = await reader.read()) sum += slice.texts.length;
      return sum;
    };
    const whole = (await world.log(turn)).length;
    expect([await world.time.of(count(quick)), await world.time.of(count(slow))]).toEqual([whole, whole]);
  });

  it("a hand-over rejects those who wait: a closing host looks like no end of an answer", async () => {
    const world = await World.open({ behaviour: cast({ answer: () => hangingAfter(words("Hello")) }) });
    const turn = await world.submit("u1");
    await mid(world);
    const source = await world.gateway.source(key, turn, 4);
    if (source.kind !== "chunks") throw new Error("a running turn is read from its log");
    const waiting = source.reader.read();
    const ending = world.gateway.ended(key, turn);
    const told = Promise.allSettled([waiting, ending]);
    await world.deploy();
    expect((await told).map((one) => one.status === "rejected" && one.reason.code)).toEqual([
      "HOST_CLOSED",
      "HOST_CLOSED",
    ]);
  });

  it("[R4] a reader of the next process goes on from any offset of the one before", async () => {
    const world = await World.open({
      behaviour: cast({
        answer: (_context, n) =>
          n === 0
            ? hangingAfter(words("Hel", "lo "))
            : (async function* () {
                yield* words("there");
                await silence();
                yield delta("never");
              })(),
      }),
    });
    const turn = await world.submit("u1");
    await mid(world);
    const before = (await world.log(turn)).length;
    await world.restart();
    await world.time.until(() => spoken(world.landed.at(-1)?.chunks?.[0]?.chunks ?? []).includes("there"));
    const source = await world.gateway.source(key, turn, before - 1);
    if (source.kind !== "chunks") throw new Error("a running turn is read from its log");
    const first = await world.time.of(source.reader.read());
    expect(first?.first).toBe(before - 1);
    expect(first?.texts.join()).toContain("lo ");
  });
});
