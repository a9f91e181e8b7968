/** The agent of the kill campaign: a tool of each kind of recovery, and points inside of them and of the model. */
import { setTimeout as sleep } from "node:timers/promises";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { type LanguageModel, type ToolSet, wrapLanguageModel } from "ai";
import { z } from "zod";
import { type DurableExecuteOptions, durableTool } from "../../../src/adapters/ai-sdk/index.ts";
import type { AgentClass } from "../../../src/node/agents.ts";
import { Think } from "../../../src/think/think.ts";
import type { ChatResponseResult } from "../../../src/think/types.ts";
import type { Bomb } from "./bomb.ts";
import { hear, leave, marks, type ToolName } from "./effects.ts";
import type { Plan } from "./plan.ts";

export interface Env {
  readonly folder: string;
  readonly provider: string;
  readonly conversation: string;
  /** Which process of the run, from 0. */
  readonly process: number;
  readonly bomb: Bomb;
}

export function agentClass({ hooks, prefill }: Pick<Plan, "hooks" | "prefill">): AgentClass {
  const made = class KillAgent extends TestAgent {
    override modelProfile = { prefill };
  };
  const { prototype } = made as unknown as { prototype: Record<string, unknown> };
  if (hooks.recovery) prototype["onChatRecovery"] = () => ({});
  if (hooks.gate) prototype["beforeToolCall"] = () => ({ action: "allow" });
  if (hooks.notices) {
    prototype["onChatResponse"] = function (this: TestAgent, { requestId, status }: ChatResponseResult) {
      hear(this.env.folder, { turn: requestId, status, process: this.env.process });
    };
  }
  return made;
}

class TestAgent extends Think<Env> {
  override getModel(): LanguageModel {
    return modelOf(this.env);
  }
  override getSystemPrompt(): string {
    // The provider's dice depend on the messages: each run has its own.
    return `You are the agent of ${this.env.conversation}.`;
  }
  override getTools(): ToolSet {
    return toolsOf(this.env);
  }
}

function modelOf({ provider, conversation, bomb }: Env): LanguageModel {
  const scripted = createOpenAICompatible({
    name: "scripted",
    baseURL: provider,
    headers: { "x-conversation": conversation },
    includeUsage: true,
  });
  return wrapLanguageModel({
    model: scripted.chatModel("scripted-1"),
    middleware: {
      specificationVersion: "v4",
      async wrapStream({ doStream }) {
        const answer = doStream();
        // The provider takes at least 12 ms to its first byte.
        if (bomb.counts("request-sent", "after")) setTimeout(() => bomb.explode(), 6);
        const { stream, ...rest } = await answer;
        return { ...rest, stream: stream.pipeThrough(atFinish(bomb)) };
      },
    },
  });
}

/** `finish` before: it has come from the provider, and nothing is made of it yet. */
function atFinish<T extends { type: string }>(bomb: Bomb): TransformStream<T, T> {
  return new TransformStream<T, T>({
    transform(part, controller) {
      if (part.type === "finish" && bomb.counts("finish", "before")) bomb.explode();
      controller.enqueue(part);
    },
  });
}

const note = z.object({ note: z.string() });

function toolsOf(env: Env): ToolSet {
  const run = (tool: ToolName) => (input: { note: string }, options: DurableExecuteOptions) =>
    effect(env, tool, input, options);
  return {
    report: durableTool({ description: "Books an entry.", inputSchema: note, execute: run("report") }),
    retry: durableTool({
      description: "Tells the depot.",
      inputSchema: note,
      recovery: "retry",
      execute: run("retry"),
    }),
    reconcile: durableTool({
      description: "Places an order.",
      inputSchema: note,
      recovery: { reconcile: ({ idempotencyKey }) => found(env, idempotencyKey) },
      execute: run("reconcile"),
    }),
    lookup: durableTool({
      description: "Looks a thing up. Pure, and slow.",
      inputSchema: z.object({ key: z.string(), ms: z.number() }),
      recovery: "retry",
      execute: async ({ key, ms }, options) => {
        markOf(env, "lookup", key, options)("start");
        await sleep(ms);
        return { key, value: `value of ${key}` };
      },
    }),
  } as ToolSet;
}

type Told = Pick<DurableExecuteOptions, "idempotencyKey" | "run">;

function markOf(env: Env, tool: ToolName, input: string, { idempotencyKey: key, run }: Told) {
  return (what: "start" | "effect"): void =>
    leave(env.folder, { what, tool, key, run, input, process: env.process, at: Date.now() });
}

async function effect(env: Env, tool: ToolName, input: { note: string }, options: Told): Promise<{ done: string }> {
  const mark = markOf(env, tool, input.note, options);
  mark("start");
  await sleep(3);
  mark("effect");
  if (env.bomb.counts("effect-done", "before")) env.bomb.explode();
  const later = env.bomb.counts("effect-done", "after");
  await sleep(later ? 12 : 4);
  if (later) env.bomb.explode();
  return { done: input.note };
}

/** What a `reconcile` tool does: asks the world whether the order is there. */
function found({ folder }: Env, key: string) {
  const mark = marks(folder).find((one) => one.what === "effect" && one.key === key);
  return mark ? ({ outcome: "output", output: { done: mark.input } } as const) : ({ outcome: "absent" } as const);
}
