/** Hooks as methods and as properties; agents for code, in the types and in the running. */
import type { UIMessage } from "ai";
import { describe, expect, expectTypeOf, it } from "vitest";
import { MemoryStore } from "../../src/adapters/memory/store.ts";
import { type SaveMessagesOptions, type SaveMessagesResult, Think } from "../../src/index.ts";
import type { AgentHandle } from "../../src/node/handle.ts";
import { serve } from "../../src/node/serve.ts";
import { open, user } from "./kit.ts";
import { call, calls, hang, httpError, says, script, words } from "./model.ts";
import { Fields, Methods, Own } from "./overrides.ts";

/** One turn that is interrupted, and one that is refused: every hook is asked. */
async function everything(Class: typeof Methods | typeof Fields): Promise<string[]> {
  const model = script(calls(call("work")), [...words("Hel"), hang], says("lo"), [httpError(400, "no")]);
  const log: string[] = [];
  const chat = await open<Methods | Fields>(Class, { env: { model, log } });
  const turn = await chat.submit("u1");
  await chat.said("Hel");
  await chat.restart();
  await chat.ended(turn);
  await chat.ask("u2");
  await chat.time.settle();
  return log;
}

describe("[H4] a method and a property override", () => {
  const asked = [
    ...["onStart", "getModel", "getSystemPrompt", "getTools", "beforeTurn false", "beforeStep 0"],
    ...["beforeToolCall work", "onStepFinish 0", "beforeStep 1", "afterToolCall done"],
    ...["onStart", "onChatRecovery 1", "getModel", "getSystemPrompt", "getTools", "beforeTurn true", "beforeStep 1"],
    ...["onStepFinish 1", "onChatResponse completed"],
    ...["getModel", "getSystemPrompt", "getTools", "beforeTurn false", "beforeStep 0"],
    ...["onChatError stream", "onChatResponse error"],
  ];

  it.each([
    { name: "methods", Class: Methods },
    { name: "properties", Class: Fields },
  ])("both work, for every hook: $name", async ({ Class }) => {
    const log = await everything(Class);
    expect(log.toSorted()).toEqual(asked.toSorted());
  });

  it("a hook that is not overridden is not asked, and leaves no row; one that is, is", async () => {
    const plain = await open(Own, { env: { model: script(calls(call("work")), says("ok")), log: [] } });
    await plain.ask("u1");
    const { behaviour } = await plain.runtime.agent("chat/a");
    expect(behaviour.asks).toEqual({ recovery: false, beforeTool: false, error: false, notices: new Set() });
    expect(plain.landed.flatMap(({ outboxPut }) => outboxPut ?? [])).toEqual([]);
    for (const Class of [Methods, Fields]) {
      const chat = await open<Methods | Fields>(Class, { env: { model: script(says("ok")), log: [] } });
      const asks = (await chat.runtime.agent("chat/a")).behaviour.asks;
      expect(asks).toEqual({
        recovery: true,
        beforeTool: true,
        error: true,
        notices: new Set(["response", "step", "tool"]),
      });
    }
  });

  it("one that a superclass of the user's overrides counts, whatever the subclass does", async () => {
    class Sub extends Methods {
      override onChatResponse(...given: Parameters<Methods["onChatResponse"]>): void {
        super.onChatResponse(...given);
      }
    }
    const log: string[] = [];
    const chat = await open(Sub, { env: { model: script(says("ok")), log } });
    await chat.ask("u1");
    await chat.time.settle();
    expect(log).toContain("onStepFinish 0");
    expect(log).toContain("onChatResponse completed");
  });
});

describe("an agent for code", () => {
  const env = { model: script(says("ok")), log: [] };

  it("has the public methods of its class, each as a promise, on the instance that is loaded", async () => {
    const chat = await open(Own, { env });
    const agent = chat.agent("b");
    expect(await chat.time.of(agent.greet("you", 2))).toBe("Hello you, I am b. Hello you, I am b.");
    expect(await chat.time.of(agent.count())).toBe(0);
    expect(await chat.time.of(agent.answer("hi"))).toMatchObject({ role: "assistant", parts: [{}, { text: "ok" }] });
    expect(await chat.time.of(agent.count())).toBe(2);
    await expect(chat.time.of(agent.fail())).rejects.toThrow(RangeError);
    // An agent that is awaited, or printed, is not asked for a method of that name.
    expect(await agent).toBe(agent);
    const unknown = agent as unknown as { made(): Promise<void>; nothing(): Promise<void> };
    await expect(chat.time.of(unknown.nothing())).rejects.toThrow("Own has no method nothing()");
    await expect(chat.time.of(unknown.made())).rejects.toThrow("Own has no method made()");
  });

  it("goes on after a death of the process behind it", async () => {
    const chat = await open(Own, { env: { model: script(says("ok")), log: [] } });
    await chat.ask("u1");
    await chat.restart();
    expect(await chat.time.of(chat.agent().count())).toBe(2);
  });

  it("is typed by its class", () => {
    type Handle = AgentHandle<Own>;
    expectTypeOf<Handle["greet"]>().toEqualTypeOf<(name: string, times?: number) => Promise<string>>();
    expectTypeOf<Handle["count"]>().returns.toEqualTypeOf<Promise<number>>();
    expectTypeOf<Handle["answer"]>().returns.toEqualTypeOf<Promise<UIMessage | undefined>>();
    expectTypeOf<Handle["getMessages"]>().returns.toEqualTypeOf<Promise<UIMessage[]>>();
    expectTypeOf<Handle["saveMessages"]>().returns.toEqualTypeOf<Promise<SaveMessagesResult>>();
    expectTypeOf<Handle["saveMessages"]>().parameter(1).toEqualTypeOf<SaveMessagesOptions | undefined>();
    expectTypeOf<Handle>().not.toHaveProperty("hidden");
    expectTypeOf<Handle>().not.toHaveProperty("made");
    expectTypeOf<Handle>().not.toHaveProperty("continueLastTurn");
  });

  it("is given by its host, for a class that is served", async () => {
    const host = await serve({
      agents: { chat: Own },
      store: new MemoryStore(),
      port: null,
      env: { model: script(says("ok")), log: [] },
    });
    try {
      const agent = host.agent(Own, "a");
      expectTypeOf(agent).toEqualTypeOf<AgentHandle<Own>>();
      expect(await agent.saveMessages([user("u1") as never])).toMatchObject({ status: "completed" });
      expect(await agent.count()).toBe(2);
      // @ts-expect-error a method that is protected in its class is not there
      expect(typeof agent.hidden).toBe("function");
      expect(() => host.agent(Think, "a")).toThrow(/No agent class "Think"/);
    } finally {
      await host.close({ graceMs: 0 });
    }
    await expect(host.agent(Own, "a").count()).rejects.toMatchObject({ code: "HOST_CLOSED" });
  });
});

describe("what does not compile", () => {
  it("an override that has another shape than its hook", () => {
    class Wrong extends Think {
      // @ts-expect-error a model is not a number
      override getModel = (): number => 1;
      // @ts-expect-error an answer of a check has an action that is known
      override beforeToolCall(): { action: "perhaps" } {
        return { action: "perhaps" };
      }
      // @ts-expect-error there is no such hook
      override onChatRecovered(): void {}
      // @ts-expect-error a hook is overridden, not declared again
      onChatResponse(): void {}
    }
    expect(Wrong.prototype).toBeInstanceOf(Think);
  });
});
