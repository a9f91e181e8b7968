/** What a `Think` class means to the runtime: its hooks, asked with the values of the AI SDK. */
import type { LanguageModel, ModelMessage, ToolSet, UIMessage } from "ai";
import { errorText } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import { type RecoveryPolicy, resolvePolicy } from "../core/policy.ts";
import { isToolPart, type Part, toolName } from "../core/transcript.ts";
import type {
  Behaviour,
  NoticeContext,
  NoticeKind,
  PrepareContext,
  PreparedStep,
  RecoveryContext,
  ToolContext,
  ToolDecision,
  ToolRun,
} from "../ports/behaviour.ts";
import type { Engine } from "../ports/engine.ts";
import { runInside } from "./inside.ts";
import { type Maybe, statusNames, Think } from "./think.ts";
import type { ChatRecoveryContext, ChatRecoveryOptions, StepConfig, ToolCallDecision, TurnConfig } from "./types.ts";

/** The answers of the hooks that are asked once per attempt. */
interface Attempt {
  readonly key: string;
  readonly model: LanguageModel;
  readonly system: string | undefined;
  readonly tools: ToolSet;
  readonly config: TurnConfig;
  /** Model messages that `beforeTurn` was shown: what comes later is added to what it made of them. */
  readonly shown: number;
}

interface Protected {
  onChatRecovery(ctx: ChatRecoveryContext): Maybe<ChatRecoveryOptions>;
}

export class ThinkBehaviour implements Behaviour {
  readonly think: Think;
  readonly asks: Behaviour["asks"];
  readonly #key: string;
  readonly #engine: Engine;
  readonly #live: (turn: string) => boolean;
  #attempt: Attempt | null = null;

  constructor(key: string, think: Think, engine: Engine, live: (turn: string) => boolean) {
    this.#key = key;
    this.think = think;
    this.#engine = engine;
    this.#live = live;
    const notices: [NoticeKind, boolean][] = [
      ["response", overrides(think, "onChatResponse")],
      ["step", overrides(think, "onStepFinish")],
      ["tool", overrides(think, "afterToolCall")],
    ];
    this.asks = {
      recovery: overrides(think, "onChatRecovery"),
      beforeTool: overrides(think, "beforeToolCall"),
      error: overrides(think, "onChatError"),
      notices: new Set(notices.filter(([, asked]) => asked).map(([kind]) => kind)),
    };
  }

  policy(): RecoveryPolicy {
    return resolvePolicy(this.think.chatRecovery);
  }

  async start(): Promise<void> {
    await this.think.onStart();
  }

  prepare(context: PrepareContext): Promise<PreparedStep> {
    return this.#inside(context.turn.id, () => this.#prepare(context));
  }

