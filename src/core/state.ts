/**
 * The state of an agent: a bounded snapshot (64 KB), never chunks, never the transcript, never the ledger of steps that
 * have ended (rule 5). A turn is a value. Stored with `v`; a reader that does not know the `v` leaves it alone (E3).
 */
import type { Incident } from "./incident.ts";
import type { Json } from "./json.ts";
import type { EndReason, Outcome, RecoveryKind } from "./records.ts";

export interface AgentState {
  readonly v: 1;
  /** The latest time that was seen. Time never goes backwards within an agent. */
  readonly now: number;
  /** The last placed message. */
  readonly leaf: Leaf | null;
  readonly turn: Turn | null;
  /** What waits behind the turn, in order. */
  readonly queue: readonly Queued[];
  readonly last: { readonly turn: string; readonly outcome: Outcome; readonly reason?: EndReason } | null;
}

export interface Leaf {
  readonly id: string;
  readonly role: "user" | "assistant" | "system";
  readonly depth: number;
  /** Rows of parts that it has: where the next is appended. */
  readonly rows: number;
}

export type Queued =
  | {
      readonly kind: "submit" | "continue";
      readonly turn: string;
      readonly inputs: readonly string[];
      readonly createdAt: number;
    }
  /** Messages that enter the conversation without a turn (`addMessages`). */
  | { readonly kind: "append"; readonly messages: readonly Appended[] };

export interface Appended {
  readonly id: string;
  readonly role: "user" | "assistant" | "system";
}

export interface Turn {
  readonly id: string;
  readonly kind: "submit" | "continue";
  readonly messageId: string;
  readonly inputs: readonly string[];
  readonly createdAt: number;
  readonly startedAt: number;

  /** The current step, from 0. */
  readonly step: number;
  /** Rows of parts that its message has. */
  readonly rows: number;
  readonly maxSteps: number;
  /** One run of the turn in one process: `turnId/n`, from 1. */
  readonly attempt: number;
  /** Model calls so far; each has the effect id `<turn>:<runs>`. */
  readonly runs: number;
  /** Model calls in a row that left nothing durable (rule 9). */
  readonly barren: number;

  /** An offset at or shortly before the begin of the current step in the chunk log: the step is what follows the last `finish-step` from there on. */
  readonly stepFrom: number;
  /** Offsets at which runs of the current step were cut. */
  readonly cuts: readonly number[];
  /** Who answered in each run of the current step. */
  readonly origins: readonly (string | null)[];
  /** Calls of the current step, once its model call has ended. */
  readonly calls: readonly Call[];
  /** The next call's ordinal: dense per turn, never restarted. */
  readonly ordinals: number;
  readonly unknowns: readonly Unknown[];
  readonly finishReason: string | null;

  readonly phase: Phase;
  readonly incident: Incident;
  /** False once a prefill was refused: the model's profile promised too much (P10). */
  readonly prefill: boolean;
  readonly stash: Json;
}

export type Phase =
  /** Value hooks, request and answer of one model call. */
  | { readonly kind: "running"; readonly effect: string; readonly deadline: number }
  /** Calls are to be run or accounted for, and this process does not know its tools yet. */
  | { readonly kind: "equipping"; readonly effect: string; readonly deadline: number }
  /** Calls run. Each has its own deadline. */
  | { readonly kind: "calling" }
  /** The incident is consulting or waiting. */
  | { readonly kind: "recovering" }
  /** onChatError is asked what to show. */
  | {
      readonly kind: "failing";
      readonly effect: string;
      readonly deadline: number;
      readonly text: string;
      readonly reason: EndReason;
    }
  /** The process ended in order; the next owner goes on. */
  | { readonly kind: "handed-over" };

export interface Call {
  readonly ordinal: number;
  readonly label: string;
  readonly tool: string;
  readonly policy: RecoveryKind;
  /** The digest of the canonical input. */
  readonly digest: string;
  readonly timeoutMs: number;
  /** Runs of `execute` that were ordered. */
  readonly runs: number;
  /** The call of unknown outcome that this one repeats. */
  readonly repeats: number | null;
  readonly phase:
    | { readonly kind: "gating"; readonly deadline: number }
    | { readonly kind: "started"; readonly deadline: number; readonly at: number }
    | { readonly kind: "reconciling"; readonly deadline: number }
    | { readonly kind: "settled" };
}

/** A call of an earlier step of this turn whose outcome nobody saw. */
export interface Unknown {
  readonly ordinal: number;
  readonly tool: string;
  readonly digest: string;
  readonly policy: RecoveryKind;
}

export const blank: AgentState = { v: 1, now: 0, leaf: null, turn: null, queue: [], last: null };

/** A turn that somebody must run now: it is due at once when its owner dies. */
function owed(turn: Turn): boolean {
  return !(turn.phase.kind === "recovering" && turn.incident.kind === "waiting");
}

/** When the agent needs an owner: 0 = now, null = not before something comes in (rule ST5 adds inbox and outbox). */
export function nextWake(state: AgentState): number | null {
  if (!state.turn) return null;
  if (owed(state.turn)) return 0;
  return state.turn.incident.kind === "waiting" ? state.turn.incident.until : 0;
}

/** When a live owner has to look again: the least deadline of all that is waited for. */
export function nextDeadline(state: AgentState): number | null {
  const { turn } = state;
  if (!turn) return null;
  switch (turn.phase.kind) {
    case "running":
    case "equipping":
    case "failing":
      return turn.phase.deadline;
    case "calling":
      return turn.calls.reduce<number | null>(
        (least, call) =>
          call.phase.kind === "settled" ? least : Math.min(least ?? call.phase.deadline, call.phase.deadline),
        null,
      );
    case "recovering":
      if (turn.incident.kind === "consulting") return turn.incident.deadline;
      return turn.incident.kind === "waiting" ? turn.incident.until : null;
    case "handed-over":
      return null;
  }
}
