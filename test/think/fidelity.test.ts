/** The message that the SDK's client builds from a turn's whole log is the one that is stored. */
import {
  dynamicTool,
  jsonSchema,
  type LanguageModel,
  readUIMessageStream,
  type ToolSet,
  tool,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import { describe, expect, it } from "vitest";
import { type SaveMessagesResult, Think } from "../../src/index.ts";
import { type Chat, Gate, key, open } from "./kit.ts";
import { call, calls, finish, hang, httpError, type Part, type Reply, says, script, words } from "./model.ts";

const anything = jsonSchema<Record<string, unknown>>({ type: "object" });
const held = new Gate();
const tools = (): ToolSet =>
  ({
    look: tool({ inputSchema: anything, execute: async (input) => ({ seen: input }) }),
    failing: tool({ inputSchema: anything, execute: async (): Promise<string> => Promise.reject(new Error("kaput")) }),
    slow: tool({ inputSchema: anything, execute: () => held.opened.then(() => "late") }),
    once: dynamicTool({
      title: "Once",
      metadata: { from: "mcp" },
      inputSchema: anything,
      execute: async () => "found",
    }),
    counting: tool({
      inputSchema: anything,
      async *execute() {
        for (const n of [1, 2, 3]) yield { n };
      },
    }),
  }) as unknown as ToolSet;

const given = (n: number): { providerMetadata: Record<string, Record<string, number>> } => ({
  providerMetadata: { mock: { n } },
});
const thought = (text: string): Part[] => [
  { type: "reasoning-start", id: "r" },
  { type: "reasoning-delta", id: "r", delta: text },
  { type: "reasoning-end", id: "r" },
];
const png = { type: "data", data: "iVBORw0KGgo=" } as const;

class Speaking extends Think<{ model: LanguageModel }> {
  override modelProfile = { prefill: true };
  override chatRecovery = { maxAttempts: 2, maxRecoveryWork: 4 };
  override getModel = (): LanguageModel => this.env.model;
  override getTools = tools;
  goOn(): Promise<SaveMessagesResult> {
    return this.continueLastTurn();
  }
}

class Rewriting extends Speaking {
  override beforeToolCall = (): { action: "allow"; input: unknown } => ({
    action: "allow",
    input: { rewritten: true },
  });
}

interface Scene {
  readonly name: string;
  readonly replies: readonly Reply[];
  readonly Class?: typeof Speaking;
  /** After the first message was sent. The id of the turn that is looked at, if it is another. */
  act?(chat: Chat<Speaking>, turn: string): Promise<unknown>;
  readonly outcome?: string;
  readonly differs?: Difference;
}

/** The only differences there may be, and why. */
const differences = {
  "merged-metadata": {
    why: "of a part's start, deltas and end the latest value of each key is kept (A2); the client keeps the last chunk's only",
    equal: (message: UIMessage): UIMessage =>
      JSON.parse(JSON.stringify(message), (name, value) => (name === "providerMetadata" ? undefined : value)),
  },
};
type Difference = keyof typeof differences;

const dies =
  (text: string) =>
  async (chat: Chat<Speaking>): Promise<void> => {
    await chat.said(text);
    await chat.restart();
  };
const until = (chat: Chat<Speaking>, type: string): Promise<void> =>
  chat.time.until(
    () => chat.landed.some(({ chunks }) => chunks?.some((some) => some.chunks.some((one) => one.type === type))),
    type,
  );
const started = (chat: Chat<Speaking>): Promise<void> =>
  chat.time.until(
    () => chat.landed.some(({ ledger }) => ledger?.some(({ state }) => state === "started")),
    "a call that has started",
  );

const scenes: readonly Scene[] = [
  { name: "text", replies: [says("Hello ", "there")] },
  { name: "reasoning and text", replies: [[...thought("hm"), ...says("Hello")]] },
  {
    name: "sources, files and what providers add",
    replies: [
      [
        { type: "custom", kind: "mock.begin", ...given(1) },
        { type: "source", sourceType: "url", id: "s1", url: "https://example.com", title: "Example" },
        {
          type: "source",
          sourceType: "document",
          id: "s2",
          mediaType: "text/plain",
          title: "Doc",
          filename: "doc.txt",
        },
        { type: "file", mediaType: "image/png", data: png },
        { type: "reasoning-file", mediaType: "image/png", data: png },
        ...says("Seen"),
      ],
    ],
  },
  {
    name: "metadata at a part's start, deltas and end",
    replies: [
      [
        { type: "text-start", id: "t", providerMetadata: { mock: { a: 1 } } },
        { type: "text-delta", id: "t", delta: "Hello", providerMetadata: { mock: { b: 2 } } },
        { type: "text-end", id: "t", ...given(3) },
        finish(),
      ],
    ],
    differs: "merged-metadata",
  },
  {
    name: "two tools and a second step",
    replies: [[...words("Look"), ...calls(call("look", { q: 1 }), call("failing", {}, "c2"))], says("done")],
  },
  { name: "preliminary outputs", replies: [calls(call("counting")), says("done")] },
  { name: "a dynamic tool", replies: [calls(call("once", { q: 1 })), says("done")] },
  { name: "calls that cannot be run", replies: [calls(call("look", '{"q":'), call("nope", {}, "c2")), says("sorry")] },
  {
    name: "a label that is used twice",
    replies: [calls(call("look", { q: 1 })), calls(call("look", { q: 2 })), says("done")],
  },
  {
    name: "calls that the provider runs itself",
    replies: [
      [
        { type: "tool-input-start", id: "p1", toolName: "search", providerExecuted: true, dynamic: true },
        { type: "tool-input-end", id: "p1" },
        { type: "tool-call", toolCallId: "p1", toolName: "search", input: "{}", providerExecuted: true, dynamic: true },
        { type: "tool-result", toolCallId: "p1", toolName: "search", result: { hits: 1 }, dynamic: true, ...given(1) },
        ...says("Found"),
      ],
    ],
  },
  { name: "an input that the check rewrote", Class: Rewriting, replies: [calls(call("look", { q: 1 })), says("done")] },
  { name: "a death in mid-text", replies: [[...words("Hel"), hang], says("lo")], act: dies("Hel") },
  {
    name: "three deaths in mid-text",
    replies: [[...words("one "), hang], [...words("two "), hang], [...words("three "), hang], says("four")],
    act: async (chat) => {
      for (const text of ["one ", "two ", "three "]) await dies(text)(chat);
    },
  },
  {
    name: "a death in a text with metadata, which cannot be joined",
    replies: [
      [{ type: "text-start", id: "t", ...given(1) }, { type: "text-delta", id: "t", delta: "Hel" }, hang],
      says("lo"),
    ],
    act: dies("Hel"),
  },
  {
    name: "a death in mid-reasoning",
    replies: [
      [...thought("hm").slice(0, 2), hang],
      [...thought("hm, again"), ...says("Hello")],
    ],
    act: async (chat) => {
      await until(chat, "reasoning-delta");
      await chat.restart();
    },
  },
  {
    name: "a death in mid-input of a call",
    replies: [[...words("I'll "), ...call("look", { q: 1 }).slice(0, 2), hang], says("see")],
    act: async (chat) => {
      await until(chat, "tool-input-delta");
      await chat.restart();
    },
  },
  {
    name: "a death while a tool runs",
    replies: [calls(call("slow")), says("unknown")],
    act: async (chat) => {
      await started(chat);
      await chat.restart();
    },
  },
  {
    name: "a death in the second step",
    replies: [calls(call("look", { q: 1 })), [...words("Hel"), hang], says("lo")],
    act: dies("Hel"),
  },
  {
    name: "a stop in mid-text",
    replies: [[...thought("hm"), ...words("Hel"), hang]],
    outcome: "stopped",
    act: async (chat, turn) => {
      await chat.said("Hel");
      await chat.time.of(chat.gateway.stop(key, turn));
    },
  },
  {
    name: "a stop while a tool runs",
    replies: [calls(call("slow"))],
    outcome: "stopped",
    act: async (chat, turn) => {
      await started(chat);
      await chat.time.of(chat.gateway.stop(key, turn));
    },
  },
  { name: "a refusal in the second step", replies: [calls(call("look")), [httpError(400, "no")]], outcome: "failed" },
  {
    name: "a recovery that is given up",
    replies: [[...words("Hel"), new Error("reset")]],
    outcome: "sealed",
    act: (chat) => chat.time.advance(60_000),
  },
  {
    name: "an answer that is gone on with",
    replies: [calls(call("look")), says("One."), says(" Two.")],
    act: async (chat, turn) => {
      await chat.ended(turn);
      return (await chat.time.of(chat.agent().goOn())).requestId;
    },
  },
  {
    name: "an answer that is gone on with, over a death",
    replies: [[...thought("hm"), ...says("One.")], [...words(" Two"), hang], says(" and three.")],
    act: async (chat, turn) => {
      await chat.ended(turn);
      const { turn: next } = await chat.time.of(chat.gateway.continue(key));
      await chat.said(" Two");
      await chat.restart();
      return next;
    },
  },
];

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

async function built(chat: Chat<Speaking>, turn: string): Promise<UIMessage> {
  const stream = ReadableStream.from((await chat.log(turn)) as readonly UIMessageChunk[]);
  const errors: unknown[] = [];
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream, onError: (error) => errors.push(error) }))
    last = plain(message);
  // A turn that failed or was sealed ends in an error that the client is told of; nothing else may be one.
  const [end] = (await chat.log(turn)).slice(-1);
  expect(errors.length).toBe(end?.type === "error" ? 1 : 0);
  return last!;
}

describe("[A1] the client's message is the stored one", () => {
  it.each(scenes)("$name", async ({ replies, act, Class = Speaking, outcome = "completed", differs }) => {
    const chat = await open(Class, { env: { model: script(...replies) } });
    const sent = await chat.submit("u1");
    const other = await act?.(chat, sent);
    const turn = typeof other === "string" ? other : sent;
    const { messageId, outcome: came } = await chat.ended(turn);
    expect(came).toBe(outcome);
    const stored = plain((await chat.messages()).find(({ id }) => id === messageId)) as unknown as UIMessage;
    expect(stored.parts.length).toBeGreaterThan(0);
    const shown = await built(chat, turn);
    if (differs) {
      expect(shown, "the difference is not needed").not.toEqual(stored);
      expect(differences[differs].equal(shown)).toEqual(differences[differs].equal(stored));
    } else expect(shown).toEqual(stored);
  });
});
