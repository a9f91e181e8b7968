/** Value hooks through the real engine: what each answers reaches the model, and is asked when it should be. */
import { type LanguageModel, type ModelMessage, type ToolSet, tool } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type PrepareStepContext, Think, type TurnConfig, type TurnContext } from "../../src/index.ts";
import { open, speaking, stores, user } from "./kit.ts";
import { asked, call, calls, hang, says, script, words } from "./model.ts";

const look = tool({
  description: "Looks",
  inputSchema: z.object({ q: z.string() }),
  execute: async ({ q }) => `seen ${q}`,
});

describe.each(stores)("value hooks on $name", ({ parts }) => {
  let over = async (): Promise<void> => {};
  afterEach(() => over());

  const place = (): ReturnType<typeof parts>["parts"] => {
    const place = parts();
    over = place.done;
    return place.parts;
  };

  it("[H1] the model, the prompt and the tools are asked once per attempt, and may differ in the next", async () => {
    const log: string[] = [];
    const models = [script(calls(call("look", { q: "x" })), [...words("Hel"), hang]), script(says("lo"))];
    let attempt = 0;
    class A extends Think {
      override modelProfile = { prefill: true };
      override async getModel(): Promise<LanguageModel> {
        log.push("model");
        return models[attempt]!;
      }
      override async getSystemPrompt(): Promise<string> {
        log.push("prompt");
        return `prompt ${attempt}`;
      }
      override async getTools(): Promise<ToolSet> {
        log.push("tools");
        return attempt === 0 ? { look } : {};
      }
      override beforeTurn({ continuation, system, body }: TurnContext): void {
        log.push(`turn ${continuation} ${system} ${JSON.stringify(body)}`);
      }
      override beforeStep({ stepNumber }: PrepareStepContext): void {
        log.push(`step ${stepNumber}`);
      }
    }
    const chat = await open(A, place());
    const { turn } = await chat.time.of(
      chat.gateway.submit("chat/a", {
        messages: [user("u1")],
        body: { lang: "de" },
      }),
    );
    await chat.said("Hel");
    attempt = 1;
    await chat.restart();
    expect(await chat.ended(turn)).toMatchObject({ outcome: "completed" });
    const [hooks, body] = [["model", "prompt", "tools"], '{"lang":"de"}'];
    expect(log).toEqual([
      ...hooks,
      `turn false prompt 0 ${body}`,
      "step 0",
      "step 1",
      ...hooks,
      `turn true prompt 1 ${body}`,
      "step 1",
    ]);
    expect(models.map(({ calls }) => calls.map(({ prompt }) => asked(prompt)[0]))).toEqual([
      ["system: prompt 0", "system: prompt 0"],
      ["system: prompt 1"],
    ]);
    expect(models.map(({ calls }) => calls.at(-1)?.tools?.map(({ name }) => name))).toEqual([["look"], undefined]);
    expect(await chat.texts()).toEqual(["hi", "Hello"]);
  });
});

const other = script(says("from the other"));

