/** Interruptions through the public class: what is gone on with, who is asked, and when it is given up. */
import { type LanguageModel, type ToolSet, tool } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { askForRest } from "../../src/core/texts.ts";
import { type ChatRecoveryConfig, type ChatRecoveryContext, type ChatRecoveryOptions, Think } from "../../src/index.ts";
import type { AgentClass } from "../../src/node/agents.ts";
import { open, speaking, stores, textIn } from "./kit.ts";
import { asked, type Cue, call, calls, finish, hang, httpError, type Reply, says, script, words } from "./model.ts";

const reasoning = (text: string): Cue[] => [
  { type: "reasoning-start", id: "r" },
  { type: "reasoning-delta", id: "r", delta: text },
];
const thought = (text: string): Cue[] => [...reasoning(text), { type: "reasoning-end", id: "r" }];

/** Where the process dies, what the model says then, and what it is asked and what there is in the end. */
const points: readonly { name: string; first: Reply; next?: Reply; text: string; asks: string; steps?: number }[] = [
  { name: "before anything was said", first: [hang], text: "lo", asks: "user: hi" },
  { name: "in mid-reasoning", first: [...reasoning("hm"), hang], text: "lo", asks: "user: hi" },
  { name: "after reasoning", first: [...thought("hm"), hang], text: "lo", asks: "user: hi" },
  { name: "after blank text", first: [...words(" "), hang], text: " lo", asks: "user: hi" },
  { name: "in mid-text", first: [...words("Hel"), hang], text: "Hello", asks: "assistant: Hel" },
  {
    name: "in text after reasoning",
    first: [...thought("hm"), ...words("Hel"), hang],
    text: "Hello",
    asks: "assistant: hm Hel",
  },
  {
    name: "after the text, before its end",
    first: [...words("Hel"), { type: "text-end", id: "t" }, hang],
    text: "Hello",
    asks: "assistant: Hel",
  },
  {
    name: "with nothing left to say",
    first: [...words("Whole."), hang],
    next: [finish()],
    text: "Whole.",
    asks: "assistant: Whole.",
  },
  {
    name: "in mid-input of a call",
    first: [...words("I'll "), ...call("look", { q: "x" }).slice(0, 2), hang],
    text: "I'll lo",
    asks: "tool: look=",
    steps: 2,
  },
  {
    name: "after a whole call",
    first: [...call("look", { q: "x" }), ...words("and"), hang],
    text: "andlo",
    asks: 'tool: look="seen x"',
    steps: 2,
  },
];

describe.each(stores)("a death on $name", ({ parts }) => {
  let over = async (): Promise<void> => {};
  afterEach(() => over());

  it.each(points)("[R3][T2][T4] $name", async ({ first, next = says("lo"), text, asks, steps = 1 }) => {
    const place = parts();
    over = place.done;
    const model = script(first, next);
    class A extends speaking(model) {
      override getTools = (): ToolSet => ({
        look: tool({ inputSchema: z.object({ q: z.string() }), execute: async ({ q }) => `seen ${q}` }),
      });
    }
    const chat = await open(A, place.parts);
    const turn = await chat.submit("u1");
    await chat.time.until(() => model.calls.length === 1);
    await chat.time.advance(100);
    await chat.restart();
    expect(await chat.ended(turn)).toMatchObject({ outcome: "completed" });
    expect(await chat.texts()).toEqual(["hi", text]);
    expect(asked(model.calls[1]!.prompt).at(-1)).toContain(asks);
    const marks = (await chat.log(turn)).map(({ type }) => type).filter((type) => /^(start|finish)/.test(type));
    const step = Array.from({ length: steps }, () => ["start-step", "finish-step"]).flat();
    expect(marks).toEqual(["start", ...step, "finish"]);
  });

  it("[R4][T4] interrupted three times it goes on from all of its text, under one id, with dense offsets", async () => {
    const place = parts();
    over = place.done;
    const model = script([...words("one "), hang], [...words("two "), hang], [...words("three "), hang], says("four"));
    const chat = await open(speaking(model), place.parts);
    const turn = await chat.submit("u1");
    for (const text of ["one ", "two ", "three "]) {
      await chat.said(text);
      await chat.restart();
    }
    expect(await chat.ended(turn)).toMatchObject({ outcome: "completed" });
    expect(await chat.messages()).toMatchObject([{ id: "u1" }, { role: "assistant" }]);
    expect((await chat.texts())[1]).toBe("one two three four");
    expect(model.calls.map(({ prompt }) => asked(prompt).at(-1))).toEqual([
      "user: hi",
      "assistant: one",
      "assistant: one two",
      "assistant: one two three",
    ]);
    const ids = new Set((await chat.log(turn)).filter(({ type }) => type.startsWith("text-")).map(({ id }) => id));
    expect(ids.size).toBe(1);
  });
});

