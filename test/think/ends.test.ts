/** How a turn ends when nothing interrupts it: by its answer, its limits, or a provider that says no. */
import { type ToolSet, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type ChatErrorContext,
  type ChatResponseResult,
  type StepContext,
  Think,
  type ToolCallResultContext,
} from "../../src/index.ts";
import { open, speaking, types, user } from "./kit.ts";
import { asked, call, calls, finish, httpError, type Reply, says, script, words } from "./model.ts";

const runs: string[] = [];
const look = tool({
  inputSchema: z.object({}),
  execute: async (_input, { toolCallId }) => {
    runs.push(toolCallId);
    return "seen";
  },
});

const ended = (text: string, reason: Parameters<typeof finish>[0], raw?: string): Reply => [
  ...words(text),
  { type: "text-end", id: "t" },
  finish(reason, raw),
];

describe("the end of the model call", () => {
  it.each([
    { reason: "stop" as const, raw: "end_turn" },
    { reason: "length" as const, raw: "max_tokens" },
    { reason: "content-filter" as const, raw: "refusal" },
    { reason: "other" as const, raw: "pause_turn" },
  ])("[R5] $reason without calls ends the turn with that reason", async ({ reason, raw }) => {
    const model = script(ended("Hello", reason, raw));
    const chat = await open(speaking(model));
    const { requestId, status } = await chat.ask("u1");
    expect([status, model.calls.length]).toEqual(["completed", 1]);
    expect((await chat.log(requestId)).at(-1)).toEqual({ type: "finish", finishReason: reason });
    expect(await chat.texts()).toEqual(["hi", "Hello"]);
  });

  it.each([
    { reason: "length" as const, executed: ["c1"], calls: 2 },
    { reason: "stop" as const, executed: ["c1"], calls: 2 },
    { reason: "content-filter" as const, executed: [], calls: 1 },
  ])("[R5] $reason with a whole call: executed $executed", async ({ reason, executed, calls: count }) => {
    runs.length = 0;
    const model = script([...call("look"), finish(reason)], says("done"));
    class A extends speaking(model) {
      override getTools = (): ToolSet => ({ look });
    }
    const chat = await open(A);
    expect(await chat.ask("u1")).toMatchObject({ status: "completed" });
    expect([runs, model.calls.length]).toEqual([executed, count]);
    const state =
      executed.length > 0
        ? { state: "output-available", output: "seen" }
        : { state: "output-error", errorText: expect.stringMatching(/not executed/) };
    expect(await chat.part()).toMatchObject(state);
  });

  it("[T10] an answer of nothing ends the turn, and leaves no message", async () => {
    const chat = await open(
      speaking(script([{ type: "text-start", id: "t" }, { type: "text-end", id: "t" }, finish()])),
    );
    const { requestId, status } = await chat.ask("u1");
    expect(status).toBe("completed");
    expect(types(await chat.log(requestId))).toBe("start start-step finish-step finish");
    expect((await chat.messages()).length).toBe(1);
  });
});

