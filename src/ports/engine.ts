/**
 * Engine: the model SDK behind the public class. The class asks users' hooks for SDK values and hands them here
 * unseen; the adapter turns them into steps that the runtime can run.
 */
import type { ModelProfile } from "../core/profile.ts";
import type { UiMessage } from "../core/transcript.ts";
import type { PreparedStep } from "./behaviour.ts";

export interface Engine {
  /** Who a model is, and what it accepts. `model`: a language model of the SDK, or its id. */
  describe(model: unknown): { readonly origin: string; readonly profile: ModelProfile };
  /** UI messages as the SDK's model messages, each tool's `toModelOutput` applied. */
  modelMessages(messages: readonly UiMessage[], tools: Readonly<Record<string, unknown>>): Promise<readonly unknown[]>;
  prepare(input: EngineStep): Promise<PreparedStep>;
}

/** The SDK values of one step, as the hooks gave them. */
export interface EngineStep {
  readonly model: unknown;
  /** Replaces what `describe` says of the model. */
  readonly profile?: ModelProfile;
  readonly system?: unknown;
  /** The SDK's model messages. */
  readonly messages: readonly unknown[];
  readonly tools: Readonly<Record<string, unknown>>;
  readonly activeTools?: readonly string[];
  readonly toolChoice?: unknown;
  readonly maxSteps: number;
  /** maxOutputTokens, temperature, topP, topK, presencePenalty, frequencyPenalty, stopSequences, seed, headers, providerOptions, reasoning. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** The SDK's `repairToolCall` and `refineToolInput`. */
  readonly repairToolCall?: unknown;
  readonly refineToolInput?: unknown;
  /** Given to tools as their `context`. */
  readonly toolsContext?: Readonly<Record<string, unknown>>;
}
