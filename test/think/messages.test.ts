/** The methods of the public class: they are commands, and what they answer is durable. */
import { type LanguageModel, type ToolSet, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type ChatResponseResult,
  type SaveMessagesResult,
  Think,
  type ToolCallResultContext,
} from "../../src/index.ts";
import type { AgentHandle } from "../../src/node/handle.ts";
import { type Chat, Gate, open, speaking, textIn, user } from "./kit.ts";
import { asked, call, calls, hang, httpError, says, script, words } from "./model.ts";

const message = (id: string, text = "hi"): never => user(id, text) as never;

/** Opens what is protected, for code outside. */
function going(
  model: LanguageModel,
): new (
  ...given: ConstructorParameters<typeof Think>
) => Think & { goOn(body?: Record<string, unknown>): Promise<SaveMessagesResult> } {
  return class extends speaking(model) {
    goOn(body?: Record<string, unknown>): Promise<SaveMessagesResult> {
      return this.continueLastTurn(body);
    }
  };
}

describe("saveMessages", () => {
  it("runs a turn for its messages and answers with its end", async () => {
    const model = script(says("Hello"));
    const chat = await open(speaking(model));
    const result = await chat.time.of(chat.agent().saveMessages([message("u1", "one"), message("u2", "two")]));
    expect(result).toEqual({ requestId: "turn_1", status: "completed" });
    expect(await chat.texts()).toEqual(["one", "two", "Hello"]);
    expect(asked(model.calls[0]!.prompt)).toEqual(["user: one", "user: two"]);
  });

  it("a function is given the conversation once nothing runs, and is evaluated before anything is accepted", async () => {
    const gate = new Gate();
    const chat = await open(
      speaking(
        script([...words("Hel"), gate, { type: "text-delta", id: "t", delta: "lo" }, ...says().slice(-2)], says("two")),
      ),
    );
    await chat.submit("u1");
    const seen: string[][] = [];
    const answer = chat.agent().saveMessages(async (current) => {
      seen.push(current.map(({ parts }) => textIn(parts)));
      return [message(`u${current.length}`)];
    });
    await chat.time.advance(1_000);
    expect(seen).toEqual([]);
    gate.open();
    expect(await chat.time.of(answer)).toMatchObject({ status: "completed" });
    expect(seen).toEqual([["hi", "Hello"]]);
    expect((await chat.messages()).map(({ id }) => id)).toEqual(["u1", "msg_1", "u2", expect.any(String)]);
  });

  it("a function that throws rejects, and nothing is accepted", async () => {
    const chat = await open(speaking(script(says("ok"))));
    const failing = (): never => {
      throw new Error("no");
    };
    await expect(chat.time.of(chat.agent().saveMessages(failing))).rejects.toThrow("no");
    expect(await chat.gateway.status("chat/a")).toMatchObject({ status: "idle", last: null });
  });

  it.each([
    { name: "no messages", messages: [], options: {} },
    { name: "a signal that has fired", messages: [message("u1")], options: { signal: AbortSignal.abort() } },
  ])("is skipped for $name", async ({ messages, options }) => {
    const chat = await open(speaking(script(says("ok"))));
    expect(await chat.time.of(chat.agent().saveMessages(messages, options))).toEqual({
      requestId: "",
      status: "skipped",
    });
    expect(await chat.messages()).toEqual([]);
  });

  it.each([
    { name: "completed", reply: says("ok"), status: "completed" },
    { name: "failed", reply: [httpError(400, "no")], status: "error", error: "no" },
    { name: "sealed", reply: [...words("x"), new Error("cut")], status: "error", error: "Gave up." },
  ])("answers $status for a turn that $name", async ({ reply, ...expected }) => {
    class A extends speaking(script(reply)) {
      override chatRecovery = { maxAttempts: 1, maxRecoveryWork: 3, terminalMessage: "Gave up." };
    }
    const chat = await open(A);
    const answer = chat.agent().saveMessages([message("u1")]);
    await chat.time.advance(60_000);
    const { name: _, ...result } = expected;
    expect(await answer).toEqual({ requestId: "turn_1", ...result });
  });

  it("[C12] a signal that fires stops the turn, durably, and the answer is `aborted`", async () => {
    const chat = await open(speaking(script([...words("Hel"), hang])));
    const controller = new AbortController();
    const answer = chat.agent().saveMessages([message("u1")], { signal: controller.signal });
    await chat.said("Hel");
    controller.abort();
    expect(await chat.time.of(answer)).toEqual({ requestId: "turn_1", status: "aborted" });
    expect(await chat.gateway.turn("chat/a", "turn_1")).toMatchObject({ outcome: "stopped" });
    expect(await chat.texts()).toEqual(["hi", "Hel"]);
  });

  it("[T12] two at once run one after the other, each with the conversation before it", async () => {
    const model = script(says("one"), says("two"));
    const chat = await open(speaking(model));
    const answers = Promise.all([
      chat.agent().saveMessages([message("u1")]),
      chat.agent().saveMessages([message("u2")]),
    ]);
    expect((await chat.time.of(answers)).map(({ status }) => status)).toEqual(["completed", "completed"]);
    expect(asked(model.calls[1]!.prompt)).toEqual(["user: hi", "assistant: one", "user: hi"]);
  });

  it("[C3] the same message again answers for the first turn", async () => {
    const model = script(says("one"));
    const chat = await open(speaking(model));
    const first = await chat.ask("u1");
    expect(await chat.ask("u1")).toEqual(first);
    expect(model.calls.length).toBe(1);
  });
});

