// The event stream on the wire: offsets, exact resume, comments, disconnects, slow readers.
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import type { Timers } from "../../src/ports/clock.ts";
import { FakeGateway } from "./fake-gateway.ts";
import { chatBody, drained, events, opened, pause, post, raw, serve, streamed, until } from "./server.ts";

const words = ["Hel", "lo \n wor", "ld\r\n", "\u2028 data: x", "id: 9", "ä€😀"];

describe("[W1] every logged chunk has id <turn>:<offset>, dense from 0", () => {
  it.each([1, 2, 1_000])("with slices of %i, by POST and by GET alike", async (sliceMax) => {
    const world = await serve();
    world.gateway.sliceMax = sliceMax;
    const posted = await post(world, chatBody());
    world.gateway.say("turn_0001", words);
    const texts = world.gateway.texts("turn_0001");
    const expected = [...texts.map((data, offset) => ({ id: `turn_0001:${offset}`, data })), { data: "[DONE]" }];
    expect(await streamed(posted)).toEqual(expected);
    expect(await streamed(await fetch(`${world.url}/agents/chat/c1/stream`))).toEqual(expected);
  });

  it("joins the chunks of a slice into one write", async () => {
    const gateway = new FakeGateway();
    const turn = gateway.open("chat/c1");
    gateway.say(
      turn,
      Array.from({ length: 500 }, () => "word "),
    );
    const world = await serve({ gateway });
    const response = await world.door.fetch(new Request("http://localhost/agents/chat/c1/stream"));
    const pieces: number[] = [];
    for await (const piece of response.body!) pieces.push(piece.byteLength);
    expect(pieces).toHaveLength(2);
    expect(gateway.readers[0]?.reads).toBe(2);
  });

  it("a snapshot has no ids: its chunks are not in the log any more", async () => {
    const world = await serve();
    const first = await post(world, chatBody());
    world.gateway.say("turn_0001", ["a"]);
    await first.text();
    const chunks = [{ type: "start", messageId: "m" }, { type: "finish" }];
    world.gateway.expire("turn_0001", chunks);
    const again = await post(world, chatBody());
    expect(again.headers.get("x-perdure-turn")).toBe("turn_0001");
    expect(await streamed(again)).toEqual([
      ...chunks.map((chunk) => ({ data: JSON.stringify(chunk) })),
      { data: "[DONE]" },
    ]);
  });
});