describe("a model that takes no prefill", () => {
  class Asking extends Think {
    override getModel = (): LanguageModel => script();
  }

  it("[P1][V1] is asked by a message that is not stored, and what it repeats is not shown", async () => {
    const said = "The quick brown fox jumps over ";
    const model = script([...words(said), hang], says("brown fox jumps over the lazy dog."));
    class A extends Asking {
      override getModel = (): LanguageModel => model;
    }
    const chat = await open(A);
    const turn = await chat.submit("u1");
    await chat.said(said);
    await chat.restart();
    await chat.ended(turn);
    expect(asked(model.calls[1]!.prompt).slice(1)).toEqual([`assistant: ${said}`, `user: ${askForRest}`]);
    expect(await chat.texts()).toEqual(["hi", `${said}the lazy dog.`]);
  });

  it("[P10] one that was thought to take it and refuses is asked once more, by a message", async () => {
    const model = script([...words("Hel"), hang], [httpError(400, "no prefill")], says("lo"));
    const chat = await open(speaking(model));
    const turn = await chat.submit("u1");
    await chat.said("Hel");
    await chat.restart();
    expect(await chat.ended(turn)).toMatchObject({ outcome: "completed" });
    expect(model.calls.map(({ prompt }) => asked(prompt).at(-1))).toEqual([
      "user: hi",
      "assistant: Hel",
      `user: ${askForRest}`,
    ]);
    expect(await chat.texts()).toEqual(["hi", "Hello"]);
  });
});

/** A class whose hook is asked, and whose model breaks off at first. */
function asking(
  hook: (context: ChatRecoveryContext) => unknown,
  model = script([...words("Hel"), hang], says("lo")),
): AgentClass<Think> {
  return class extends speaking(model) {
    protected override onChatRecovery(context: ChatRecoveryContext): Promise<ChatRecoveryOptions> {
      return hook(context) as Promise<ChatRecoveryOptions>;
    }
  };
}