/** Every field of a TurnConfig, and what the model is asked because of it. */
const fields: Record<keyof TurnConfig, { config: TurnConfig; sees: Record<string, unknown> }> = {
  model: { config: { model: other }, sees: {} },
  system: {
    config: { system: "Be brief." },
    sees: { prompt: [{ role: "system", content: "Be brief." }, expect.anything()] },
  },
  messages: {
    config: { messages: [{ role: "user", content: "something else" }] },
    sees: {
      prompt: [
        { role: "system", content: "own" },
        expect.objectContaining({ content: [expect.objectContaining({ text: "something else" })] }),
      ],
    },
  },
  tools: {
    config: { tools: { more: look } },
    sees: { tools: [expect.objectContaining({ name: "look" }), expect.objectContaining({ name: "more" })] },
  },
  activeTools: { config: { activeTools: [] }, sees: { tools: undefined } },
  toolChoice: { config: { toolChoice: "required", maxSteps: 1 }, sees: { toolChoice: { type: "required" } } },
  maxSteps: { config: { maxSteps: 1 }, sees: {} },
  providerOptions: {
    config: { providerOptions: { mock: { effort: "high" } } },
    sees: { providerOptions: { mock: { effort: "high" } } },
  },
  maxOutputTokens: { config: { maxOutputTokens: 77 }, sees: { maxOutputTokens: 77 } },
  temperature: { config: { temperature: 0.3 }, sees: { temperature: 0.3 } },
  topP: { config: { topP: 0.4 }, sees: { topP: 0.4 } },
  topK: { config: { topK: 5 }, sees: { topK: 5 } },
  seed: { config: { seed: 6 }, sees: { seed: 6 } },
  stopSequences: { config: { stopSequences: ["END"] }, sees: { stopSequences: ["END"] } },
  headers: {
    config: { headers: { "x-tenant": "t" } },
    sees: { headers: expect.objectContaining({ "x-tenant": "t" }) },
  },
};

function configured(
  hook: "beforeTurn" | "beforeStep",
  config: TurnConfig,
): { Class: new (...given: ConstructorParameters<typeof Think>) => Think; model: ReturnType<typeof script> } {
  const model = script(calls(call("look", { q: "x" })), says("done"));
  class A extends Think {
    override getModel = (): LanguageModel => model;
    override getSystemPrompt = (): string => "own";
    override getTools = (): ToolSet => ({ look });
    override beforeTurn = (): TurnConfig => (hook === "beforeTurn" ? config : {});
    override beforeStep = async ({ stepNumber }: PrepareStepContext): Promise<TurnConfig> =>
      hook === "beforeStep" && stepNumber === 0 ? config : {};
  }
  return { Class: A, model };
}

describe("[H1] beforeTurn may set", () => {
  it.each(Object.entries(fields))("%s", async (name, { config, sees }) => {
    const { Class, model } = configured("beforeTurn", config);
    const chat = await open(Class);
    expect(await chat.ask("u1")).toMatchObject({ status: "completed" });
    if (name === "model") {
      expect([model.calls.length, await chat.texts()]).toEqual([0, ["hi", "from the other"]]);
      return;
    }
    expect(model.calls.length).toBe(config.maxSteps ?? 2);
    for (const [at, seen] of model.calls.entries()) {
      if (at === 0 || name !== "messages") expect(pick(seen, sees, at)).toMatchObject(at === 0 ? sees : rest(sees));
    }
  });

  it("messages once: what later steps add comes behind them", async () => {
    const { Class, model } = configured("beforeTurn", fields.messages.config);
    const chat = await open(Class);
    await chat.ask("u1");
    expect(asked(model.calls[1]!.prompt)).toEqual([
      "system: own",
      "user: something else",
      'assistant: look({"q":"x"})',
      'tool: look="seen x"',
    ]);
  });
});

describe("[H1] beforeStep may set, for its own step", () => {
  const names = Object.keys(fields).filter(
    (name) => !["model", "maxSteps", "tools"].includes(name),
  ) as (keyof TurnConfig)[];

  it.each(names)("%s", async (name) => {
    const { config, sees } = fields[name];
    const { Class, model } = configured("beforeStep", config);
    const chat = await open(Class);
    expect(await chat.ask("u1")).toMatchObject({ status: "completed" });
    expect(pick(model.calls[0]!, sees, 0)).toMatchObject(sees);
    expect(model.calls.length).toBe(2);
    expect(pick(model.calls[1]!, sees, 0)).not.toMatchObject(sees);
  });

  it("its model", async () => {
    const { Class, model } = configured("beforeStep", { model: other });
    const before = other.calls.length;
    const chat = await open(Class);
    await chat.ask("u1");
    expect([other.calls.length - before, model.calls.length]).toEqual([1, 0]);
    expect(await chat.texts()).toEqual(["hi", "from the other"]);
  });

  it("it is told of the steps before, of the model and of the messages", async () => {
    const seen: unknown[] = [];
    const model = script(calls(call("look", { q: "x" })), says("done"));
    class A extends Think {
      override getModel = (): LanguageModel => model;
      override getTools = (): ToolSet => ({ look });
      override beforeStep({ steps, stepNumber, messages, model }: PrepareStepContext): void {
        seen.push({ stepNumber, steps, roles: messages.map(({ role }: ModelMessage) => role), model });
      }
    }
    const chat = await open(A);
    await chat.ask("u1");
    expect(seen).toMatchObject([
      { stepNumber: 0, steps: [], roles: ["user"], model },
      {
        stepNumber: 1,
        steps: [{ finishReason: "tool-calls", usage: { inputTokens: 3 } }],
        roles: ["user", "assistant", "tool"],
        model,
      },
    ]);
  });
});

