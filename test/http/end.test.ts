// How streams end. node-server has two paths for a response, with its own Response and with the platform's: both.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Chunk } from "../../src/core/transcript.ts";
import { FakeGateway, problem } from "./fake-gateway.ts";
import { chatBody, drained, events, opened, pause, post, serve, streamed, until, type World } from "./server.ts";

const printed: unknown[][] = [];

beforeEach(() => {
  // node-server has a line for every stream that fails, and a stack for those that it does not know.
  vi.spyOn(console, "info").mockImplementation(() => {});
  vi.spyOn(console, "error").mockImplementation((...words) => void printed.push(words));
});

afterEach(() => {
  vi.restoreAllMocks();
  expect(printed.splice(0)).toEqual([]);
});

const ends: Chunk[] = [
  { type: "finish", finishReason: "stop" },
  { type: "abort", reason: "stopped" },
  { type: "error", errorText: "The assistant was interrupted." },
];

/** Ways in which a server can go away under a stream, but for the kill of its process. */
const deaths: [string, (world: World) => void][] = [
  ["the host closes: the read rejects", (world) => world.gateway.die()],
  ["an error that nobody foresaw", (world) => world.gateway.die(new Error("store"))],
  ["the gateway closes its readers: the read answers null", (world) => world.gateway.readers[0]?.close()],
  ["the door closes", (world) => world.door.close()],
];

describe.each([false, true])("[W3] with overrideGlobalObjects: %s", (override) => {
  it.each(ends)("the end is the log's last chunk, then [DONE], and a clean end of the body: %o", async (end) => {
    const world = await serve({}, override);
    const turn = world.gateway.open("chat/c1");
    world.gateway.append(turn, { type: "start", messageId: "m" });
    const { response } = await opened(world, { path: "/agents/chat/c1/stream" });
    const whole = drained(response);
    await pause(10);
    world.gateway.settle(turn, end);
    const { text, complete } = await whole;
    expect(complete).toBe(true);
    expect(events(text).slice(-2)).toEqual([{ id: `${turn}:1`, data: JSON.stringify(end) }, { data: "[DONE]" }]);
  });

  it.each(deaths)("a close before the end destroys the socket: %s", async (_, die) => {
    const world = await serve({}, override);
    const turn = world.gateway.open("chat/c1");
    world.gateway.append(turn, { type: "start", messageId: "m" }, { type: "start-step" });
    const { response } = await opened(world, { path: "/agents/chat/c1/stream" });
    const whole = drained(response);
    await until("the second read waits", () => world.gateway.readers[0]?.reads === 2);
    await pause(5);
    die(world);
    const { text, complete } = await whole;
    expect(complete).toBe(false);
    expect(events(text).map(({ id }) => id)).toEqual([`${turn}:0`, `${turn}:1`]);
    expect(world.gateway.readers[0]?.closed).toBe(true);
  });

  it.each(deaths)("and so does one before the first chunk: %s", async (_, die) => {
    const world = await serve({}, override);
    world.gateway.open("chat/c1");
    const { response } = await opened(world, { path: "/agents/chat/c1/stream" });
    const whole = drained(response);
    await until("the first read waits", () => world.gateway.readers[0]?.reads === 1);
    die(world);
    expect(await whole).toMatchObject({ complete: false, text: "" });
  });

  it("a read that fails at once is no clean answer either, and never one that hangs", async () => {
    const world = await serve({}, override);
    world.gateway.open("chat/c1");
    const { source } = world.gateway;
    world.gateway.source = async (...place) => {
      const found = await source.apply(world.gateway, place);
      world.gateway.die();
      return found;
    };
    const { response } = await opened(world, { path: "/agents/chat/c1/stream" });
    expect(await drained(response)).toMatchObject({ complete: false, text: "" });
  });

  it("a client under backpressure is not shown a clean end when the door closes", async () => {
    const world = await serve({}, override);
    world.gateway.sliceMax = 1;
    const turn = world.gateway.open("chat/c1");
    const delta = "x".repeat(256 * 1024);
    world.gateway.append(turn, ...Array.from({ length: 64 }, () => ({ type: "text-delta", id: "t", delta })));
    const { response } = await opened(world, { path: "/agents/chat/c1/stream" });
    await until("the socket is full", () => (world.gateway.readers[0]?.reads ?? 0) > 4);
    await pause(50);
    world.door.close();
    await pause(50);
    const { text, complete } = await drained(response);
    expect(complete).toBe(false);
    expect(text).not.toMatch(/Error|DONE/);
  });

  it("a door that closes while the turn is on its way refuses, and leaves no reader open", async () => {
    const world = await serve({}, override);
    const { source } = world.gateway;
    world.gateway.source = async (...place) => {
      world.door.close();
      return source.apply(world.gateway, place);
    };
    const response = await post(world, chatBody());
    expect(response.status).toBe(503);
    expect(world.gateway.readers[0]?.closed).toBe(true);
  });

  it("a settled turn that is asked for beyond its end is [DONE] and a clean end", async () => {
    const world = await serve({}, override);
    const turn = world.gateway.open("chat/c1");
    world.gateway.settle(turn);
    const response = await fetch(`${world.url}/agents/chat/c1/stream?turn=${turn}&after=7`);
    expect(await streamed(response)).toEqual([{ data: "[DONE]" }]);
  });
});

describe("[W3] what the door itself does", () => {
  it("a log that says that it ended needs no answer of the gateway: the conversation may be gone by now", async () => {
    const world = await serve();
    const turn = world.gateway.open("chat/c1");
    world.gateway.say(turn, ["a"]);
    const asked = ["source 0"];
    expect((await streamed(await fetch(`${world.url}/agents/chat/c1/stream?turn=${turn}`))).at(-1)?.data).toBe(
      "[DONE]",
    );
    expect(world.gateway.asked).toEqual(asked);
  });

  it("reports an error that nobody foresaw in mid-stream, and not the host's closing", async () => {
    const errors: unknown[] = [];
    const gateway = new FakeGateway();
    gateway.open("chat/c1");
    const world = await serve({ gateway, onError: (error) => errors.push(error) });
    const fail = async (error: Error) => {
      const response = await world.door.fetch(new Request("http://localhost/agents/chat/c1/stream"));
      const read = response.body!.getReader().read();
      await pause(1);
      gateway.die(error);
      await expect(read).rejects.toThrow("was cut");
    };
    const unforeseen = new Error("unforeseen");
    await fail(problem("HOST_CLOSED"));
    await fail(unforeseen);
    expect(errors).toEqual([unforeseen]);
  });
});