describe("steps", () => {
  it.each([
    { name: "the class's", field: 2, config: {}, calls: 2 },
    { name: "beforeTurn's, which wins", field: 5, config: { maxSteps: 3 }, calls: 3 },
    { name: "the default", field: undefined, config: {}, calls: 10 },
  ])("[T5] a turn makes at most maxSteps of them: $name", async ({ field, config, calls: count }) => {
    const model = script(({ prompt }) => calls(call("look", {}, `c${prompt.length}`)));
    class A extends speaking(model) {
      override maxSteps = field ?? new Think({} as never, null).maxSteps;
      override getTools = (): ToolSet => ({ look });
      override beforeTurn = (): { maxSteps?: number } => config;
    }
    const chat = await open(A);
    const { requestId, status } = await chat.ask("u1");
    expect([status, model.calls.length]).toEqual(["completed", count]);
    const log = await chat.log(requestId);
    expect(log.at(-1)).toEqual({ type: "finish", finishReason: "tool-calls" });
    expect(types(log).match(/finish-step/g)?.length).toBe(count);
    // The last step's calls have their results, too.
    expect(types(log).match(/tool-output-available/g)?.length).toBe(count);
  });

  it("[T6] each step's parts are appended once, in the commit that closes it", async () => {
    const model = script(calls(call("look")), calls(call("look", {}, "c2")), says("done"));
    class A extends speaking(model) {
      override getTools = (): ToolSet => ({ look });
    }
    const chat = await open(A);
    const { requestId } = await chat.ask("u1");
    const writes = chat.landed.flatMap(({ messages }) => messages ?? []).filter(({ op }) => op === "parts");
    expect(writes).toMatchObject([{ index: 0 }, { index: 1 }, { index: 2 }]);
    expect((await chat.messages())[1]!.parts.map(({ type }) => type)).toEqual([
      "step-start",
      "tool-look",
      "step-start",
      "tool-look",
      "step-start",
      "text",
    ]);
    expect(requestId).not.toBe("");
  });

  it("[T7] a label that the message holds already is renamed: the call is another one", async () => {
    const model = script(calls(call("look", {}, "call_0")), calls(call("look", {}, "call_0")), says("done"));
    class A extends speaking(model) {
      override getTools = (): ToolSet => ({ look });
    }
    const chat = await open(A);
    runs.length = 0;
    await chat.ask("u1");
    expect(runs.length).toBe(2);
    const labels = (await chat.messages())[1]!.parts.flatMap(({ toolCallId }) =>
      toolCallId === undefined ? [] : [toolCallId],
    );
    expect(labels[0]).toBe("call_0");
    expect(new Set(labels).size).toBe(2);
    expect(new Set(runs)).toEqual(new Set(labels));
  });
});

describe("a provider that says no", () => {
  it("[F1][T1] fails the turn at once, with its text shown, and what was said is kept", async () => {
    const model = script([httpError(400, "prompt is too long")], says("ok"));
    const chat = await open(speaking(model));
    const result = await chat.ask("u1");
    expect(result).toEqual({ requestId: "turn_1", status: "error", error: "prompt is too long" });
    expect(model.calls.length).toBe(1);
    expect((await chat.log("turn_1")).at(-1)).toEqual({ type: "error", errorText: "prompt is too long" });
    expect(await chat.gateway.turn("chat/a", "turn_1")).toMatchObject({
      outcome: "failed",
      reason: "provider_refused",
    });
    expect(await chat.ask("u2")).toMatchObject({ status: "completed" });
    expect(await chat.texts()).toEqual(["hi", "hi", "ok"]);
  });

  it("[F1] a whole answer without the call that was demanded fails the turn, and is not paid for again", async () => {
    const model = script(says("I'd rather talk."));
    class A extends speaking(model) {
      override getTools = (): ToolSet => ({ look });
      override beforeTurn = (): { toolChoice: "required" } => ({ toolChoice: "required" });
    }
    const chat = await open(A);
    expect(await chat.ask("u1")).toMatchObject({ status: "error", error: expect.stringMatching(/tool choice/) });
    expect(model.calls.length).toBe(1);
    expect(await chat.texts()).toEqual(["hi", "I'd rather talk."]);
  });

  const answers: readonly { name: string; answer: (error: unknown) => unknown; shown: string; waitMs?: number }[] = [
    { name: "a text", answer: () => "Something went wrong.", shown: "Something went wrong." },
    { name: "an error", answer: () => new Error("Wrong."), shown: "Wrong." },
    { name: "later", answer: async (error) => `Later: ${(error as Error).message}`, shown: "Later: no" },
    { name: "nothing", answer: () => undefined, shown: "no" },
    { name: "a throw", answer: () => Promise.reject(new Error("oh")), shown: "no" },
    { name: "silence", answer: () => new Promise(() => {}), shown: "no", waitMs: 30_000 },
  ];

  it.each(answers)("[H8] onChatError may say what is shown: $name", async ({ answer, shown, waitMs = 0 }) => {
    const contexts: (ChatErrorContext | undefined)[] = [];
    class A extends speaking(script([httpError(400, "no")])) {
      override onChatError(error: unknown, context?: ChatErrorContext): unknown {
        contexts.push(context);
        return answer(error);
      }
    }
    const chat = await open(A);
    const turn = await chat.submit("u1");
    await chat.time.advance(waitMs);
    expect(await chat.ended(turn)).toMatchObject({ outcome: "failed", error: shown });
    expect((await chat.log(turn)).at(-1)).toEqual({ type: "error", errorText: shown });
    expect(contexts).toEqual([{ requestId: turn, stage: "stream" }]);
  });

  it("[H8] a death while it is asked: it is asked again", async () => {
    let times = 0;
    class A extends speaking(script([httpError(400, "no")])) {
      override onChatError(): unknown {
        return times++ === 0 ? new Promise(() => {}) : "Sorry.";
      }
    }
    const chat = await open(A);
    const turn = await chat.submit("u1");
    await chat.time.until(() => times > 0);
    await chat.restart();
    expect(await chat.ended(turn)).toMatchObject({ outcome: "failed", error: "Sorry." });
  });
});