describe("continueLastTurn", () => {
  it("goes on in the same message, with its body; the hooks know that it is a continuation", async () => {
    const contexts: unknown[] = [];
    const responses: ChatResponseResult[] = [];
    const model = script(says("One."), says(" Two."));
    class A extends going(model) {
      override beforeTurn({ continuation, body }: { continuation: boolean; body: unknown }): void {
        contexts.push([continuation, body]);
      }
      override onChatResponse(response: ChatResponseResult): void {
        responses.push(response);
      }
    }
    const chat = await open(A);
    await chat.ask("u1");
    const result = await chat.time.of(chat.agent().goOn({ more: true }));
    await chat.time.settle();
    expect(result).toEqual({ requestId: "turn_2", status: "completed" });
    expect(await chat.messages()).toMatchObject([{ id: "u1" }, { id: "msg_1" }]);
    expect(await chat.texts()).toEqual(["hi", "One. Two."]);
    expect(contexts).toEqual([
      [false, undefined],
      [true, { more: true }],
    ]);
    expect(responses.map(({ continuation, requestId }) => [requestId, continuation])).toEqual([
      ["turn_1", false],
      ["turn_2", true],
    ]);
  });

  it.each([
    { name: "an empty conversation", prepare: async () => {} },
    {
      name: "one that ends with the user",
      prepare: (chat: Chat<Think>) => chat.time.of(chat.gateway.append("chat/a", [user("u1")], "append")),
    },
  ])("is skipped for $name, and no model is asked", async ({ prepare }) => {
    const model = script(says("ok"));
    const chat = await open(going(model));
    await prepare(chat as never);
    expect(await chat.time.of(chat.agent().goOn())).toEqual({ requestId: "", status: "skipped" });
    expect(model.calls).toEqual([]);
  });

  it("goes on with a message that was added", async () => {
    const model = script(says(" and more"));
    const chat = await open(going(model));
    const added = { id: "a1", role: "assistant" as const, parts: [{ type: "text" as const, text: "Some" }] };
    await chat.time.of(chat.agent().addMessages([message("u1"), added]));
    expect(await chat.time.of(chat.agent().goOn())).toMatchObject({ status: "completed" });
    expect(await chat.texts()).toEqual(["hi", "Some and more"]);
    expect(asked(model.calls[0]!.prompt)).toEqual(["user: hi", "assistant: Some"]);
  });
});

describe("the conversation", () => {
  it("getMessages gives all of it, whatever its length, without the turn in flight", async () => {
    const chat = await open(speaking(script([...words("Hel"), hang])));
    const many = Array.from({ length: 450 }, (_, n) => message(`m${n}`, `${n}`));
    await chat.time.of(chat.agent().addMessages(many));
    await chat.submit("u1");
    await chat.said("Hel");
    const messages = await chat.time.of(chat.agent().getMessages());
    expect(messages.length).toBe(451);
    expect(messages.map(({ id }) => id).slice(-2)).toEqual(["m449", "u1"]);
  });

  it("[T12] addMessages while a turn runs: they enter after it, and the next turn sees them", async () => {
    const gate = new Gate();
    const model = script([...words("one"), gate, ...says().slice(-2)], says("two"));
    const chat = await open(speaking(model));
    const turn = await chat.submit("u1");
    await chat.said("one");
    await chat.time.of(chat.agent().addMessages([message("m1", "by the way")]));
    expect(await chat.texts()).toEqual(["hi"]);
    gate.open();
    await chat.ended(turn);
    await chat.ask("u2");
    expect(asked(model.calls[1]!.prompt)).toEqual(
      ["user: hi", "assistant: one", "user: by the way\nhi"].flatMap((text) =>
        text.split("\n").map((line, at) => (at === 0 ? line : `user: ${line}`)),
      ),
    );
  });

  it("[C13] clearMessages in mid-turn: the waiting answer is `aborted`, and nothing is left", async () => {
    const chat = await open(speaking(script([...words("Hel"), hang], says("fresh"))));
    const answer = chat.agent().saveMessages([message("u1")]);
    await chat.said("Hel");
    await chat.time.of(chat.agent().clearMessages());
    expect(await chat.time.of(answer)).toMatchObject({ status: "aborted" });
    expect(await chat.time.of(chat.agent().getMessages())).toEqual([]);
    expect(await chat.ask("u2")).toMatchObject({ status: "completed" });
    expect(await chat.texts()).toEqual(["hi", "fresh"]);
  });
});