describe("[W2] Last-Event-ID resumes exactly after it", () => {
  const resumes: [string, (world: { url: string }, turn: string, offset: number) => Promise<Response>][] = [
    [
      "Last-Event-ID",
      ({ url }, turn, offset) =>
        fetch(`${url}/agents/chat/c1/stream`, { headers: { "last-event-id": `${turn}:${offset}` } }),
    ],
    ["?turn=&after=", ({ url }, turn, offset) => fetch(`${url}/agents/chat/c1/stream?turn=${turn}&after=${offset}`)],
  ];

  it.each(resumes)("at every offset of a settled turn, by %s", async (_, resume) => {
    const world = await serve();
    const turn = world.gateway.open("chat/c1");
    world.gateway.say(turn, words);
    world.gateway.open("chat/c1");
    const texts = world.gateway.texts(turn);
    for (let offset = 0; offset <= texts.length + 2; offset += 1) {
      const response = await resume(world, turn, offset);
      const tail = texts.map((data, at) => ({ id: `${turn}:${at}`, data })).slice(offset + 1);
      expect(await streamed(response)).toEqual([...tail, { data: "[DONE]" }]);
    }
  });

  it.each(resumes)("at every offset of a turn in flight, then live, by %s", async (_, resume) => {
    const world = await serve();
    const turn = world.gateway.open("chat/c1");
    const chunks = words.map((delta) => ({ type: "text-delta", id: "t", delta }));
    world.gateway.append(turn, ...chunks.slice(0, 3));
    const waiting = await Promise.all([0, 1, 2].map((offset) => resume(world, turn, offset)));
    world.gateway.append(turn, ...chunks.slice(3));
    world.gateway.settle(turn);
    for (const [offset, response] of waiting.entries()) {
      const offsets = (await streamed(response)).map(({ id }) => id?.split(":")[1]);
      expect(offsets).toEqual(
        [...world.gateway.texts(turn).keys()]
          .slice(offset + 1)
          .map(String)
          .concat(undefined as never),
      );
    }
  });

  it("a client cut at every event sees each chunk once, whatever it was cut in", async () => {
    const world = await serve();
    world.gateway.sliceMax = 2;
    const turn = world.gateway.open("chat/c1");
    world.gateway.say(turn, words);
    const seen: string[] = [];
    for (let rounds = 0; rounds < 50; rounds += 1) {
      const last = seen.length === 0 ? {} : { "last-event-id": `${turn}:${seen.length - 1}` };
      const { response, hangUp } = await opened(world, { path: `/agents/chat/c1/stream?turn=${turn}`, headers: last });
      const piece = await new Promise<string>((resolve) =>
        response.once("data", (data: Buffer) => resolve(String(data))),
      );
      response.on("error", () => {});
      hangUp();
      const first = events(`${piece.split("\n\n")[0]}\n\n`)[0]!;
      if (first.data === "[DONE]") break;
      expect(first.id).toBe(`${turn}:${seen.length}`);
      seen.push(first.data);
    }
    expect(seen).toEqual(world.gateway.texts(turn));
  });

  it("the header is newer than the URL; a turn without `after` is whole", async () => {
    const world = await serve();
    const turn = world.gateway.open("chat/c1");
    world.gateway.say(turn, ["a", "b"]);
    const path = `${world.url}/agents/chat/c1/stream?turn=${turn}`;
    const newer = await fetch(`${path}&after=0`, { headers: { "last-event-id": `${turn}:4` } });
    expect((await streamed(newer))[0]?.id).toBe(`${turn}:5`);
    expect((await streamed(await fetch(path)))[0]?.id).toBe(`${turn}:0`);
    expect((await streamed(await fetch(path, { headers: { "last-event-id": "" } })))[0]?.id).toBe(`${turn}:0`);
  });

  it("a settled turn that ended long ago still has its tail while its chunks are kept", async () => {
    const world = await serve();
    const turn = world.gateway.open("chat/c1");
    world.gateway.append(turn, { type: "start", messageId: "m" });
    world.gateway.settle(turn, { type: "finish" }, "completed", Date.now() - 3_000_000);
    const answer = await raw(world, { path: "/agents/chat/c1/stream", headers: { "last-event-id": `${turn}:0` } });
    expect([answer.status, events(answer.text).length]).toEqual([200, 2]);
  });

  it.each([
    ["garbage", { "last-event-id": "garbage" }, "", 400, "BAD_REQUEST"],
    ["no offset", { "last-event-id": "turn_0001:" }, "", 400, "BAD_REQUEST"],
    ["a negative offset", { "last-event-id": "turn_0001:-1" }, "", 400, "BAD_REQUEST"],
    ["a fraction", { "last-event-id": "turn_0001:1.5" }, "", 400, "BAD_REQUEST"],
    ["a second spelling", { "last-event-id": "turn_0001:01" }, "", 400, "BAD_REQUEST"],
    ["no turn", { "last-event-id": ":1" }, "", 400, "BAD_REQUEST"],
    ["a number too large", { "last-event-id": "turn_0001:99999999999999999999" }, "", 400, "BAD_REQUEST"],
    ["an unknown turn", { "last-event-id": "turn_9999:0" }, "", 404, "TURN_NOT_FOUND"],
    ["another agent's turn", { "last-event-id": "turn_0002:0" }, "", 404, "TURN_NOT_FOUND"],
    ["after without turn", {}, "?after=1", 400, "BAD_REQUEST"],
    ["after that is no offset", {}, "?turn=turn_0001&after=x", 400, "BAD_REQUEST"],
    ["an empty after", {}, "?turn=turn_0001&after=", 400, "BAD_REQUEST"],
    ["an empty turn", {}, "?turn=&after=1", 400, "BAD_ID"],
    ["an unknown turn in the query", {}, "?turn=nope", 404, "TURN_NOT_FOUND"],
  ] as const)("[W6] %s is a clear 4xx", async (_, headers, query, status, code) => {
    const world = await serve();
    world.gateway.open("chat/c1");
    world.gateway.open("chat/c2");
    const response = await fetch(`${world.url}/agents/chat/c1/stream${query}`, { headers });
    expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
      status,
      code,
    ]);
    expect(world.gateway.readers).toEqual([]);
  });
});

