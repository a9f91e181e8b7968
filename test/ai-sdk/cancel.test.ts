import { setImmediate as nextTick } from "node:timers/promises";
import { jsonSchema } from "ai";
import { describe, expect, test } from "vitest";
import { called, chunksOf, finish, modelOf, type Part, playing, prepared, readAll } from "./support/model.ts";

const text: Part[] = [
  { type: "text-start", id: "0" },
  { type: "text-delta", id: "0", delta: "Hello" },
];

/** Plays the parts, then hangs. Its cancelling hangs too, and it does not listen to signals. */
function hanging(parts: readonly Part[], cancelled: (reason: unknown) => void = () => {}) {
  let next = 0;
  return modelOf(
    async () =>
      new ReadableStream<Part>(
        {
          pull: (controller) =>
            next < parts.length ? controller.enqueue(parts[next++] as Part) : new Promise(() => {}),
          cancel(reason) {
            cancelled(reason);
            return new Promise(() => {});
          },
        },
        { highWaterMark: 0 },
      ),
  );
}

async function within<T>(promise: Promise<T>, ticks: number): Promise<T | "late"> {
  const late = (async () => {
    for (let tick = 0; tick < ticks; tick++) await nextTick();
    return "late" as const;
  })();
  return Promise.race([promise, late]);
}

describe("[F2] cancel ends a hung stream at once, and is not awaited", () => {
  test("a read that waits for a provider that hangs is answered within a tick", async () => {
    const reasons: unknown[] = [];
    const stream = await called({ model: hanging(text, (reason) => reasons.push(reason)) });
    expect(await stream.read()).toMatchObject({ kind: "chunk" });
    expect(await stream.read()).toMatchObject({ kind: "chunk" });
    const waiting = stream.read();
    expect(await within(waiting, 20)).toBe("late");
    expect(stream.cancel("stalled")).toBeUndefined();
    expect(await within(waiting, 1)).toMatchObject({ kind: "fault", fault: { kind: "cut", message: "stalled" } });
    await nextTick();
    expect(reasons).toMatchObject([{ name: "AbortError", message: "stalled" }]);
  });

  test("a stream that nobody reads is cancelled too, and says so to the next reader", async () => {
    let cancelled = 0;
    const stream = await called({ model: hanging(text, () => cancelled++) });
    await stream.read();
    stream.cancel("stop");
    stream.cancel("again");
    expect(await within(stream.read(), 1)).toMatchObject({ kind: "fault", fault: { message: "stop" } });
    await nextTick();
    expect(cancelled).toBe(1);
  });

  test("the signal does what cancel does", async () => {
    const controller = new AbortController();
    const stream = await called({ model: hanging(text) }, controller.signal);
    await stream.read();
    await stream.read();
    const waiting = stream.read();
    controller.abort(new Error("the user stopped it"));
    const cut = { kind: "fault", fault: { kind: "cut", message: "the user stopped it" } };
    expect(await within(waiting, 1)).toMatchObject(cut);
  });

  test("a start that hangs is given up by the signal, and its late stream is cancelled", async () => {
    let release: (stream: ReadableStream<Part>) => void = () => {};
    let seen: AbortSignal | undefined;
    const model = modelOf((options) => {
      seen = options.abortSignal;
      return new Promise((resolve) => {
        release = resolve;
      });
    });
    const controller = new AbortController();
    const starting = called({ model }, controller.signal);
    await nextTick();
    await nextTick();
    controller.abort("enough");
    const stream = await starting;
    expect(await within(stream.read(), 1)).toMatchObject({ kind: "fault", fault: { kind: "cut", message: "enough" } });
    expect(seen?.aborted).toBe(true);
    let cancelled = false;
    const late = new ReadableStream<Part>({
      cancel: () => {
        cancelled = true;
      },
    });
    release(late);
    await nextTick();
    await nextTick();
    expect(cancelled).toBe(true);
  });

  test("a signal that was fired before never reaches the provider", async () => {
    let calls = 0;
    const model = modelOf(() => {
      calls++;
      return Promise.reject(new Error("asked"));
    });
    const stream = await called({ model }, AbortSignal.abort("gone"));
    expect(await stream.read()).toMatchObject({ kind: "fault", fault: { kind: "cut", message: "gone" } });
    expect(calls).toBe(0);
  });

  test("a tool's callback that hangs does not hang a cancelled read", async () => {
    const tools = { slow: { inputSchema: jsonSchema({ type: "object" }), onInputStart: () => new Promise(() => {}) } };
    const model = playing([{ type: "tool-input-start", id: "1", toolName: "slow" }, ...text, finish()]);
    const stream = await called({ model, tools });
    expect(await stream.read()).toMatchObject({ kind: "chunk", chunk: { type: "tool-input-start" } });
    const waiting = stream.read();
    expect(await within(waiting, 20)).toBe("late");
    stream.cancel("enough");
    expect(await within(waiting, 1)).toMatchObject({ kind: "fault", fault: { kind: "cut" } });
  });

  test("after the end it changes nothing that was read", async () => {
    const stream = await called({ model: playing([...text, { type: "text-end", id: "0" }, finish()]) });
    const parts = await readAll(stream);
    stream.cancel("late");
    expect(await stream.read()).toBe(parts.at(-1));
    expect(parts.at(-1)).toMatchObject({ kind: "end", summary: { finishReason: "stop" } });
  });

  test("a step that was cancelled can be called again", async () => {
    const step = await prepared({ model: playing([...text, { type: "text-end", id: "0" }, finish()]) });
    const first = await step.call(new AbortController().signal);
    first.cancel("once more");
    const parts = await readAll(await step.call(new AbortController().signal));
    expect(chunksOf(parts).map((chunk) => chunk.type)).toEqual(["text-start", "text-delta", "text-end"]);
  });
});

test("nothing is read ahead of the reader", async () => {
  let pulled = 0;
  const endless = new ReadableStream<Part>(
    {
      pull(controller) {
        controller.enqueue(
          pulled++ === 0 ? { type: "text-start", id: "0" } : { type: "text-delta", id: "0", delta: "x" },
        );
      },
    },
    { highWaterMark: 0 },
  );
  const stream = await called({ model: modelOf(async () => endless) });
  for (let read = 0; read < 5; read++) await stream.read();
  for (let tick = 0; tick < 20; tick++) await nextTick();
  expect(pulled).toBeLessThanOrEqual(8);
  stream.cancel("done");
});

test("the body is read to its close after the end, so that middleware sees all of it", async () => {
  let closed = false;
  const pings: Part[] = Array.from({ length: 9 }, () => ({ type: "ping" }));
  const body = new TransformStream<Part, Part>({
    flush: () => {
      closed = true;
    },
  });
  const model = modelOf(async () => {
    const source = new ReadableStream<Part>({
      start(controller) {
        for (const part of [...text, { type: "text-end", id: "0" } as const, finish(), ...pings])
          controller.enqueue(part);
        controller.close();
      },
    });
    return source.pipeThrough(body);
  });
  await readAll(await called({ model }));
  for (let tick = 0; tick < 20; tick++) await nextTick();
  expect(closed).toBe(true);
});