describe("stash", () => {
  class Stashing extends Think {
    override modelProfile = { prefill: true };
    keep(data: unknown): void {
      this.stash(data);
    }
  }

  it("[H5] the last one of the turn, from any hook or tool, is there after a crash; the next turn begins without", async () => {
    const data: unknown[] = [];
    const model = script(calls(call("work")), [...words("Hel"), hang], says("lo"), [hang], says("ok"));
    class A extends Stashing {
      override getModel = (): LanguageModel => model;
      override beforeTurn = (): void => this.keep({ from: "beforeTurn" });
      override getTools = (): ToolSet => ({
        work: tool({
          inputSchema: z.object({}),
          execute: async () => {
            this.keep({ from: "tool" });
            this.keep({ from: "tool", at: 2 });
            return 1;
          },
        }),
      });
      protected override onChatRecovery(context: { recoveryData: unknown }): void {
        data.push(context.recoveryData);
        this.keep({ from: "recovery" });
      }
    }
    const chat = await open(A);
    const turn = await chat.submit("u1");
    await chat.said("Hel");
    await chat.restart();
    await chat.ended(turn);
    expect(data).toEqual([{ from: "tool", at: 2 }]);
  });

  it("[H3] afterToolCall and onStepFinish may keep something with the turn that runs, too", async () => {
    const data: unknown[] = [];
    const model = script(calls(call("work")), [...words("Hel"), hang], says("lo"));
    class A extends Stashing {
      override getModel = (): LanguageModel => model;
      override getTools = (): ToolSet => ({ work: tool({ inputSchema: z.object({}), execute: async () => 1 }) });
      override afterToolCall({ toolCallId }: ToolCallResultContext): void {
        this.keep({ done: toolCallId });
      }
      protected override onChatRecovery(context: { recoveryData: unknown }): void {
        data.push(context.recoveryData);
      }
    }
    const chat = await open(A);
    const turn = await chat.submit("u1");
    await chat.said("Hel");
    await chat.restart();
    await chat.ended(turn);
    expect(data).toEqual([{ done: "c1" }]);
  });

  it.each([
    { name: "outside of a turn", data: 1, error: /running turn/ },
    { name: "what is too large", data: "x".repeat(20_000), error: /16384/ },
    { name: "what is not JSON", data: 1n, error: /BigInt/ },
  ])("throws for $name", async ({ name, data, error }) => {
    const errors: string[] = [];
    class A extends Stashing {
      override getModel = (): LanguageModel => script(says("ok"));
      override beforeTurn = (): void => {
        if (name === "outside of a turn") return;
        try {
          this.keep(data);
        } catch (thrown) {
          errors.push((thrown as Error).message);
        }
      };
    }
    const chat = await open(A);
    await chat.ask("u1");
    if (name === "outside of a turn")
      await chat
        .agent()
        .keep(data)
        .catch((thrown: Error) => errors.push(thrown.message));
    expect(errors).toEqual([expect.stringMatching(error)]);
  });
});

