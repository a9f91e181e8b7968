// The stock client of the AI SDK against the door: transport, chat state, and its own parser as the judge.
import {
  AbstractChat,
  type ChatState,
  type ChatStatus,
  DefaultChatTransport,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import { describe, expect, it } from "vitest";
import { messageIdOf } from "../../src/core/ids.ts";
import { opening } from "./fake-gateway.ts";
import { pause, serve, until, user, type World } from "./server.ts";

function transport(world: World, body?: object): DefaultChatTransport<UIMessage> {
  return new DefaultChatTransport({ api: `${world.url}/agents/chat`, ...(body ? { body } : {}) });
}

async function all(stream: ReadableStream<UIMessageChunk>): Promise<UIMessageChunk[]> {
  const chunks: UIMessageChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

const send = { trigger: "submit-message", chatId: "c1", messageId: undefined, abortSignal: undefined } as const;

describe("DefaultChatTransport", () => {
  it("sendMessages gives the chunks of the log, comments and ids unseen", async () => {
    const world = await serve({ commentMs: 2 });
    const stream = await transport(world, { tenant: "t1" }).sendMessages({ ...send, messages: [user("u1", "Hi")] });
    await pause(20);
    world.gateway.say("turn_0001", ["Hel", "lo"], { type: "finish", finishReason: "stop" });
    expect(await all(stream)).toEqual(world.gateway.texts("turn_0001").map((text) => JSON.parse(text)));
    expect(world.gateway.submits[0]?.input).toEqual({ messages: [user("u1", "Hi")], body: { tenant: "t1" } });
  });

  it("reconnectToStream is null when nothing runs, and the whole turn when one does", async () => {
    const world = await serve();
    const reconnect = () => transport(world).reconnectToStream({ chatId: "c1" });
    expect(await reconnect()).toBeNull();
    const turn = world.gateway.open("chat/c1");
    world.gateway.append(turn, ...opening("m"), { type: "text-delta", id: "t", delta: "a" });
    const stream = await reconnect();
    world.gateway.settle(turn);
    expect((await all(stream!)).map(({ type }) => type)).toEqual([
      "start",
      "start-step",
      "text-start",
      "text-delta",
      "finish",
    ]);
  });

  it("an id with a slash comes back under the same agent", async () => {
    const world = await serve();
    const stream = await transport(world).sendMessages({ ...send, chatId: "team/7 ä", messages: [user("u1", "Hi")] });
    expect(world.gateway.submits[0]?.agent).toBe("chat/team/7 ä");
    await stream.cancel();
    expect(await transport(world).reconnectToStream({ chatId: "team/7 ä" })).not.toBeNull();
  });

  it("a refusal is an error whose text holds the code", async () => {
    const world = await serve();
    const sent = transport(world).sendMessages({ ...send, messages: [user("u1", " ")] });
    await expect(sent).rejects.toThrow(/"code":"BAD_REQUEST"/);
  });

  it("[W3] a server that goes away in mid-turn is an error to the client, never a finished answer", async () => {
    const world = await serve();
    const stream = await transport(world).sendMessages({ ...send, messages: [user("u1", "Hi")] });
    world.gateway.append("turn_0001", ...opening("m"), { type: "text-delta", id: "t", delta: "a" });
    const reading = all(stream);
    await until("the second read waits", () => (world.gateway.readers[0]?.reads ?? 0) > 1);
    world.door.close();
    await expect(reading).rejects.toThrow();
  });
});

class State implements ChatState<UIMessage> {
  status: ChatStatus = "ready";
  error: Error | undefined;
  messages: UIMessage[];

  constructor(messages: UIMessage[]) {
    this.messages = messages;
  }

  pushMessage = (message: UIMessage): void => {
    this.messages = [...this.messages, message];
  };
  popMessage = (): void => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index: number, message: UIMessage): void => {
    this.messages = this.messages.with(index, structuredClone(message));
  };
  snapshot = <T>(value: T): T => structuredClone(value);
}

class Chat extends AbstractChat<UIMessage> {
  constructor(world: World, messages: UIMessage[] = []) {
    super({ id: "c1", transport: transport(world), state: new State(messages) });
  }
}

const said = (chat: Chat) =>
  chat.messages.map(({ role, parts }) => [role, parts.map((part) => ("text" in part ? part.text : ""))]);

describe("useChat's state machine", () => {
  it("sends, streams and is ready", async () => {
    const world = await serve();
    const chat = new Chat(world);
    const done = chat.sendMessage({ text: "Hi" });
    await until("the turn is made", () => world.gateway.submits.length === 1);
    world.gateway.say("turn_0001", ["Hel", "lo"]);
    await done;
    expect([chat.status, said(chat)]).toEqual([
      "ready",
      [
        ["user", ["Hi"]],
        ["assistant", ["", "Hello"]],
      ],
    ]);
    expect(chat.lastMessage?.id).toBe(messageIdOf("turn_0001"));
  });

  it("a dropped client that resumes holds one whole message: in flight, and after the end", async () => {
    const world = await serve();
    const chat = new Chat(world);
    const done = chat.sendMessage({ text: "Hi" });
    await until("the turn is made", () => world.gateway.submits.length === 1);
    world.gateway.append("turn_0001", ...opening(messageIdOf("turn_0001")), {
      type: "text-delta",
      id: "t",
      delta: "Hel",
    });
    await until("the partial is seen", () => chat.messages.length === 2);
    world.server.closeAllConnections();
    await done;
    expect(chat.status).toBe("error");
    const resumed = chat.resumeStream();
    await until("the replay is read", () => world.gateway.readers.length === 2);
    world.gateway.append("turn_0001", { type: "text-delta", id: "t", delta: "lo" }, { type: "text-end", id: "t" });
    world.gateway.settle("turn_0001");
    await resumed;
    const whole = [
      ["user", ["Hi"]],
      ["assistant", ["", "Hello"]],
    ];
    expect([chat.status, said(chat)]).toEqual(["ready", whole]);
    await chat.resumeStream();
    expect([chat.status, said(chat)]).toEqual(["ready", whole]);
  });

  it("a turn that failed shows its text as the error; one that was stopped is ready", async () => {
    const world = await serve();
    for (const [end, status, error] of [
      [{ type: "error", errorText: "Please try again." }, "error", "Please try again."],
      [{ type: "abort" }, "ready", undefined],
    ] as const) {
      const chat = new Chat(world);
      const made = world.gateway.submits.length;
      const done = chat.sendMessage({ text: "Hi" });
      await until("the turn is made", () => world.gateway.submits.length === made + 1);
      world.gateway.say(`turn_000${made + 1}`, ["a"], end);
      await done;
      expect([chat.status, chat.error?.message]).toEqual([status, error]);
    }
  });
});
