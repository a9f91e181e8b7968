/**
 * Think: the public class. A thin face: its hooks are asked by the behaviour beside it, its methods are commands.
 *
 * Hooks are methods here, so that a subclass may override each as a method or as a property.
 */
import type { LanguageModel, ToolSet, UIMessage } from "ai";
import { PerdureError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import { limits } from "../core/limits.ts";
import type { ModelProfile } from "../core/profile.ts";
import { type UiMessage, uiMessage } from "../core/transcript.ts";
import type { TurnEnd } from "../ports/gateway.ts";
import type { RuntimeGateway } from "../runtime/gateway.ts";
import { insideTurn, refuseInside } from "./inside.ts";
import type {
  AddMessagesOptions,
  ChatErrorContext,
  ChatRecoveryConfig,
  ChatRecoveryContext,
  ChatRecoveryOptions,
  ChatResponseResult,
  MessagesInput,
  PrepareStepContext,
  SaveMessagesOptions,
  SaveMessagesResult,
  StepConfig,
  StepContext,
  ToolCallContext,
  ToolCallDecision,
  ToolCallResultContext,
  TurnConfig,
  TurnContext,
} from "./types.ts";

/** What the host gives an agent. Opaque to users: pass it on to `super`. */
export interface AgentContext {
  /** `<class>/<name>`. */
  readonly key: string;
  readonly name: string;
  readonly gateway: RuntimeGateway;
  stash(turn: string, data: unknown): void;
}

// biome-ignore lint/suspicious/noConfusingVoidType: a hook may simply not return.
export type Maybe<T> = T | void | Promise<T | void>;

export class Think<Env = unknown> {
  protected readonly ctx: AgentContext;
  readonly env: Env;
  /** The agent's name: the `:id` of its routes. */
  readonly name: string;

  /** Model calls that one turn may make. */
  maxSteps: number = limits.stepsMax;
  /** Recovery is always on; an object sets its limits. */
  chatRecovery: boolean | ChatRecoveryConfig = true;
  /** What the model accepts, where its name does not tell: `{ prefill: true }` for one that continues a trailing assistant text. */
  modelProfile?: ModelProfile;

  constructor(ctx: AgentContext, env: Env) {
    this.ctx = ctx;
    this.env = env;
    this.name = ctx.name;
  }

  // Value hooks: asked again at every attempt (H1).

  getModel(): LanguageModel | Promise<LanguageModel> {
    throw new PerdureError({
      code: "MODEL_NOT_CONFIGURED",
      message: `${this.constructor.name} has no getModel().`,
      next: "The turn is tried again until its recovery is exhausted. Override getModel() and return a model of the AI SDK.",
    });
  }
  getSystemPrompt(): string | undefined | Promise<string | undefined> {
    return undefined;
  }
  getTools(): ToolSet | Promise<ToolSet> {
    return {};
  }
  beforeTurn(_ctx: TurnContext): Maybe<TurnConfig> {}
  beforeStep(_ctx: PrepareStepContext): Maybe<StepConfig> {}
  /** Once per load of the agent, before anything else. A throw degrades, and does not keep the agent from answering. */
  onStart(): void | Promise<void> {}

  // Decision hooks: their answer is durable before it is acted on (H2).

  beforeToolCall(_ctx: ToolCallContext): Maybe<ToolCallDecision> {}
  /** The error that the client is shown for a failed turn. */
  onChatError(error: unknown, _ctx?: ChatErrorContext): unknown {
    return error;
  }
  protected onChatRecovery(_ctx: ChatRecoveryContext): Maybe<ChatRecoveryOptions> {
    return {};
  }

  // Notice hooks: at least once, and once unless the process dies inside (H3).

  afterToolCall(_ctx: ToolCallResultContext): void | Promise<void> {}
  onStepFinish(_ctx: StepContext): void | Promise<void> {}
  onChatResponse(_result: ChatResponseResult): void | Promise<void> {}

  /**
   * Accepts messages, runs a turn for them and waits for its end. A function is given the conversation once no turn
   * runs, and is evaluated before anything is accepted. Throws REENTRANT_WAIT from inside a turn of this agent.
   */
  async saveMessages(messages: MessagesInput, options: SaveMessagesOptions = {}): Promise<SaveMessagesResult> {
    refuseInside(this.ctx.key, "saveMessages()", "Call addMessages() here, or saveMessages() from onChatResponse().");
    const given = typeof messages === "function" ? await messages(await this.#whenIdle()) : messages;
    if (given.length === 0 || options.signal?.aborted) return { requestId: "", status: "skipped" };
    const { turn } = await this.ctx.gateway.submit(this.ctx.key, {
      messages: given as unknown as readonly UiMessage[],
    });
    return this.#result(turn, options.signal);
  }

  /** Adds messages without running a turn; while one runs, after it. */
  async addMessages(messages: readonly UIMessage[], options: AddMessagesOptions = {}): Promise<void> {
    await this.ctx.gateway.append(this.ctx.key, messages as unknown as readonly UiMessage[], options.mode ?? "append");
  }

  /** Goes on with the last assistant message. `skipped` when the conversation does not end in one. */
  protected async continueLastTurn(
    body?: Record<string, unknown>,
    options: SaveMessagesOptions = {},
  ): Promise<SaveMessagesResult> {
    refuseInside(this.ctx.key, "continueLastTurn()", "Call it from onChatResponse().");
    const { turn } = await this.ctx.gateway.continue(this.ctx.key, body as JsonObject | undefined);
    return this.#result(turn, options.signal);
  }

  /** The conversation so far, oldest first, without the turn in flight. */
  async getMessages(): Promise<UIMessage[]> {
    const all: UiMessage[] = [];
    for (let after = -1; ; ) {
      const page = await this.ctx.gateway.messages(this.ctx.key, after, 200);
      all.push(...page.map(({ message }) => uiMessage(message)));
      const last = page.at(-1);
      if (!last || page.length < 200) return all as unknown as UIMessage[];
      after = last.depth;
    }
  }

  /** Stops what runs and what waits, and wipes the conversation, in one commit. */
  async clearMessages(): Promise<void> {
    await this.ctx.gateway.clear(this.ctx.key);
  }

  /** Keeps a small value with the running turn: `recoveryData` of onChatRecovery. Throws outside of one. */
  protected stash(data: unknown): void {
    const turn = insideTurn(this.ctx.key);
    if (turn === null) throw new Error("stash() is for the hooks and tools of a running turn.");
    this.ctx.stash(turn, data);
  }

  async #whenIdle(): Promise<UIMessage[]> {
    for (;;) {
      const { turn } = await this.ctx.gateway.status(this.ctx.key);
      if (!turn) return this.getMessages();
      await this.ctx.gateway.ended(this.ctx.key, turn.id);
    }
  }

  async #result(turn: string, signal?: AbortSignal): Promise<SaveMessagesResult> {
    const stop = (): void => void this.ctx.gateway.stop(this.ctx.key, turn).catch(() => {});
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted) stop();
    try {
      return resultOf(await this.ctx.gateway.ended(this.ctx.key, turn));
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }
}

export const statusNames = { completed: "completed", stopped: "aborted", failed: "error", sealed: "error" } as const;

function resultOf(end: TurnEnd): SaveMessagesResult {
  if (end.reason === "nothing_to_continue") return { requestId: "", status: "skipped" };
  const error = end.error === undefined ? {} : { error: end.error };
  return { requestId: end.turn, status: statusNames[end.outcome], ...error };
}
