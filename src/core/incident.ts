/**
 * Incident: from the moment an interruption is seen until its turn settles or is sealed.
 *
 *   The incident owns:  attempts, backoff, the budget that it was opened with, why it was sealed.
 *   The turn owns:      what is run when the incident says `attempting`.
 *
 *   I1. The budget is copied in at opening: a recorded incident replays without its config.
 *   I2. A waiting incident ignores further interruptions: one wake is pending, however many deploys happen.
 *   I3. Progress since the last attempt makes the next one the first again; a hand-over spends nothing.
 *   I4. A provider that asks to wait is waited for: no attempt is spent, the no-progress clock bounds it.
 *   I5. Giving up reads this record alone, in a fixed precedence of reasons.
 *   I6. The no-progress clock counts only time with a live owner.
 */
import { unreachable } from "./assert.ts";
import { limits } from "./limits.ts";
import type { RecoveryPolicy } from "./policy.ts";
import type { SealReason } from "./records.ts";

/**
 * crash     the process died
 * cut       the model's answer broke off, or its call ran out of time
 * busy      the provider said not now
 * prepare   a value hook failed or hung
 * handover  the process ended in order
 */
export type Cause = "crash" | "cut" | "busy" | "prepare" | "handover";

export interface IncidentLedger {
  readonly openedAt: number;
  readonly cause: Cause;
  /** The attempt that runs, or is about to. 0: none was needed since the last progress (a hand-over, a wait). */
  readonly attempt: number;
  /** Waits in a row that the provider asked for. */
  readonly waits: number;
  readonly progressedAt: number;
  /** Progress units since it opened. */
  readonly work: number;
  /** Unclean deaths in a row with no step completed and no tool settled between. */
  readonly unclean: number;
  readonly policy: RecoveryPolicy;
}

export type Incident =
  | { readonly kind: "none" }
  /** The user's hook is asked. Its deadline answers for it. */
  | { readonly kind: "consulting"; readonly ledger: IncidentLedger; readonly deadline: number }
  | { readonly kind: "waiting"; readonly ledger: IncidentLedger; readonly until: number }
  | { readonly kind: "attempting"; readonly ledger: IncidentLedger }
  | { readonly kind: "recovered"; readonly ledger: IncidentLedger }
  /** The hook said not to go on. */
  | { readonly kind: "declined"; readonly ledger: IncidentLedger }
  | { readonly kind: "sealed"; readonly ledger: IncidentLedger; readonly reason: SealReason };

export type IncidentEvent =
  | {
      readonly type: "interrupted";
      readonly now: number;
      readonly cause: Cause;
      /** onChatRecovery is overridden. */
      readonly consult: boolean;
      /** Progress units since the last attempt began. */
      readonly work: number;
      /** Model calls in a row that left nothing durable. */
      readonly barren: number;
      readonly retryAfterMs?: number | undefined;
      readonly jitter: number;
      readonly policy: RecoveryPolicy;
    }
  | { readonly type: "verdict"; readonly now: number; readonly proceed: boolean; readonly jitter: number }
  | { readonly type: "due"; readonly now: number; readonly jitter: number }
  /** A step was completed or a tool settled. */
  | { readonly type: "progressed"; readonly now: number; readonly work: number }
  /** Nobody owned the agent for so long (I6). */
  | { readonly type: "absent"; readonly ms: number }
  | { readonly type: "settled" };

type Interrupted = Extract<IncidentEvent, { type: "interrupted" }>;
type Of<K extends Incident["kind"]> = Extract<Incident, { kind: K }>;

export const none: Incident = { kind: "none" };

export function decideIncident(state: Incident, event: IncidentEvent): Incident {
  switch (state.kind) {
    case "none":
      return event.type === "interrupted" ? enter(opened(event), event) : state;
    case "consulting":
      return decideConsulting(state, event);
    case "waiting":
      return decideWaiting(state, event);
    case "attempting":
      return decideAttempting(state, event);
    case "recovered":
    case "declined":
    case "sealed":
      return state;
    default:
      return unreachable(state);
  }
}

function decideConsulting(state: Of<"consulting">, event: IncidentEvent): Incident {
  switch (event.type) {
    case "interrupted":
      return enter(counted(state.ledger, event), event);
    case "verdict":
      return event.proceed ? schedule(state.ledger, event) : { kind: "declined", ledger: state.ledger };
    case "due":
      return event.now < state.deadline ? state : schedule(state.ledger, event);
    case "absent":
      return { ...state, ledger: shifted(state.ledger, event.ms) };
    case "progressed":
      return state;
    case "settled":
      return { kind: "recovered", ledger: state.ledger };
    default:
      return unreachable(event);
  }
}

