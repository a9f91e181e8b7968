/**
 * decide: the one function of an agent's machine. Pure and total: every event in every state has an answer, and an
 * event that fits nothing (a late answer, by its effect id) changes nothing (rule 11).
 */
import { unreachable } from "./assert.ts";
import { onCallsDue, onGated, onReconciled, onToolEnded, undertake } from "./calls.ts";
import { onCommand } from "./commands.ts";
import { continuation } from "./continuation.ts";
import { change, type Draft, tell, turnOf } from "./draft.ts";
import type { AgentEvent, Decision } from "./events.ts";
import { decideIncident } from "./incident.ts";
import { limits } from "./limits.ts";
import type { AgentState } from "./state.ts";
import { endTurn, gained, interrupted, onIncident, progressed, runStep, settleStep, stepEnded } from "./turn.ts";

type Of<T extends AgentEvent["type"]> = Extract<AgentEvent, { type: T }>;

export function decide(state: AgentState, event: AgentEvent): Decision<AgentState> {
  const now = Math.max(event.at.now, state.now);
  const draft: Draft = { state, at: { ...event.at, now }, writes: [], effects: [] };
  handle(draft, event);
  // Same reference, no writes: there is nothing to commit.
  if (draft.state === state && draft.writes.length === 0) return { state, writes: [], effects: draft.effects };
  return { state: { ...draft.state, now }, writes: draft.writes, effects: draft.effects };
}

function handle(draft: Draft, event: AgentEvent): void {
  switch (event.type) {
    case "submit":
    case "continue":
    case "append":
    case "stop":
    case "clear":
      return onCommand(draft, event);
    case "claimed":
      return onClaimed(draft, event);
    case "handed-over":
      return onHandedOver(draft);
    case "due":
      return onDue(draft);
    case "requested":
      return onRequested(draft, event);
    case "step-ended":
      return onStepEnded(draft, event);
    case "step-failed":
      return onStepFailed(draft, event);
    case "hooks-failed":
      return onHooksFailed(draft, event);
    case "equipped":
      return onEquipped(draft, event);
    case "gated":
      onGated(draft, event);
      return afterCall(draft);
    case "tool-ended":
      onToolEnded(draft, event);
      return afterCall(draft);
    case "reconciled":
      onReconciled(draft, event);
      return afterCall(draft);
    case "verdict":
      return onVerdict(draft, event);
    case "error-mapped":
      return onErrorMapped(draft, event);
    case "stashed":
      if (draft.state.turn?.id === event.turn) change(draft, { stash: event.data });
      return;
    default:
      return unreachable(event);
  }
}

/** Is this the answer that the turn waits for? */
function awaits(draft: Draft, effect: string): boolean {
  const phase = draft.state.turn?.phase;
  return (phase?.kind === "running" || phase?.kind === "equipping") && phase.effect === effect;
}

function onClaimed(draft: Draft, event: Of<"claimed">): void {
  const { turn } = draft.state;
  if (!turn) return;
  change(draft, { incident: decideIncident(turn.incident, { type: "absent", ms: event.absentMs }) });
  switch (turn.phase.kind) {
    case "running":
    case "equipping":
    case "calling":
      return interrupted(draft, "crash");
    case "handed-over":
      return interrupted(draft, "handover");
    case "recovering":
      // A wait goes on. A hook that was being asked is asked again, and the death is counted (I3).
      return turn.incident.kind === "consulting" ? interrupted(draft, "crash") : undefined;
    case "failing":
      draft.effects.push({ type: "map-error", effect: turn.phase.effect, text: turn.phase.text });
      return;
  }
}

/** What runs is let go. Started tools may have finished before; those that have not are accounted for by the next owner. */
function onHandedOver(draft: Draft): void {
  const { turn } = draft.state;
  if (!turn) return;
  const { kind } = turn.phase;
  // A wait goes on elsewhere. A hook that is being asked is asked again, and that spends no attempt either (K4).
  const waits = kind === "recovering" && turn.incident.kind !== "consulting";
  if (waits || kind === "failing" || kind === "handed-over") return;
  const work = gained(draft);
  if (work > 0) progressed(draft, work);
  const cuts = kind === "running" ? [...turn.cuts, draft.at.offset] : turn.cuts;
  change(draft, { phase: { kind: "handed-over" }, cuts, barren: work > 0 ? 0 : turn.barren });
  draft.effects.push({ type: "abort", turn: turn.id, what: "all", reason: "handed over" });
}

