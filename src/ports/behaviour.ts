/**
 * Behaviour: what one agent's class means to the runtime. Implemented by `Think` for users and by scripts in worlds.
 *
 *   H1. Value hooks (prepare) are asked again at every attempt and may answer differently; only a fingerprint is stored.
 *   H2. Decision hooks (recover, beforeTool, mapError, reconcile) answer with data, committed before it is acted on.
 *   H3. Notice hooks are delivered at least once, and once unless the process dies inside.
 *   H4. A hook that is not overridden is not asked, and costs nothing.
 *
 * Any of these may throw, hang or answer late: the runtime holds a deadline for each, and ignores late answers.
 */

import type { Fault } from "../core/fault.ts";
import type { Json, JsonObject } from "../core/json.ts";
import type { RecoveryPolicy } from "../core/policy.ts";
import type { ModelProfile } from "../core/profile.ts";
import type { RecoveryKind, StepSummary, TurnRow } from "../core/records.ts";
import type { Chunk, Part, UiMessage } from "../core/transcript.ts";

export type NoticeKind = "response" | "step" | "tool";

export interface Behaviour {
  /** The decision and notice hooks that are overridden. */
  readonly asks: {
    readonly recovery: boolean;
    readonly beforeTool: boolean;
    readonly error: boolean;
    readonly notices: ReadonlySet<NoticeKind>;
  };
  policy(): RecoveryPolicy;
  /** Once per load, before anything else is asked. */
  start(): Promise<void>;
  prepare(context: PrepareContext): Promise<PreparedStep>;
  recover(context: RecoveryContext): Promise<{ readonly persist?: boolean; readonly continue?: boolean }>;
  beforeTool(context: ToolContext): Promise<ToolDecision>;
  /** The text that a client is shown for a failed turn. */
  mapError(error: unknown, context: { readonly turn: string; readonly stage: "turn" | "stream" }): Promise<string>;
  notice(context: NoticeContext): Promise<void>;
}

export interface PrepareContext {
  readonly turn: TurnRow;
  readonly step: number;
  readonly attempt: number;
  /** The turn goes on with a message that exists: a recovery, or `continueLastTurn`. */
  readonly continuation: boolean;
  /** The steps of this turn that have ended, oldest first, as far as this process knows them. */
  readonly steps: readonly StepSummary[];
  /** The conversation as this model may be sent it (P rules). Pure; may be called again for another model. */
  request(origin: string, profile: ModelProfile): readonly UiMessage[];
}

/** One step, ready to be run: the answers of the value hooks, closed over. */
export interface PreparedStep {
  readonly origin: string;
  readonly profile: ModelProfile;
  readonly maxSteps: number;
  /** Provider, model, tool names: what is stored of it. */
  readonly fingerprint: string;
  /** Null: no such tool now. */
  tool(name: string): ToolFacts | null;
  /** Makes the request. Resolves when the response has begun; the answer is read from the stream. Never rejects: a failed start is a stream that begins with its fault. */
  call(signal: AbortSignal): Promise<ModelStream>;
  /** Runs a tool. Yields preliminary outputs, then the final one. May throw. */
  execute(call: ToolRun): AsyncIterable<{ readonly final: boolean; readonly output: unknown }>;
  /** Asks a `reconcile` tool what became of a run that nobody saw end. */
  reconcile(call: ToolRun): Promise<Reconciled>;
}

export interface ToolFacts {
  /** It has an `execute`. */
  readonly executable: boolean;
  readonly policy: RecoveryKind;
  readonly timeoutMs: number;
}

export type Reconciled =
  | { readonly outcome: "output"; readonly output: unknown }
  | { readonly outcome: "error"; readonly error: string }
  /** It did not happen: it is run, under the same key. */
  | { readonly outcome: "absent" }
  | { readonly outcome: "unknown" };

export interface ToolRun {
  readonly turn: string;
  readonly ordinal: number;
  readonly tool: string;
  readonly toolCallId: string;
  readonly input: unknown;
  readonly idempotencyKey: string;
  /** From 1. Above 1: the same call was started before and its outcome was not seen. */
  readonly run: number;
  /** The earlier call of unknown outcome that this one repeats. */
  readonly repeats: { readonly ordinal: number; readonly idempotencyKey: string } | null;
  readonly signal: AbortSignal;
  /** Whether this process still owns the turn: to be asked just before an effect. Asks the store. */
  stillOwner(): Promise<boolean>;
}

/** Read with `read` until `end` or `fault`; nothing follows either. */
export interface ModelStream {
  read(): Promise<ModelPart>;
  /** Stops the provider. Not awaited by anybody; may be called at any time. */
  cancel(reason: string): void;
}

export type ModelPart =
  /**
   * Content: `text-*`, `reasoning-*`, `tool-input-*`, `tool-output-*` of provider-executed calls, `source-*`, `file`,
   * `reasoning-file`, `custom`, `data-*`. Part ids and toolCallIds as the provider gave them. A `*-end` or a complete
   * call is only given once the part after it has been seen to be sound (T9).
   */
  | { readonly kind: "chunk"; readonly chunk: Chunk }
  | { readonly kind: "response"; readonly id?: string; readonly model?: string }
  | { readonly kind: "end"; readonly summary: StepSummary }
  | { readonly kind: "fault"; readonly fault: Fault; readonly error: unknown };

export interface RecoveryContext {
  readonly turn: TurnRow;
  readonly incidentId: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly recoveryKind: "retry" | "continue";
  readonly streamId: string;
  readonly partialText: string;
  readonly partialParts: readonly Part[];
  readonly recoveryData: Json;
  /** The conversation before the partial. */
  readonly messages: readonly UiMessage[];
  readonly lastBody: JsonObject | undefined;
  readonly createdAt: number;
}

export interface ToolContext {
  readonly turn: string;
  readonly step: number;
  readonly ordinal: number;
  readonly tool: string;
  readonly toolCallId: string;
  readonly input: unknown;
}

export type ToolDecision =
  | { readonly action: "allow"; readonly input?: Json }
  | { readonly action: "block"; readonly reason?: string }
  | { readonly action: "substitute"; readonly output: Json };

export type NoticeContext =
  | { readonly kind: "response"; readonly id: string; readonly turn: TurnRow; readonly message: UiMessage }
  | {
      readonly kind: "step";
      readonly id: string;
      readonly turn: TurnRow;
      readonly step: number;
      readonly summary: StepSummary;
      readonly parts: readonly Part[];
    }
  | {
      readonly kind: "tool";
      readonly id: string;
      readonly turn: TurnRow;
      readonly ordinal: number;
      readonly part: Part;
      readonly durationMs: number;
    };