describe("[H1] another attempt in the same process", () => {
  it("asks anew", async () => {
    const models = [script([...words("Hel"), new TypeError("terminated")]), script(says("lo"))];
    let asked = 0;
    class A extends Think {
      override modelProfile = { prefill: true };
      override getModel = (): LanguageModel => models[asked++]!;
    }
    const chat = await open(A);
    expect(await chat.ask("u1")).toMatchObject({ status: "completed" });
    expect(await chat.texts()).toEqual(["hi", "Hello"]);
    expect([asked, models.map(({ calls }) => calls.length)]).toEqual([2, [1, 1]]);
  });
});

describe("value hooks that fail", () => {
  it.each(["getModel", "getSystemPrompt", "getTools", "beforeTurn", "beforeStep"] as const)(
    "[H1] %s that throws is an interruption: asked again, with the reason told of",
    async (hook) => {
      let failures = 2;
      class A extends speaking(script(says("ok"))) {}
      const given = A.prototype[hook] as (...asked: unknown[]) => unknown;
      Object.defineProperty(A.prototype, hook, {
        value(...asked: unknown[]) {
          if (failures-- > 0) throw new Error("no");
          return given.apply(this, asked);
        },
      });
      const chat = await open(A);
      const turn = await chat.submit("u1");
      await chat.time.advance(2_000);
      expect(await chat.ended(turn)).toMatchObject({ outcome: "completed" });
      expect(chat.told("chat:request:failed").length).toBe(2);
    },
  );

  it("[H1][I8] one that hangs is interrupted after a minute, and its late answer changes nothing", async () => {
    const answers: ((model: LanguageModel) => void)[] = [];
    const model = script(says("ok"));
    class A extends Think {
      override getModel(): Promise<LanguageModel> {
        return new Promise((resolve) => {
          answers.push(resolve);
          if (answers.length > 1) resolve(model);
        });
      }
    }
    const chat = await open(A);
    const answer = chat.agent().saveMessages([user("u1")] as never);
    await chat.time.advance(59_999);
    expect(answers.length).toBe(1);
    await chat.time.advance(1);
    expect(await chat.time.of(answer)).toMatchObject({ status: "completed" });
    answers[0]!(model);
    await chat.time.settle();
    expect(model.calls.length).toBe(1);
  });

  it("without a getModel the turn is given up in the end, and says so", async () => {
    class A extends Think {
      override chatRecovery = { maxAttempts: 2, terminalMessage: "No luck." };
    }
    const chat = await open(A);
    const answer = chat.agent().saveMessages([user("u1")] as never);
    await chat.time.advance(60_000);
    expect(await chat.time.of(answer)).toMatchObject({ status: "error", error: "No luck." });
  });
});

/** The fields that a case is about. */
function pick(seen: object, sees: Record<string, unknown>, _at: number): Record<string, unknown> {
  return Object.fromEntries(Object.keys(sees).map((name) => [name, (seen as Record<string, unknown>)[name]]));
}

/** Of a later step the prompt has grown. */
function rest(sees: Record<string, unknown>): Record<string, unknown> {
  const { prompt: _, ...others } = sees;
  return others;
}