describe("onChatRecovery", () => {
  it("[H5] is asked once per interruption, after the attempt is counted, with its whole context", async () => {
    const contexts: ChatRecoveryContext[] = [];
    const durable: unknown[] = [];
    const look = tool({ inputSchema: z.object({}), execute: async () => "seen" });
    const model = script(
      says("before"),
      calls(call("look")),
      [...words("Hel"), hang],
      [...words("lo"), hang],
      says("!"),
    );
    class A extends asking(async (context) => {
      contexts.push(context);
      const { incident } = (await chat.state()).turn!;
      durable.push("ledger" in incident ? incident.ledger.attempt : null);
      return {};
    }, model) {
      override chatRecovery = { maxAttempts: 7 };
      override getTools = (): ToolSet => ({ look });
      override beforeStep({ stepNumber }: { stepNumber: number }): void {
        this.stash({ step: stepNumber });
      }
    }
    const chat = await open(A);
    await chat.ask("u0", "first");
    const createdAt = chat.time.now();
    const { turn } = await chat.time.of(
      chat.gateway.submit("chat/a", {
        messages: [{ id: "u1", role: "user", parts: [{ type: "text", text: "hi" }] }],
        body: { lang: "de" },
      }),
    );
    await chat.said("Hel");
    await chat.restart();
    await chat.said("lo");
    await chat.restart();
    await chat.ended(turn);
    const [first, second] = contexts;
    expect(contexts.length).toBe(2);
    expect(first).toEqual({
      incidentId: `${turn}:u1`,
      recoveryRootRequestId: turn,
      requestId: turn,
      attempt: 1,
      maxAttempts: 7,
      recoveryKind: "continue",
      streamId: `${turn}/1`,
      partialText: "Hel",
      partialParts: [
        { type: "tool-look", toolCallId: "c1", state: "output-available", input: {}, output: "seen" },
        { type: "text", text: "Hel", state: "streaming" },
      ],
      recoveryData: { step: 1 },
      messages: [
        expect.objectContaining({ id: "u0" }),
        expect.objectContaining({ role: "assistant" }),
        expect.objectContaining({ id: "u1" }),
      ],
      lastBody: { lang: "de" },
      lastClientTools: undefined,
      createdAt,
    });
    // Text was gained in between: the attempt is the first again (I3).
    expect(second).toMatchObject({ attempt: 1, streamId: `${turn}/2`, partialText: "Hello", requestId: turn });
    expect(durable).toEqual([1, 1]);
  });

  it("[H5] before anything was said: a retry, without a stream and without a partial", async () => {
    const contexts: ChatRecoveryContext[] = [];
    const model = script([hang], says("ok"));
    const chat = await open(asking((context) => void contexts.push(context), model));
    const turn = await chat.submit("u1");
    await chat.time.until(() => model.calls.length === 1);
    await chat.restart();
    await chat.ended(turn);
    expect(contexts).toMatchObject([
      {
        recoveryKind: "retry",
        streamId: "",
        partialText: "",
        partialParts: [],
        recoveryData: null,
        lastBody: undefined,
      },
    ]);
  });

  it.each([
    { name: "sync", hook: () => ({ continue: false }) },
    { name: "async", hook: async () => ({ continue: false, persist: true }) },
  ])("[H5] { continue: false } ends the turn visibly, with the partial kept: $name", async ({ hook }) => {
    const chat = await open(asking(hook));
    const turn = await chat.submit("u1");
    await chat.said("Hel");
    await chat.restart();
    const error = "The assistant was interrupted and could not recover. Please try again.";
    expect(await chat.ended(turn)).toEqual({
      turn,
      messageId: "msg_1",
      outcome: "sealed",
      reason: "continue_disabled",
      error,
    });
    expect(await chat.texts()).toEqual(["hi", "Hel"]);
    expect((await chat.log(turn)).at(-1)).toEqual({ type: "error", errorText: error });
  });

  it.each([
    { name: "throws", hook: () => Promise.reject(new Error("no")), waitMs: 0 },
    {
      name: "throws at once",
      hook: (): never => {
        throw new Error("no");
      },
      waitMs: 0,
    },
    { name: "gives no answer in time", hook: () => new Promise(() => {}), waitMs: 30_000 },
    { name: "answers nothing", hook: () => undefined, waitMs: 0 },
  ])("[H5][H2] one that $name decides nothing: the turn goes on", async ({ hook, waitMs }) => {
    const chat = await open(asking(hook));
    const turn = await chat.submit("u1");
    await chat.said("Hel");
    await chat.restart();
    await chat.time.settle();
    if (waitMs > 0) {
      await chat.time.advance(waitMs - 1);
      expect((await chat.state()).turn).not.toBeNull();
      await chat.time.advance(1);
    }
    expect(await chat.ended(turn)).toMatchObject({ outcome: "completed" });
    expect(await chat.texts()).toEqual(["hi", "Hello"]);
  });

  it("[H5][I5] a hook that kills its process each time is paid for, and the turn is given up", async () => {
    const attempts: number[] = [];
    class A extends asking(({ attempt }) => new Promise(() => attempts.push(attempt))) {
      override chatRecovery = { maxAttempts: 3 };
    }
    const chat = await open(A);
    const turn = await chat.submit("u1");
    await chat.said("Hel");
    for (let death = 1; death <= 3; death++) {
      await chat.restart();
      await chat.time.until(() => attempts.length === death);
    }
    await chat.restart();
    expect(await chat.ended(turn)).toMatchObject({ outcome: "sealed", reason: "max_attempts_exceeded" });
    expect(attempts).toEqual([1, 2, 3]);
  });

  it("[H7][I4] a busy provider is waited for, as long as it asks for; nobody is asked, and no attempt spent", async () => {
    const contexts: ChatRecoveryContext[] = [];
    const model = script(
      [httpError(429, "slow down", { "retry-after": "40" })],
      [httpError(429, "slow down")],
      says("ok"),
    );
    const chat = await open(asking((context) => void contexts.push(context), model));
    const turn = await chat.submit("u1");
    await chat.time.advance(39_900);
    expect([model.calls.length, (await chat.gateway.status("chat/a")).incident]).toMatchObject([
      1,
      { attempt: 0, cause: "busy" },
    ]);
    await chat.time.advance(200);
    expect(model.calls.length).toBe(2);
    await chat.time.advance(60_000);
    expect(await chat.ended(turn)).toMatchObject({ outcome: "completed" });
    expect([model.calls.length, contexts]).toEqual([3, []]);
  });
});

function limited(
  chatRecovery: ChatRecoveryConfig,
  ...replies: Reply[]
): { Class: AgentClass<Think>; model: ReturnType<typeof script> } {
  const model = script(...replies);
  class A extends speaking(model) {
    override chatRecovery = chatRecovery;
  }
  return { Class: A, model };
}