describe("comments", () => {
  it("come every 15 s while the turn is silent, and never after the end", async () => {
    const due: { ms: number; callback: () => void }[] = [];
    let forgotten = 0;
    const timers: Timers = {
      after: (ms, callback) => {
        due.push({ ms, callback });
        return () => {
          forgotten += 1;
        };
      },
    };
    const world = await serve({ timers });
    const turn = world.gateway.open("chat/c1");
    world.gateway.append(turn, { type: "start", messageId: "m" });
    const { response } = await opened(world, { path: "/agents/chat/c1/stream" });
    const whole = drained(response);
    await until("the second read waits", () => world.gateway.readers[0]?.reads === 2);
    due[0]?.callback();
    await pause(20);
    due[1]?.callback();
    await pause(20);
    world.gateway.settle(turn);
    const { text, complete } = await whole;
    expect(text.match(/^: keep-alive\n\n/gm)).toHaveLength(2);
    expect([complete, events(text).length, due.map(({ ms }) => ms), forgotten]).toEqual([
      true,
      3,
      [15_000, 15_000, 15_000],
      1,
    ]);
  });

  it("the platform's own timers do it too", async () => {
    const world = await serve({ commentMs: 5 });
    const turn = world.gateway.open("chat/c1");
    const { response } = await opened(world, { path: "/agents/chat/c1/stream" });
    const whole = drained(response);
    await pause(60);
    world.gateway.settle(turn);
    const { text } = await whole;
    expect(text.match(/: keep-alive/g)!.length).toBeGreaterThan(2);
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  });

  it("never pile up in front of a client that does not read", async () => {
    const gateway = new FakeGateway();
    const turn = gateway.open("chat/c1");
    const world = await serve({ gateway, commentMs: 1 });
    const response = await world.door.fetch(new Request("http://localhost/agents/chat/c1/stream"));
    const reader = response.body!.getReader();
    await reader.read();
    await pause(50);
    gateway.settle(turn);
    let rest = "";
    for (let piece = await reader.read(); !piece.done; piece = await reader.read())
      rest += String(Buffer.from(piece.value));
    expect(rest.match(/keep-alive/g)?.length ?? 0).toBeLessThanOrEqual(1);
  });
});

describe("[W5] a disconnect cancels nothing", () => {
  it.each(["POST", "GET"])("%s: it closes the reader, and asks the gateway for nothing", async (method) => {
    const world = await serve();
    if (method === "GET") world.gateway.open("chat/c1");
    const { response, hangUp } = await opened(
      world,
      method === "GET"
        ? { path: "/agents/chat/c1/stream" }
        : {
            method,
            path: "/agents/chat",
            headers: { "content-type": "application/json" },
            body: JSON.stringify(chatBody()),
          },
    );
    response.on("error", () => {});
    world.gateway.append("turn_0001", { type: "start", messageId: "m" });
    await until("a read waits", () => world.gateway.readers[0]?.reads === 2);
    const asked = [...world.gateway.asked];
    hangUp();
    await until("the reader is closed", () => world.gateway.readers[0]?.closed === true);
    expect([world.gateway.asked, world.gateway.stops]).toEqual([asked, []]);
    world.gateway.settle("turn_0001");
    const seen = await streamed(await fetch(`${world.url}/agents/chat/c1/stream`));
    expect(seen.map(({ id }) => id)).toEqual(["turn_0001:0", "turn_0001:1", undefined]);
  });

  it("a client that is gone before the turn is durable leaves a turn that runs, and no reader", async () => {
    const world = await serve();
    const { submit } = world.gateway;
    let durable = (): void => {};
    world.gateway.submit = async (agent, input) => {
      await new Promise<void>((resolve) => {
        durable = resolve;
      });
      return submit.call(world.gateway, agent, input);
    };
    const body = JSON.stringify(chatBody());
    const head = `POST /agents/chat HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    const socket = connect(world.port, "127.0.0.1");
    socket.write(head + body);
    await pause(50);
    socket.destroy();
    await pause(20);
    durable();
    await until("a reader was opened and closed", () => world.gateway.readers[0]?.closed === true);
    expect(world.gateway.submits).toHaveLength(1);
  });

  it("the end of a stream closes its reader", async () => {
    const world = await serve();
    const response = await post(world, chatBody());
    world.gateway.say("turn_0001", []);
    await response.text();
    expect(world.gateway.readers.map(({ closed }) => closed)).toEqual([true]);
  });
});

describe("a slow reader", () => {
  it("delays only itself, is not read ahead for, and gets everything in the end", async () => {
    const world = await serve();
    world.gateway.sliceMax = 1;
    const turn = world.gateway.open("chat/c1");
    const delta = "x".repeat(64 * 1024);
    const chunks = Array.from({ length: 512 }, (_, index) => ({ type: "text-delta", id: String(index), delta }));
    world.gateway.append(turn, ...chunks);
    const slow = await opened(world, { path: "/agents/chat/c1/stream" });
    await until("the slow one fills its socket", () => (world.gateway.readers[0]?.reads ?? 0) > 4);
    await pause(100);
    const stuck = world.gateway.readers[0]!.bytes;
    const fast = await opened(world, { path: "/agents/chat/c1/stream" });
    const fastWhole = drained(fast.response);
    world.gateway.settle(turn);
    expect(events((await fastWhole).text)).toHaveLength(514);
    expect(world.gateway.readers[0]?.bytes).toBe(stuck);
    // What the sockets of both sides hold at most, well below the 32 MB of the log.
    expect(stuck).toBeLessThan(12 * 1024 * 1024);
    const slowWhole = await drained(slow.response);
    expect([slowWhole.complete, events(slowWhole.text).length]).toEqual([true, 514]);
  });
});
