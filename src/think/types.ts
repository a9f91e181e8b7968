/** The public types. Names and fields are those of Think's documents. */
import type { FinishReason, LanguageModel, LanguageModelUsage, ModelMessage, ToolChoice, ToolSet, UIMessage } from "ai";
import type { SealReason } from "../core/records.ts";

/** A turn's answer, for code that waited for it. `skipped`: there was nothing to do. */
export interface SaveMessagesResult {
  readonly requestId: string;
  readonly status: "completed" | "error" | "aborted" | "skipped";
  readonly error?: string;
}

export interface SaveMessagesOptions {
  /** When it fires the turn is stopped, durably. */
  readonly signal?: AbortSignal;
}

export type MessagesInput =
  | readonly UIMessage[]
  | ((current: UIMessage[]) => readonly UIMessage[] | Promise<readonly UIMessage[]>);

export interface AddMessagesOptions {
  /** `append` (default) leaves a known id as it is; `upsert` replaces its content. */
  readonly mode?: "append" | "upsert";
}

/** Limits of recovery. `true` and `false` both mean the defaults: recovery is always on (I1). */
export interface ChatRecoveryConfig {
  /** Recovery attempts without progress between. Default 10. */
  readonly maxAttempts?: number;
  /** Milliseconds that one attempt waits for tools, hooks or a child. Default 10 000. */
  readonly stableTimeoutMs?: number;
  /** Milliseconds without progress, counted while somebody owns the agent. Default 300 000. */
  readonly noProgressTimeoutMs?: number;
  /** Progress units that recovery may produce in one turn. Default 1 000. */
  readonly maxRecoveryWork?: number;
  /** Unclean deaths in a row with no step completed and no tool settled between. Default 5. */
  readonly maxInterruptedAttempts?: number;
  /** Attempts that may end out of memory. Default 3. */
  readonly maxOomRetries?: number;
  /** What a reader is shown when recovery is given up. It never enters the conversation. */
  readonly terminalMessage?: string;
}

export interface ChatRecoveryContext {
  readonly incidentId: string;
  /** The turn's one id: recovery never mints another. */
  readonly recoveryRootRequestId: string;
  readonly requestId: string;
  /** From 1. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** `retry`: nothing of the answer is there. `continue`: it goes on from what is. */
  readonly recoveryKind: "retry" | "continue";
  /** Empty before anything was streamed. */
  readonly streamId: string;
  readonly partialText: string;
  readonly partialParts: UIMessage["parts"];
  /** The last `stash()` of the turn, or null. */
  readonly recoveryData: unknown;
  /** The conversation before the partial. */
  readonly messages: UIMessage[];
  readonly lastBody: Record<string, unknown> | undefined;
  readonly lastClientTools: undefined;
  /** Epoch milliseconds at which the turn started. */
  readonly createdAt: number;
}

export interface ChatRecoveryOptions {
  /** Default true. Retraction of a partial is not built yet: a partial is kept whatever this says. */
  readonly persist?: boolean;
  /** Default true. False ends the turn visibly, with the partial kept. */
  readonly continue?: boolean;
}

export type ChatRecoveryReason = SealReason;

export interface TurnContext {
  readonly system: string | undefined;
  readonly messages: ModelMessage[];
  readonly tools: ToolSet;
  readonly model: LanguageModel;
  readonly continuation: boolean;
  readonly body: Record<string, unknown> | undefined;
}

/** What `beforeTurn` may change. Tools are added to those of `getTools`. */
export interface TurnConfig {
  readonly model?: LanguageModel;
  readonly system?: string;
  readonly messages?: ModelMessage[];
  readonly tools?: ToolSet;
  readonly activeTools?: string[];
  readonly toolChoice?: ToolChoice<ToolSet>;
  readonly maxSteps?: number;
  readonly providerOptions?: Record<string, Record<string, unknown>>;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly seed?: number;
  readonly stopSequences?: string[];
  readonly headers?: Record<string, string>;
}

export interface StepInfo {
  readonly finishReason: FinishReason;
  readonly usage: LanguageModelUsage | undefined;
}

export interface PrepareStepContext {
  readonly stepNumber: number;
  readonly steps: readonly StepInfo[];
  readonly model: LanguageModel;
  readonly messages: ModelMessage[];
}

/** What `beforeStep` may change, for this step only. */
export type StepConfig = Omit<TurnConfig, "maxSteps" | "tools">;

export interface ToolCallContext {
  readonly type: "tool-call";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly stepNumber: number;
}

export type ToolCallDecision =
  | { readonly action: "allow"; readonly input?: unknown }
  /** Not executed: the model is answered with the reason. */
  | { readonly action: "block"; readonly reason?: string }
  /** Not executed: the model is answered with the output. */
  | { readonly action: "substitute"; readonly output: unknown };

export type ToolCallResultContext = {
  readonly type: "tool-call";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly durationMs: number;
} & ({ readonly success: true; readonly output: unknown } | { readonly success: false; readonly error: unknown });

export interface StepContext {
  readonly requestId: string;
  readonly stepNumber: number;
  readonly text: string;
  readonly reasoningText: string;
  readonly toolCalls: readonly { readonly toolCallId: string; readonly toolName: string; readonly input: unknown }[];
  readonly finishReason: FinishReason;
  readonly usage: LanguageModelUsage | undefined;
}

export interface ChatResponseResult {
  readonly message: UIMessage;
  readonly requestId: string;
  readonly continuation: boolean;
  readonly status: "completed" | "error" | "aborted";
  readonly error?: string;
}

export interface ChatErrorContext {
  readonly requestId?: string;
  readonly stage: "parse" | "persist" | "turn" | "stream" | "recovery" | "transcript";
}