function onDue(draft: Draft): void {
  const { turn } = draft.state;
  if (!turn) return;
  const { now, jitter } = draft.at;
  switch (turn.phase.kind) {
    case "running":
    case "equipping":
      if (now < turn.phase.deadline) return;
      draft.effects.push({ type: "abort", turn: turn.id, what: "model", reason: "out of time" });
      return interrupted(draft, turn.phase.kind === "running" ? "cut" : "prepare");
    case "calling":
      onCallsDue(draft);
      return afterCall(draft);
    case "recovering": {
      const incident = decideIncident(turn.incident, { type: "due", now, jitter });
      if (incident === turn.incident) return;
      change(draft, { incident });
      return onIncident(draft);
    }
    case "failing":
      if (now >= turn.phase.deadline) endTurn(draft, "failed", { error: turn.phase.text, reason: turn.phase.reason });
      return;
    case "handed-over":
      return;
  }
}

function onRequested(draft: Draft, event: Of<"requested">): void {
  const { turn } = draft.state;
  if (turn?.phase.kind !== "running" || turn.phase.effect !== event.effect) return;
  const origins = [...turn.origins];
  while (origins.length < turn.cuts.length) origins.push(null);
  origins[turn.cuts.length] = event.origin;
  const phase = { ...turn.phase, deadline: draft.at.now + limits.modelCallMs };
  const prelude = event.prelude ?? [];
  if (prelude.length > 0) draft.writes.push({ op: "prelude", turn: turn.id, chunks: prelude });
  const stepFrom = prelude.length > 0 ? draft.at.offset + prelude.length : turn.stepFrom;
  change(draft, { phase, origins, maxSteps: event.maxSteps, stepFrom });
}

function onStepEnded(draft: Draft, event: Of<"step-ended">): void {
  const { turn } = draft.state;
  if (turn?.phase.kind !== "running" || !awaits(draft, event.effect)) return;
  const notice = { kind: "step", turn: turn.id, step: turn.step, summary: event.summary } as const;
  draft.writes.push({ op: "notice", id: `${turn.id}/step/${turn.step}`, notice });
  stepEnded(draft, event.summary.finishReason, event.facts);
}

function onStepFailed(draft: Draft, event: Of<"step-failed">): void {
  if (draft.state.turn?.phase.kind !== "running" || !awaits(draft, event.effect)) return;
  const { fault } = event;
  // What is refused after it has begun was not refused for how it was asked.
  if (fault.kind === "refused" && event.prefilled && draft.state.turn?.prefill && draft.at.work === 0) {
    change(draft, { prefill: false });
    return runStep(draft, continuation(draft.at.evidence) === "continue" ? "continue" : "rerun");
  }
  if (fault.kind === "refused") return fail(draft, fault.message, "provider_refused");
  interrupted(draft, fault.kind === "busy" ? "busy" : "cut", fault.retryAfterMs);
}

function onHooksFailed(draft: Draft, event: Of<"hooks-failed">): void {
  if (!awaits(draft, event.effect)) return;
  tell(draft, "chat:request:failed", { stage: "turn" });
  interrupted(draft, "prepare");
}

/** A failure that no repetition cures. What a reader is shown may be the user's to say. */
function fail(draft: Draft, text: string, reason: "provider_refused"): void {
  if (!draft.at.asks.error) return endTurn(draft, "failed", { error: text, reason });
  const effect = `${draft.state.turn?.id}:error`;
  // The answer broke off: what it said is of a response that never finished (P6).
  const cuts = [...turnOf(draft).cuts, draft.at.offset];
  const phase = { kind: "failing", effect, deadline: draft.at.now + limits.hookMs, text, reason } as const;
  change(draft, { phase, cuts });
  draft.effects.push({ type: "map-error", effect, text });
}

function onEquipped(draft: Draft, event: Of<"equipped">): void {
  if (draft.state.turn?.phase.kind !== "equipping" || !awaits(draft, event.effect)) return;
  undertake(draft, event.facts);
  settleStep(draft);
}

function afterCall(draft: Draft): void {
  const before = draft.state.turn;
  if (before?.phase.kind !== "calling" || draft.writes.length === 0) return;
  if (draft.writes.some((write) => write.op === "ledger" && write.row.state === "settled")) progressed(draft, 1);
  settleStep(draft);
}

function onVerdict(draft: Draft, event: Of<"verdict">): void {
  const { turn } = draft.state;
  if (turn?.id !== event.turn || turn.attempt !== event.attempt) return;
  if (turn.phase.kind !== "recovering" || turn.incident.kind !== "consulting") return;
  const { now, jitter } = draft.at;
  change(draft, { incident: decideIncident(turn.incident, { type: "verdict", now, proceed: event.proceed, jitter }) });
  onIncident(draft);
}

function onErrorMapped(draft: Draft, event: Of<"error-mapped">): void {
  const phase = draft.state.turn?.phase;
  if (phase?.kind !== "failing" || phase.effect !== event.effect) return;
  endTurn(draft, "failed", { error: event.text, reason: phase.reason });
}