describe("[H6] what would wait for the turn that it runs in throws REENTRANT_WAIT", () => {
  type Inside = (think: Think & { goOn(): Promise<unknown> }) => Promise<unknown>;
  const waits: Record<string, Inside> = {
    saveMessages: (think) => think.saveMessages([message("inner")]),
    "saveMessages with a function": (think) => think.saveMessages(() => [message("inner")]),
    continueLastTurn: (think) => think.goOn(),
  };

  /** A class that calls `inside` in one of its places, once. */
  function calling(
    place: string,
    inside: Inside,
  ): {
    Class: new (...given: ConstructorParameters<typeof Think>) => Think & { goOn(): Promise<unknown> };
    told: unknown[];
  } {
    const told: unknown[] = [];
    let called = false;
    const refusing = place === "onChatError";
    const model = refusing
      ? script([httpError(400, "no")])
      : script(calls(call("work")), ...(place === "onChatRecovery" ? [[hang] as const] : []), says("done"));
    class A extends going(model) {
      async #here(name: string): Promise<void> {
        if (name !== place || called) return;
        called = true;
        told.push(
          await inside(this).then(
            (value) => ["answered", value],
            (error) => error.code ?? error,
          ),
        );
      }
      override async getModel(): Promise<LanguageModel> {
        await this.#here("getModel");
        return model;
      }
      override async getTools(): Promise<ToolSet> {
        await this.#here("getTools");
        return { work: tool({ inputSchema: z.object({}), execute: () => this.#here("a tool") }) };
      }
      override beforeTurn = (): Promise<void> => this.#here("beforeTurn");
      override beforeStep = (): Promise<void> => this.#here("beforeStep");
      override beforeToolCall = (): Promise<void> => this.#here("beforeToolCall");
      override afterToolCall = (): Promise<void> => this.#here("afterToolCall");
      override onStepFinish = (): Promise<void> => this.#here("onStepFinish");
      override onChatError = (error: unknown): Promise<unknown> => this.#here("onChatError").then(() => error);
      override onChatRecovery = (): Promise<void> => this.#here("onChatRecovery");
      override onChatResponse = (): Promise<void> => this.#here("onChatResponse");
    }
    return { Class: A, told };
  }

  const places = [
    "getModel",
    "getTools",
    "beforeTurn",
    "beforeStep",
    "beforeToolCall",
    "a tool",
    "onChatError",
    "onChatRecovery",
  ];

  it.each(places.flatMap((place) => Object.keys(waits).map((wait) => ({ place, wait }))))(
    "$wait from $place",
    async ({ place, wait }) => {
      const { Class, told } = calling(place, waits[wait]!);
      const chat = await open(Class);
      const turn = await chat.submit("u1");
      if (place === "onChatRecovery") {
        await chat.time.settle();
        await chat.restart();
      }
      expect(await chat.ended(turn)).toMatchObject({ outcome: place === "onChatError" ? "failed" : "completed" });
      expect(told).toEqual(["REENTRANT_WAIT"]);
      expect((await chat.messages()).map(({ id }) => id)).not.toContain("inner");
    },
  );

  it.each(["afterToolCall", "onStepFinish"])("saveMessages from %s, while its turn runs", async (place) => {
    const { Class, told } = calling(place, waits["saveMessages"]!);
    const chat = await open(Class);
    await chat.ask("u1");
    await chat.time.advance(100);
    expect(told).toEqual(["REENTRANT_WAIT"]);
  });

  it("not from onChatResponse: its turn has ended", async () => {
    const { Class, told } = calling("onChatResponse", waits["saveMessages"]!);
    const chat = await open(Class);
    await chat.ask("u1");
    await chat.time.until(() => told.length > 0);
    expect(told).toEqual([["answered", { requestId: expect.any(String), status: "completed" }]]);
    expect((await chat.messages()).map(({ id }) => id)).toContain("inner");
  });

  it("not from a promise that outlives its turn, nor for another agent", async () => {
    const told: unknown[] = [];
    const gate = new Gate();
    const others: Promise<unknown>[] = [];
    const { Class } = calling("a tool", async (think) => {
      void gate.opened
        .then(() => think.saveMessages([message("inner")]))
        .then(
          (value) => told.push(value.status),
          (error) => told.push(error.code),
        );
      others.push((chat.agent("b") as AgentHandle<Think>).saveMessages([message("u2")]));
    });
    const chat = await open(Class);
    await chat.ask("u1");
    gate.open();
    await chat.time.until(() => told.length > 0);
    expect(told).toEqual(["completed"]);
    expect(await chat.time.of(Promise.all(others))).toMatchObject([{ status: "completed" }]);
  });

  it("addMessages and a read are allowed inside", async () => {
    const { Class, told } = calling("a tool", async (think) => {
      await think.addMessages([message("m1", "noted")]);
      return (await think.getMessages()).length;
    });
    const chat = await open(Class);
    await chat.ask("u1");
    expect(told).toEqual([["answered", 1]]);
    expect(await chat.texts()).toEqual(["hi", "done", "noted"]);
  });
});