  async #prepare(context: PrepareContext): Promise<PreparedStep> {
    const key = `${context.turn.id}/${context.attempt}`;
    if (this.#attempt?.key !== key) this.#attempt = await this.#askTurn(context, key);
    const { config, system, tools } = this.#attempt;
    const model = config.model ?? this.#attempt.model;
    const messages = await this.#messages(context, model, tools, this.#attempt);
    const steps = context.steps.map((step) => ({ finishReason: step.finishReason, usage: step.usage }) as never);
    const asked = await this.think.beforeStep({ stepNumber: context.step, steps, model, messages });
    const step: StepConfig = asked ?? {};
    const settings = { ...settingsOf(config), ...settingsOf(step) };
    const prepared = await this.#engine.prepare({
      model: step.model ?? model,
      ...(this.think.modelProfile ? { profile: this.think.modelProfile } : {}),
      system: step.system ?? config.system ?? system,
      messages: step.messages ?? (await this.#forModel(context, step.model, messages, tools)),
      tools,
      maxSteps: config.maxSteps ?? this.think.maxSteps,
      settings,
      ...((step.activeTools ?? config.activeTools)
        ? { activeTools: step.activeTools ?? config.activeTools ?? [] }
        : {}),
      ...((step.toolChoice ?? config.toolChoice) ? { toolChoice: step.toolChoice ?? config.toolChoice } : {}),
    });
    return this.#bound(context.turn.id, prepared);
  }

  async #askTurn(context: PrepareContext, key: string): Promise<Attempt> {
    const [model, system, own] = await Promise.all([
      this.think.getModel(),
      this.think.getSystemPrompt(),
      this.think.getTools(),
    ]);
    const messages = await this.#messagesFor(context, model, own);
    const { continuation, turn } = context;
    const body = turn.body as Record<string, unknown> | undefined;
    const config = (await this.think.beforeTurn({ system, messages, tools: own, model, continuation, body })) ?? {};
    return { key, model, system, tools: { ...own, ...config.tools }, config, shown: messages.length };
  }

  async #messages(
    context: PrepareContext,
    model: LanguageModel,
    tools: ToolSet,
    attempt: Attempt,
  ): Promise<ModelMessage[]> {
    const messages = await this.#messagesFor(context, model, tools);
    const replaced = attempt.config.messages;
    return replaced ? [...replaced, ...messages.slice(attempt.shown)] : messages;
  }

  async #messagesFor(context: PrepareContext, model: LanguageModel, tools: ToolSet): Promise<ModelMessage[]> {
    const { origin, profile } = this.#engine.describe(model);
    const request = context.request(origin, this.think.modelProfile ?? profile);
    return [...(await this.#engine.modelMessages(request, tools))] as ModelMessage[];
  }

  /** A step on another model is sent what that model may be sent. */
  async #forModel(
    context: PrepareContext,
    model: LanguageModel | undefined,
    messages: ModelMessage[],
    tools: ToolSet,
  ): Promise<ModelMessage[]> {
    return model === undefined || this.#attempt?.config.messages ? messages : this.#messagesFor(context, model, tools);
  }

  /** Tools run inside their turn, too. */
  #bound(turn: string, step: PreparedStep): PreparedStep {
    return {
      ...step,
      tool: (name) => step.tool(name),
      call: (signal) => step.call(signal),
      execute: (call) => this.#executing(turn, step, call),
      reconcile: (call) => this.#inside(turn, () => step.reconcile(call)),
    };
  }

  async *#executing(
    turn: string,
    step: PreparedStep,
    call: ToolRun,
  ): AsyncIterable<{ final: boolean; output: unknown }> {
    const outputs = this.#inside(turn, () => step.execute(call)[Symbol.asyncIterator]());
    for (;;) {
      const next = await this.#inside(turn, () => outputs.next());
      if (next.done) return;
      yield next.value;
    }
  }

  recover(context: RecoveryContext): Promise<ChatRecoveryOptions> {
    const { turn, recoveryData, lastBody, partialParts, messages, ...rest } = context;
    const asked: ChatRecoveryContext = {
      ...rest,
      recoveryRootRequestId: turn.id,
      requestId: turn.id,
      recoveryData,
      partialParts: partialParts as unknown as UIMessage["parts"],
      messages: messages as unknown as UIMessage[],
      lastBody: lastBody as Record<string, unknown> | undefined,
      lastClientTools: undefined,
    };
    return this.#inside(turn.id, async () => (await (this.think as unknown as Protected).onChatRecovery(asked)) ?? {});
  }

  beforeTool(context: ToolContext): Promise<ToolDecision> {
    const { tool, toolCallId, input, step, turn } = context;
    return this.#inside(turn, async () => {
      const asked = { type: "tool-call", toolCallId, toolName: tool, input, stepNumber: step } as const;
      return decisionOf((await this.think.beforeToolCall(asked)) ?? { action: "allow" });
    });
  }

  async mapError(
    error: unknown,
    context: { readonly turn: string; readonly stage: "turn" | "stream" },
  ): Promise<string> {
    const { turn, stage } = context;
    const shown = await this.#inside(turn, () => this.think.onChatError(error, { requestId: turn, stage }));
    return errorText(shown ?? error);
  }

  /** Those of a turn that still runs are inside it: what they keep is kept with it, and they must not wait for it. */
  async notice(context: NoticeContext): Promise<void> {
    await (context.kind === "response"
      ? this.#notice(context)
      : this.#inside(context.turn.id, () => this.#notice(context)));
  }

  async #notice(context: NoticeContext): Promise<void> {
    switch (context.kind) {
      case "response": {
        const { turn, message } = context;
        const error = turn.error === undefined ? {} : { error: turn.error };
        const status = statusNames[turn.outcome ?? "failed"];
        const continuation = turn.kind === "continue";
        return this.think.onChatResponse({
          message: message as unknown as UIMessage,
          requestId: turn.id,
          continuation,
          status,
          ...error,
        });
      }
      case "step":
        return this.think.onStepFinish({
          requestId: context.turn.id,
          stepNumber: context.step,
          text: textOf(context.parts, "text"),
          reasoningText: textOf(context.parts, "reasoning"),
          toolCalls: context.parts.filter(isToolPart).map(callOf),
          finishReason: context.summary.finishReason as never,
          usage: context.summary.usage as never,
        });
      case "tool":
        return this.think.afterToolCall({
          type: "tool-call",
          ...callOf(context.part),
          durationMs: context.durationMs,
          ...resultOf(context.part),
        });
    }
  }

  #inside<T>(turn: string, work: () => T): T {
    return runInside({ agent: this.#key, turn, live: () => this.#live(turn) }, work);
  }
}

/** What the hook said, as it can be stored. Throws for what is no answer: then the call is not executed. */
function decisionOf(answer: ToolCallDecision): ToolDecision {
  switch (answer.action) {
    case "allow":
      return answer.input === undefined ? { action: "allow" } : { action: "allow", input: json(answer.input) };
    case "block":
      return typeof answer.reason === "string" ? { action: "block", reason: answer.reason } : { action: "block" };
    case "substitute":
      return { action: "substitute", output: json(answer.output) };
    default:
      throw new TypeError("beforeToolCall() answered neither allow nor block nor substitute.");
  }
}

function json(value: unknown): Json {
  return JSON.parse(JSON.stringify(value) ?? "null") as Json;
}

/** Compared with the base class, or set as a field of the instance. */
function overrides(think: Think, hook: string): boolean {
  const own = (think as unknown as Record<string, unknown>)[hook];
  return own !== (Think.prototype as unknown as Record<string, unknown>)[hook];
}

const settingNames = [
  "providerOptions",
  "maxOutputTokens",
  "temperature",
  "topP",
  "topK",
  "seed",
  "stopSequences",
  "headers",
] as const;

function settingsOf(config: TurnConfig | StepConfig): Record<string, unknown> {
  return Object.fromEntries(
    settingNames.filter((name) => config[name] !== undefined).map((name) => [name, config[name]]),
  );
}

function textOf(parts: readonly Part[], type: "text" | "reasoning"): string {
  return parts.map((part) => (part.type === type ? String(part["text"]) : "")).join("");
}

function callOf(part: Part): { toolCallId: string; toolName: string; input: unknown } {
  return { toolCallId: String(part["toolCallId"]), toolName: toolName(part), input: part["input"] };
}

function resultOf(part: Part): { success: true; output: unknown } | { success: false; error: unknown } {
  if (part["state"] === "output-available") return { success: true, output: part["output"] };
  return { success: false, error: part["errorText"] as Json };
}