function decideWaiting(state: Of<"waiting">, event: IncidentEvent): Incident {
  switch (event.type) {
    case "due":
      return event.now < state.until ? state : { kind: "attempting", ledger: state.ledger };
    case "absent":
      return { ...state, ledger: shifted(state.ledger, event.ms) };
    case "settled":
      return { kind: "recovered", ledger: state.ledger };
    case "interrupted":
    case "verdict":
    case "progressed":
      return state;
    default:
      return unreachable(event);
  }
}

function decideAttempting(state: Of<"attempting">, event: IncidentEvent): Incident {
  switch (event.type) {
    case "interrupted":
      return enter(counted(state.ledger, event), event);
    case "progressed": {
      const { ledger } = state;
      return {
        ...state,
        ledger: {
          ...ledger,
          attempt: 0,
          progressedAt: event.now,
          work: ledger.work + event.work,
          unclean: 0,
          waits: 0,
        },
      };
    }
    case "absent":
      return { ...state, ledger: shifted(state.ledger, event.ms) };
    case "settled":
      return { kind: "recovered", ledger: state.ledger };
    case "verdict":
    case "due":
      return state;
    default:
      return unreachable(event);
  }
}

function opened(event: Interrupted): IncidentLedger {
  const { now, cause, policy } = event;
  const fresh = { openedAt: now, cause, attempt: 0, waits: 0, progressedAt: now, work: 0, unclean: 0, policy };
  return counted(fresh, { ...event, work: 0 });
}

/** Counts one interruption before anything of the user's is asked: a hook that kills is paid for. */
function counted(ledger: IncidentLedger, event: Interrupted): IncidentLedger {
  const progressed = event.work > 0;
  const progressedAt = progressed ? event.now : ledger.progressedAt;
  const attempt = progressed ? 0 : ledger.attempt;
  const base = { ...ledger, cause: event.cause, attempt, progressedAt, work: ledger.work + event.work };
  switch (event.cause) {
    case "handover":
      return { ...base, unclean: 0 };
    case "busy":
      return { ...base, waits: progressed ? 1 : ledger.waits + 1 };
    case "crash":
      return { ...base, attempt: attempt + 1, unclean: ledger.unclean + 1 };
    case "cut":
    case "prepare":
      return { ...base, attempt: attempt + 1 };
    default:
      return unreachable(event.cause);
  }
}

function enter(ledger: IncidentLedger, event: Interrupted): Incident {
  const reason = exhausted(ledger, event.now, event.barren);
  if (reason) return { kind: "sealed", ledger, reason };
  // A refused start interrupted nothing that a hook could judge (H7).
  if (event.consult && event.cause !== "busy")
    return { kind: "consulting", ledger, deadline: event.now + limits.hookMs };
  return schedule(ledger, event);
}

/** Precedence of reasons, most specific first. */
export function exhausted(ledger: IncidentLedger, now: number, barren: number): SealReason | null {
  const { policy } = ledger;
  if (ledger.work > policy.maxRecoveryWork) return "work_budget_exceeded";
  if (now - ledger.progressedAt > policy.noProgressTimeoutMs) return "no_progress_timeout";
  if (ledger.attempt > policy.maxAttempts) return "max_attempts_exceeded";
  if (ledger.unclean > policy.maxInterruptedAttempts) return "max_attempts_exceeded";
  if (barren >= limits.barrenCallsMax) return "max_attempts_exceeded";
  return null;
}

function schedule(
  ledger: IncidentLedger,
  event: { readonly now: number; readonly jitter: number; readonly retryAfterMs?: number | undefined },
): Incident {
  const delay = backoffMs(ledger, event.jitter, event.retryAfterMs);
  if (delay === 0) return { kind: "attempting", ledger };
  return { kind: "waiting", ledger, until: event.now + delay };
}

/** The first attempt is made at once. Later ones, and waits, back off; what the provider asked for is the least. */
export function backoffMs(ledger: IncidentLedger, jitter: number, retryAfterMs?: number): number {
  const round = ledger.cause === "busy" ? ledger.waits + 1 : ledger.attempt;
  if (ledger.cause === "handover" || round < 2) return 0;
  const full = Math.min(limits.backoffBaseMs * 2 ** Math.min(round - 2, 20), limits.backoffCapMs);
  return Math.max(Math.ceil(full * (1 - jitter / 2)), retryAfterMs ?? 0);
}

function shifted(ledger: IncidentLedger, ms: number): IncidentLedger {
  return { ...ledger, progressedAt: ledger.progressedAt + ms };
}
