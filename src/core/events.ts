/**
 * What reaches an agent's machine, and what it asks for. Events are facts in the past tense; effects and writes are
 * data. An effect is performed only after the commit that ordered it has landed (R1); its answer is an event again.
 */

import type { Plan } from "./continuation.ts";
import type { Evidence } from "./evidence.ts";
import type { Fault } from "./fault.ts";
import type { Json, JsonObject } from "./json.ts";
import type { RecoveryPolicy } from "./policy.ts";
import type { LedgerRow, Notice, RecoveryKind, StepSummary, Tombstone, TurnRow } from "./records.ts";
import type { Chunk } from "./transcript.ts";

/** What the shell knows at the moment of an event. `decide` has no clock, no dice and no log to look at. */
export interface Moment {
  readonly now: number;
  /** 0 <= x < 1. */
  readonly jitter: number;
  /** The next offset of the turn's chunk log. */
  readonly offset: number;
  /** What is known of the current step. */
  readonly evidence: Evidence;
  /** Progress units since the current run of the model began. */
  readonly work: number;
  readonly policy: RecoveryPolicy;
  /** The decision hooks that are overridden. */
  readonly asks: { readonly recovery: boolean; readonly beforeTool: boolean; readonly error: boolean };
}

/** What is known of a tool that a complete call names. */
export interface CallFacts {
  readonly label: string;
  /** False: no such tool now, or none that we may run. */
  readonly executable: boolean;
  readonly policy: RecoveryKind;
  readonly timeoutMs: number;
  readonly digest: string;
}

export type AgentEvent = { readonly at: Moment } & (
  | CommandEvent
  /** The agent was claimed and loaded: whoever ran it is gone. */
  | { readonly type: "claimed"; readonly absentMs: number }
  /** The process is about to end in order. */
  | { readonly type: "handed-over" }
  /** Some deadline of the state has passed. */
  | { readonly type: "due" }
  /**
   * The request is built and about to be sent. `prelude`: where a turn goes on with a message that exists, what that
   * holds, so that the turn's log shows the whole message.
   */
  | {
      readonly type: "requested";
      readonly effect: string;
      readonly origin: string;
      readonly maxSteps: number;
      readonly prelude?: readonly Chunk[];
    }
  | {
      readonly type: "step-ended";
      readonly effect: string;
      readonly summary: StepSummary;
      readonly facts: readonly CallFacts[];
    }
  /** `prefilled`: the request ended in a part of the answer. */
  | { readonly type: "step-failed"; readonly effect: string; readonly fault: Fault; readonly prefilled?: boolean }
  | { readonly type: "hooks-failed"; readonly effect: string; readonly error: string }
  | { readonly type: "equipped"; readonly effect: string; readonly facts: readonly CallFacts[] }
  | { readonly type: "gated"; readonly turn: string; readonly ordinal: number; readonly decision: GateDecision }
  | {
      readonly type: "tool-ended";
      readonly turn: string;
      readonly ordinal: number;
      readonly run: number;
      readonly result: ToolResult;
    }
  | {
      readonly type: "reconciled";
      readonly turn: string;
      readonly ordinal: number;
      readonly run: number;
      readonly result: ToolResult | "absent" | "unknown";
    }
  | { readonly type: "verdict"; readonly turn: string; readonly attempt: number; readonly proceed: boolean }
  | { readonly type: "error-mapped"; readonly effect: string; readonly text: string }
  | { readonly type: "stashed"; readonly turn: string; readonly data: Json }
);

/** Commands, after the shell has seen that they are new and fit. `done` is what is left of them. */
export type CommandEvent = { readonly done: Tombstone } & (
  | { readonly type: "submit"; readonly turn: string; readonly inputs: readonly string[]; readonly body?: JsonObject }
  | { readonly type: "continue"; readonly turn: string; readonly body?: JsonObject }
  | {
      readonly type: "append";
      readonly messages: readonly { readonly id: string; readonly role: "user" | "assistant" | "system" }[];
    }
  | { readonly type: "stop"; readonly turn: string | null; readonly reason: string }
  | { readonly type: "clear" }
);

export type ToolResult =
  | { readonly kind: "output"; readonly output: Json }
  | { readonly kind: "error"; readonly error: string };

export type GateDecision =
  | { readonly action: "allow"; readonly input?: Json; readonly digest?: string }
  | { readonly action: "block"; readonly reason: string }
  | { readonly action: "substitute"; readonly output: Json };

export type Effect =
  /** Run the current step: value hooks, request, answer. */
  | { readonly type: "run"; readonly effect: string; readonly plan: Plan; readonly prefill: boolean }
  /** Ask the value hooks for the tools of the current step's calls. */
  | { readonly type: "equip"; readonly effect: string }
  | { readonly type: "gate"; readonly ordinal: number }
  | { readonly type: "execute"; readonly ordinal: number; readonly run: number }
  | { readonly type: "reconcile"; readonly ordinal: number; readonly run: number }
  | { readonly type: "consult"; readonly attempt: number }
  | { readonly type: "map-error"; readonly effect: string; readonly text: string }
  /** Whatever runs for this turn is to stop: `what` narrows it. */
  | {
      readonly type: "abort";
      readonly turn: string;
      readonly what: "all" | "model" | { readonly ordinal: number };
      readonly reason: string;
    };

/** Parts of the commit, in order. The shell gives chunks their offsets and builds rows from its assembly of the step. */
export type Write =
  | { readonly op: "chunk"; readonly turn: string; readonly chunk: Chunk }
  /** Chunks that belong to no step: they show again what the message holds already. */
  | { readonly op: "prelude"; readonly turn: string; readonly chunks: readonly Chunk[] }
  /** Close what is open in the current step. */
  | { readonly op: "close"; readonly keepText: boolean; readonly callError: string }
  /** Append the current step's parts to the turn's message as row `row`. Nothing is written for a step without content. */
  | {
      readonly op: "parts";
      readonly turn: string;
      readonly messageId: string;
      readonly row: number;
      readonly cuts: number;
      readonly origins: readonly (string | null)[];
    }
  | { readonly op: "place"; readonly id: string; readonly depth: number }
  /** Change a turn's row. The shell keeps the row; fields that are not named stay. */
  | { readonly op: "turn"; readonly id: string; readonly change: Partial<TurnRow> }
  | { readonly op: "drop"; readonly id: string }
  | { readonly op: "ledger"; readonly row: LedgerRow }
  | { readonly op: "notice"; readonly id: string; readonly notice: Notice }
  | { readonly op: "done"; readonly tombstone: Tombstone }
  | { readonly op: "clear" }
  | {
      readonly op: "event";
      readonly type: string;
      readonly payload: { readonly [field: string]: string | number | boolean | null };
    };

export interface Decision<State> {
  readonly state: State;
  readonly writes: readonly Write[];
  readonly effects: readonly Effect[];
}