/** An answer that breaks off before it says anything. */
const nothing: Reply = [{ type: "stream-start", warnings: [] }, new TypeError("terminated")];
const reset = new TypeError("terminated");

describe("giving up", () => {
  it("[I5][I7] after its attempts: sealed, with the message as the last chunk and not in the conversation, and the partial kept", async () => {
    const terminalMessage = "Sorry, I lost my thread.";
    const { Class, model } = limited(
      { maxAttempts: 3, terminalMessage },
      [...words("Hel"), reset],
      nothing,
      nothing,
      nothing,
      says("ok"),
    );
    const chat = await open(Class);
    const turn = await chat.submit("u1");
    // Gained text: the first attempt again, at once. Then 500 ms and 1 000 ms, without jitter here.
    await chat.time.settle();
    expect(model.calls.length).toBe(2);
    await chat.time.advance(499);
    expect(model.calls.length).toBe(2);
    await chat.time.advance(1);
    expect(model.calls.length).toBe(3);
    await chat.time.advance(1_000);
    expect(await chat.ended(turn)).toMatchObject({
      outcome: "sealed",
      reason: "max_attempts_exceeded",
      error: terminalMessage,
    });
    expect(model.calls.length).toBe(4);
    expect((await chat.log(turn)).at(-1)).toEqual({ type: "error", errorText: terminalMessage });
    expect(JSON.stringify(await chat.messages())).not.toContain(terminalMessage);
    expect(textIn((await chat.messages())[1]!.parts)).toBe("Hel");
    expect(await chat.ask("u2")).toMatchObject({ status: "completed" });
    expect(asked(model.calls.at(-1)!.prompt)).toEqual(["user: hi", "assistant: Hel", "user: hi"]);
  });

  it("[I5][I4] a provider that stays busy is given up by the clock", async () => {
    const { Class, model } = limited({ noProgressTimeoutMs: 60_000 }, [httpError(503, "overloaded")]);
    const chat = await open(Class);
    const turn = await chat.submit("u1");
    await chat.time.advance(200_000);
    expect(await chat.gateway.turn("chat/a", turn)).toMatchObject({ outcome: "sealed", reason: "no_progress_timeout" });
    expect(model.calls.length).toBeLessThan(20);
  });

  it("[I6] the clock stands still while nobody owns the agent", async () => {
    const { Class, model } = limited({ noProgressTimeoutMs: 60_000 }, [hang], [hang], says("ok"));
    const chat = await open(Class);
    const turn = await chat.submit("u1");
    await chat.time.settle();
    await chat.restart();
    await chat.time.until(() => model.calls.length === 2);
    await chat.time.advance(50_000);
    chat.crash();
    await chat.time.advance(24 * 3_600_000);
    await chat.open();
    await chat.time.advance(1_000);
    expect(await chat.ended(turn)).toMatchObject({ outcome: "completed" });
  });

  it("[R7] twenty calls in a row that leave nothing are the last, whatever the limits say", async () => {
    const { Class, model } = limited({ maxAttempts: 1_000, noProgressTimeoutMs: 1e12, maxInterruptedAttempts: 1_000 }, [
      reset,
    ]);
    const chat = await open(Class);
    const turn = await chat.submit("u1");
    await chat.time.advance(3_600_000);
    expect(await chat.gateway.turn("chat/a", turn)).toMatchObject({
      outcome: "sealed",
      reason: "max_attempts_exceeded",
    });
    expect(model.calls.length).toBe(20);
  });

  it("[I5] work without an end is given up by its budget", async () => {
    const { Class, model } = limited({ maxRecoveryWork: 5 }, [...words("on and "), reset]);
    const chat = await open(Class);
    const turn = await chat.submit("u1");
    await chat.time.advance(600_000);
    expect(await chat.gateway.turn("chat/a", turn)).toMatchObject({
      outcome: "sealed",
      reason: "work_budget_exceeded",
    });
    expect(model.calls.length).toBeLessThan(10);
  });

  it("[I8] a call that gives nothing for an hour is cut, and the turn goes on", async () => {
    const { Class, model } = limited({}, [...words("Hel"), hang], says("lo"));
    const chat = await open(Class);
    const turn = await chat.submit("u1");
    await chat.time.advance(3_590_000);
    expect(model.calls.length).toBe(1);
    await chat.time.advance(20_000);
    expect(await chat.ended(turn)).toMatchObject({ outcome: "completed" });
    expect(await chat.texts()).toEqual(["hi", "Hello"]);
  });
});
