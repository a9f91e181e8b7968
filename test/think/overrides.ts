/**
 * The ways in which users write a class. That this file compiles, with the repository's own strictness, is half of the
 * test; the other half runs the classes.
 */
import { type LanguageModel, type ToolSet, tool, type UIMessage } from "ai";
import { z } from "zod";
import {
  type AgentContext,
  type ChatErrorContext,
  type ChatRecoveryContext,
  type ChatRecoveryOptions,
  type ChatResponseResult,
  type PrepareStepContext,
  type StepConfig,
  type StepContext,
  Think,
  type ToolCallContext,
  type ToolCallDecision,
  type ToolCallResultContext,
  type TurnConfig,
  type TurnContext,
} from "../../src/index.ts";
import type { Script } from "./model.ts";

export interface Env {
  readonly model: Script;
  /** The hooks that were asked, in order. */
  readonly log: string[];
}

const work = tool({ inputSchema: z.object({}), execute: async () => "done" });

/** Methods, sync and async, with `override`. */
export class Methods extends Think<Env> {
  override maxSteps = 4;
  override chatRecovery = { maxAttempts: 6, stableTimeoutMs: 10_000, terminalMessage: "Gave up." };
  override modelProfile = { prefill: true };

  override getModel(): LanguageModel {
    this.env.log.push("getModel");
    return this.env.model;
  }
  override async getSystemPrompt(): Promise<string> {
    this.env.log.push("getSystemPrompt");
    return "be brief";
  }
  override getTools(): ToolSet {
    this.env.log.push("getTools");
    return { work };
  }
  override async onStart(): Promise<void> {
    this.env.log.push("onStart");
  }
  override async beforeTurn(ctx: TurnContext): Promise<TurnConfig | undefined> {
    this.env.log.push(`beforeTurn ${ctx.continuation}`);
    return ctx.continuation ? undefined : { temperature: 0 };
  }
  override beforeStep(ctx: PrepareStepContext): StepConfig | undefined {
    this.env.log.push(`beforeStep ${ctx.stepNumber}`);
    return undefined;
  }
  override async beforeToolCall(ctx: ToolCallContext): Promise<ToolCallDecision> {
    this.env.log.push(`beforeToolCall ${ctx.toolName}`);
    return { action: "allow" };
  }
  override afterToolCall(ctx: ToolCallResultContext): void {
    this.env.log.push(`afterToolCall ${ctx.success ? String(ctx.output) : String(ctx.error)}`);
  }
  override async onStepFinish(ctx: StepContext): Promise<void> {
    this.env.log.push(`onStepFinish ${ctx.stepNumber}`);
  }
  override onChatResponse(result: ChatResponseResult): void {
    this.env.log.push(`onChatResponse ${result.status}`);
  }
  override onChatError(error: unknown, ctx?: ChatErrorContext): unknown {
    this.env.log.push(`onChatError ${ctx?.stage}`);
    return error;
  }
  protected override async onChatRecovery(ctx: ChatRecoveryContext): Promise<ChatRecoveryOptions> {
    this.env.log.push(`onChatRecovery ${ctx.attempt}`);
    return {};
  }
}

/** Class fields with arrow functions: `this` is the instance, and the types come from the base class. */
export class Fields extends Think<Env> {
  override readonly maxSteps = 4;
  override modelProfile = { prefill: true };
  override chatRecovery = true;

  override getModel = (): LanguageModel => {
    this.env.log.push("getModel");
    return this.env.model;
  };
  override getSystemPrompt = (): string => {
    this.env.log.push("getSystemPrompt");
    return "be brief";
  };
  override getTools = async (): Promise<ToolSet> => {
    this.env.log.push("getTools");
    return { work };
  };
  override onStart = (): void => {
    this.env.log.push("onStart");
  };
  override beforeTurn = (ctx: TurnContext): void => {
    this.env.log.push(`beforeTurn ${ctx.continuation}`);
  };
  override beforeStep = async (ctx: PrepareStepContext): Promise<StepConfig> => {
    this.env.log.push(`beforeStep ${ctx.stepNumber}`);
    return {};
  };
  override beforeToolCall = (ctx: ToolCallContext): ToolCallDecision => {
    this.env.log.push(`beforeToolCall ${ctx.toolName}`);
    return { action: "allow", input: ctx.input };
  };
  override afterToolCall = async (ctx: ToolCallResultContext): Promise<void> => {
    this.env.log.push(`afterToolCall ${ctx.success ? String(ctx.output) : String(ctx.error)}`);
  };
  override onStepFinish = (ctx: StepContext): void => {
    this.env.log.push(`onStepFinish ${ctx.stepNumber}`);
  };
  override onChatResponse = async (result: ChatResponseResult): Promise<void> => {
    this.env.log.push(`onChatResponse ${result.status}`);
  };
  override onChatError = async (error: unknown, ctx?: ChatErrorContext): Promise<unknown> => {
    this.env.log.push(`onChatError ${ctx?.stage}`);
    return error;
  };
  override onChatRecovery = (ctx: ChatRecoveryContext): ChatRecoveryOptions => {
    this.env.log.push(`onChatRecovery ${ctx.attempt}`);
    return {};
  };
}

/** Methods of its own, protected ones opened, and a constructor. */
export class Own extends Think<Env> {
  readonly made: string;

  constructor(ctx: AgentContext, env: Env) {
    super(ctx, env);
    this.made = `${ctx.name} made`;
  }

  override getModel(): LanguageModel {
    return this.env.model;
  }
  greet(name: string, times = 1): string {
    return Array.from({ length: times }, () => `Hello ${name}, I am ${this.name}.`).join(" ");
  }
  async count(): Promise<number> {
    return (await this.getMessages()).length;
  }
  async answer(text: string): Promise<UIMessage | undefined> {
    await this.saveMessages((current) => [{ id: `m${current.length}`, role: "user", parts: [{ type: "text", text }] }]);
    return (await this.getMessages()).at(-1);
  }
  fail(): never {
    throw new RangeError("not me");
  }
  protected hidden(): number {
    return 1;
  }
}
