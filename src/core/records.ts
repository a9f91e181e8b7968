/**
 * The rows that outlive a commit. Each stored union carries `v`; a reader that meets a `v` it does not know refuses
 * that record (E3) and never takes it for an empty one.
 */
import type { Json, JsonObject } from "./json.ts";
import type { StoredMessage, UiMessage } from "./transcript.ts";

/** How a turn ends. `SaveMessagesResult.status` shows them as completed, aborted, error, error. */
export type Outcome = "completed" | "stopped" | "failed" | "sealed";

/** Why a recovery was closed for good. */
export type SealReason =
  | "no_progress_timeout"
  | "max_attempts_exceeded"
  | "work_budget_exceeded"
  | "recovery_aborted"
  | "out_of_memory"
  | "stable_timeout"
  | "recovery_error";

/** Why a turn ended as it did, where its outcome does not say all. */
export type EndReason =
  | SealReason
  | "continue_disabled"
  | "cleared"
  | "stopped"
  | "provider_refused"
  | "hook_failed"
  | "nothing_to_continue";

/** One turn, for life. Written at accept, at start and at the end; never in between. */
export interface TurnRow {
  readonly v: 1;
  readonly id: string;
  readonly status: "queued" | "running" | "settled";
  /** `submit`: new user messages. `continue`: goes on with the last assistant message. */
  readonly kind: "submit" | "continue";
  /** The message that it writes. */
  readonly messageId: string;
  /** Ids of the user messages that it answers, in order. */
  readonly inputs: readonly string[];
  /** What the client sent beside the messages. */
  readonly body?: JsonObject;
  readonly createdAt: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
  readonly outcome?: Outcome;
  readonly reason?: EndReason;
  /** What a client is shown for `failed` and `sealed`. */
  readonly error?: string;
  readonly finishReason?: string;
}

/** Anything from outside that an agent must do. Durable before it is acknowledged (C1). */
export type Command = { readonly v: 1; readonly id: string; readonly hash: string; readonly at: number } & CommandBody;

export type CommandBody =
  | {
      readonly kind: "submit";
      readonly turn: string;
      readonly messages: readonly UiMessage[];
      readonly body?: JsonObject;
    }
  | { readonly kind: "continue"; readonly turn: string; readonly body?: JsonObject }
  | { readonly kind: "append"; readonly messages: readonly UiMessage[]; readonly mode: "append" | "upsert" }
  | { readonly kind: "stop"; readonly turn: string | null; readonly reason?: string }
  | { readonly kind: "clear" };

/** What is left of a command once its effect is durable: same id and content, same answer; other content, refused (C3). */
export interface Tombstone {
  readonly id: string;
  readonly hash: string;
  /** The turn that it made, if it made one. */
  readonly turn: string | null;
  readonly at: number;
}

/** The durable record of one tool call. Identity is (turn, ordinal). */
export interface LedgerRow {
  readonly v: 1;
  readonly turn: string;
  readonly ordinal: number;
  readonly tool: string;
  /** The provider's `toolCallId` as the transcript shows it. A label, not an identity. */
  readonly label: string;
  readonly state: "announced" | "started" | "settled" | "unknown";
  readonly policy: RecoveryKind;
  readonly key: string;
  /** Runs of `execute` that were ordered. Above 1 only for `retry`, and for `reconcile` after it said "did not run". */
  readonly runs: number;
  readonly startedAt?: number;
  readonly settledAt?: number;
  readonly outcome?: "output" | "error";
  /** A result that came after the call had ended. Evidence only (rule 11). */
  readonly late?: Json;
}

/** What a tool says of a call whose outcome nobody saw. */
export type RecoveryKind = "report" | "retry" | "reconcile";

/** What must still happen after a commit, delivered at least once under a stable id. */
export interface OutboxRow {
  readonly v: 1;
  readonly id: string;
  readonly due: number;
  readonly attempts: number;
  readonly notice: Notice;
}

/** Notice hooks. They point at what happened; the content is read again when they are delivered. */
export type Notice =
  | { readonly kind: "response"; readonly turn: string }
  | {
      readonly kind: "step";
      readonly turn: string;
      readonly step: number;
      readonly summary: StepSummary;
      /** Where the step stands in its message, if that has steps of earlier turns too (`continueLastTurn`). */
      readonly at?: number;
    }
  | { readonly kind: "tool"; readonly turn: string; readonly ordinal: number; readonly durationMs: number };

/** The facts of one finished model call. */
export interface StepSummary {
  readonly finishReason: string;
  readonly usage?: JsonObject;
  readonly model?: string;
  readonly responseId?: string;
}

/** A message with its place in the conversation. `depth` is dense from 0 and is the cursor of pages. */
export interface PlacedMessage {
  readonly depth: number;
  readonly message: StoredMessage;
}