describe("notice hooks", () => {
  it("[H3] afterToolCall, onStepFinish and onChatResponse are told what happened, in order", async () => {
    const told: unknown[] = [];
    const failing = tool({
      inputSchema: z.object({}),
      execute: async (): Promise<string> => Promise.reject(new Error("down")),
    });
    const model = script(
      [
        { type: "reasoning-start", id: "r" },
        { type: "reasoning-delta", id: "r", delta: "hm" },
        { type: "reasoning-end", id: "r" },
        ...words("Look: "),
        ...calls(call("look", { x: 1 })),
      ],
      calls(call("failing", {}, "c2")),
      says("done"),
    );
    class A extends speaking(model) {
      override getTools = (): ToolSet => ({ look, failing });
      override afterToolCall(result: ToolCallResultContext): void {
        told.push(result);
      }
      override async onStepFinish(step: StepContext): Promise<void> {
        told.push(step);
      }
      override onChatResponse(response: ChatResponseResult): void {
        told.push(response);
      }
    }
    const chat = await open(A);
    const { requestId } = await chat.ask("u1");
    await chat.time.settle();
    expect(told).toMatchObject([
      {
        requestId,
        stepNumber: 0,
        text: "Look: ",
        reasoningText: "hm",
        finishReason: "tool-calls",
        usage: { inputTokens: 3 },
        toolCalls: [{ toolName: "look", toolCallId: "c1" }],
      },
      {
        type: "tool-call",
        toolCallId: "c1",
        toolName: "look",
        success: true,
        output: "seen",
        durationMs: expect.any(Number),
      },
      { stepNumber: 1, text: "" },
      { toolCallId: "c2", success: false, error: "down" },
      { stepNumber: 2, text: "done", toolCalls: [], finishReason: "stop" },
      { requestId, status: "completed", continuation: false, message: { role: "assistant" } },
    ]);
    expect(told.at(-1)).toMatchObject({ message: (await chat.messages())[1] });
    expect(asked(model.calls[1]!.prompt).length).toBe(3);
  });

  it.each([
    { name: "failed", reply: [httpError(400, "no")], status: "error", error: "no" },
    { name: "sealed", reply: [...words("").slice(0, 1), new Error("reset")], status: "error", error: "Gave up." },
  ])("[H3] onChatResponse hears of a turn that $name", async ({ reply, status, error }) => {
    const told: ChatResponseResult[] = [];
    class A extends speaking(script(reply)) {
      override chatRecovery = { maxAttempts: 1, terminalMessage: "Gave up." };
      override onChatResponse(response: ChatResponseResult): void {
        told.push(response);
      }
    }
    const chat = await open(A);
    const answer = chat.agent().saveMessages([user("u1")] as never);
    await chat.time.advance(60_000);
    expect(await answer).toMatchObject({ status, error });
    expect(told).toMatchObject([{ status, error, message: { parts: [] } }]);
  });
});
