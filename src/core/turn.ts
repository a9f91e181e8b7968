/**
 * Turn: one input and everything until it settles.
 *
 *   T1. A turn ends exactly once: completed, stopped, failed or sealed.
 *   T2. One id for life. Recovery is another attempt of the same turn, never another turn.
 *   T3. The end is one commit: last chunks, message, outcome, notices, and the next queued turn as running.
 *   T4. Its chunk log is one well-formed stream over all attempts: one `start`, one end, no second `start-step` for a
 *       step that runs again.
 *   T5. Tools start only after the model call has ended. A step is closed when all its calls are settled.
 *   T6. A step's parts are appended once, in the commit that closes it.
 */
import { abandon, allSettled, undertake } from "./calls.ts";
import { continuation } from "./continuation.ts";
import { change, chunk, type Draft, tell, turnOf } from "./draft.ts";
import type { CallFacts } from "./events.ts";
import { nothing } from "./evidence.ts";
import { messageIdOf } from "./ids.ts";
import { type Cause, decideIncident, none } from "./incident.ts";
import { limits } from "./limits.ts";
import type { EndReason, Outcome } from "./records.ts";
import type { Queued, Turn } from "./state.ts";
import { callFiltered, callNotRun, callStopped, callUnknown } from "./texts.ts";

type Started = Extract<Queued, { turn: string }>;

/** Begins a turn: its messages enter the conversation, its first chunk and its first attempt are ordered. */
export function startTurn(draft: Draft, queued: Started): void {
  const { now } = draft.at;
  placeInputs(draft, queued.inputs);
  const leaf = draft.state.leaf;
  const goesOn = queued.kind === "continue" && leaf?.role === "assistant";
  const messageId = goesOn ? leaf.id : messageIdOf(queued.turn);
  const turn: Turn = {
    id: queued.turn,
    kind: queued.kind,
    messageId,
    inputs: queued.inputs,
    createdAt: queued.createdAt,
    startedAt: now,
    step: 0,
    rows: goesOn ? leaf.rows : 0,
    maxSteps: limits.stepsMax,
    attempt: 1,
    runs: 0,
    barren: 0,
    stepFrom: 1,
    cuts: [],
    origins: [],
    calls: [],
    ordinals: 0,
    unknowns: [],
    finishReason: null,
    phase: { kind: "calling" },
    incident: none,
    prefill: true,
    stash: null,
  };
  draft.state = { ...draft.state, turn };
  draft.writes.push({ op: "turn", id: turn.id, change: { status: "running", startedAt: now, messageId } });
  chunk(draft, { type: "start", messageId });
  tell(draft, "chat:turn:start", { continuation: goesOn });
  if (queued.kind === "continue" && !goesOn) return endTurn(draft, "completed", { reason: "nothing_to_continue" });
  runStep(draft, "rerun");
}

function placeInputs(draft: Draft, inputs: readonly string[]): void {
  for (const id of inputs) place(draft, { id, role: "user", rows: 1 });
}

export function place(
  draft: Draft,
  message: { readonly id: string; readonly role: "user" | "assistant" | "system"; readonly rows: number },
): void {
  const depth = (draft.state.leaf?.depth ?? -1) + 1;
  draft.writes.push({ op: "place", id: message.id, depth });
  draft.state = { ...draft.state, leaf: { ...message, depth } };
}

/** Orders one run of the model for the current step. */
export function runStep(draft: Draft, plan: "rerun" | "continue"): void {
  const { id, runs, barren, prefill } = turnOf(draft);
  const effect = `${id}:${runs + 1}`;
  const deadline = draft.at.now + limits.prepareMs;
  change(draft, { runs: runs + 1, barren: barren + 1, phase: { kind: "running", effect, deadline } });
  draft.effects.push({ type: "run", effect, plan, prefill });
}

/** The model call of the step has ended in order: its calls are undertaken, or the turn is done. */
export function stepEnded(draft: Draft, finishReason: string, facts: readonly CallFacts[]): void {
  change(draft, { barren: 0, finishReason });
  progressed(draft, 1);
  const { calls } = draft.at.evidence;
  if (calls.length === 0) return finish(draft);
  if (finishReason === "content-filter") {
    draft.writes.push({ op: "close", keepText: false, callError: callFiltered });
    abandon(draft, callFiltered, callUnknown);
    return finish(draft);
  }
  undertake(draft, facts);
  settleStep(draft);
}

/** Closes the step once nothing of it is open. */
export function settleStep(draft: Draft): void {
  const turn = turnOf(draft);
  if (turn.phase.kind !== "calling" || !allSettled(turn)) return;
  if (turn.step + 1 >= turn.maxSteps) return finish(draft);
  closeStep(draft);
  change(draft, { step: turn.step + 1, cuts: [], origins: [], calls: [], stepFrom: draft.at.offset });
  runStep(draft, "rerun");
}

/** The last step has ended in order. */
function finish(draft: Draft): void {
  endTurn(draft, "completed", { finishReason: turnOf(draft).finishReason ?? "stop" });
}

function closeStep(draft: Draft): void {
  draft.writes.push({ op: "close", keepText: false, callError: callNotRun });
  chunk(draft, { type: "finish-step" });
  partsOf(draft);
}

function partsOf(draft: Draft): void {
  const { id, messageId, rows, cuts, origins } = turnOf(draft);
  draft.writes.push({ op: "parts", turn: id, messageId, row: rows, cuts: cuts.length, origins });
  change(draft, { rows: rows + 1 });
}

export interface End {
  readonly reason?: EndReason;
  /** What a reader is shown (failed, sealed). */
  readonly error?: string;
  readonly finishReason?: string;
}

/** The one end (T1), in one commit (T3). */
export function endTurn(draft: Draft, outcome: Outcome, end: End): void {
  const { now } = draft.at;
  const stopped = outcome === "stopped";
  if (outcome !== "completed") {
    abandon(draft, callNotRun, stopped ? callStopped : callUnknown);
    // The answer that was being read never finished.
    if (turnOf(draft).phase.kind === "running") change(draft, { cuts: [...turnOf(draft).cuts, draft.at.offset] });
  }
  draft.writes.push({ op: "close", keepText: false, callError: callNotRun });
  const turn = turnOf(draft);
  // A turn that never got to its first step has no step to finish, and no message.
  if (outcome === "completed" && end.reason !== "nothing_to_continue") chunk(draft, { type: "finish-step" });
  endChunk(draft, outcome, end);
  if (end.reason !== "cleared") {
    partsOf(draft);
    endMessage(draft);
  }
  const reason = end.reason === undefined ? {} : { reason: end.reason };
  const error = end.error === undefined ? {} : { error: end.error };
  const finishReason = end.finishReason === undefined ? {} : { finishReason: end.finishReason };
  const settled = { status: "settled", outcome, endedAt: now, ...reason, ...error, ...finishReason } as const;
  draft.writes.push({ op: "turn", id: turn.id, change: settled });
  draft.writes.push({ op: "notice", id: `${turn.id}/response`, notice: { kind: "response", turn: turn.id } });
  tell(draft, "chat:turn:finish", { status: outcome, durationMs: now - turn.startedAt, reason: end.reason ?? null });
  draft.effects.push({ type: "abort", turn: turn.id, what: "all", reason: end.reason ?? outcome });
  draft.state = { ...draft.state, turn: null, last: { turn: turn.id, outcome, ...reason } };
  next(draft);
}

function endChunk(draft: Draft, outcome: Outcome, end: End): void {
  switch (outcome) {
    case "completed":
      return chunk(draft, { type: "finish", finishReason: end.finishReason ?? "stop" });
    case "stopped":
      return chunk(draft, { type: "abort", reason: end.reason ?? "stopped" });
    case "failed":
    case "sealed":
      return chunk(draft, { type: "error", errorText: end.error ?? "" });
  }
}

/** The turn's message enters the conversation, unless it is there, or has nothing in it. The shell knows the latter. */
function endMessage(draft: Draft): void {
  const turn = turnOf(draft);
  const { leaf } = draft.state;
  if (leaf?.id === turn.messageId) {
    draft.state = { ...draft.state, leaf: { ...leaf, rows: turn.rows } };
    return;
  }
  const empty = turn.step === 0 && !hasContent(draft);
  if (!empty) place(draft, { id: turn.messageId, role: "assistant", rows: turn.rows });
}

function hasContent(draft: Draft): boolean {
  const { text, reasoning, other, calls } = draft.at.evidence;
  return text !== "none" || reasoning || other || calls.length > 0;
}

/** What waits behind the turn: messages without a turn enter, then the next turn starts. */
export function next(draft: Draft): void {
  while (!draft.state.turn) {
    const [head, ...queue] = draft.state.queue;
    if (!head) return;
    draft.state = { ...draft.state, queue };
    if (head.kind === "append") for (const message of head.messages) place(draft, { ...message, rows: 1 });
    else startNext(draft, head);
  }
}

/** The evidence of the moment is of the turn before; the one that starts has none. */
function startNext(draft: Draft, queued: Started): void {
  const fresh: Draft = { ...draft, at: { ...draft.at, evidence: nothing, work: 0, offset: 0 } };
  startTurn(fresh, queued);
  draft.state = fresh.state;
}

export function progressed(draft: Draft, work: number): void {
  const { incident } = turnOf(draft);
  change(draft, { incident: decideIncident(incident, { type: "progressed", now: draft.at.now, work }) });
}

/**
 * What the run that ends now has added. A run that was not asked for yet, or that came to nothing after the last cut, has
 * added nothing: what was there before was counted when that was cut. Steps and tools count as they settle (I3).
 */
export function gained(draft: Draft): number {
  const { phase, cuts, origins } = turnOf(draft);
  const asked = phase.kind === "running" && origins.length > cuts.length;
  return asked && cuts.at(-1) !== draft.at.offset ? draft.at.work : 0;
}

/** The run that was under way is over, and not in order. */
export function interrupted(draft: Draft, cause: Cause, retryAfterMs?: number): void {
  const { now, jitter, policy, asks, offset } = draft.at;
  const turn = turnOf(draft);
  const work = gained(draft);
  const cuts = turn.phase.kind === "running" ? [...turn.cuts, offset] : turn.cuts;
  const barren = work > 0 ? 0 : turn.barren;
  const event = {
    type: "interrupted",
    now,
    cause,
    consult: asks.recovery,
    work,
    barren,
    retryAfterMs,
    jitter,
    policy,
  } as const;
  const first = turn.incident.kind === "none";
  const incident = decideIncident(turn.incident, event);
  change(draft, { cuts, barren, incident, attempt: turn.attempt + 1 });
  if (first) tell(draft, "chat:recovery:detected", { cause });
  onIncident(draft);
}

/** Acts on what the incident has come to. */
export function onIncident(draft: Draft): void {
  const { incident } = turnOf(draft);
  switch (incident.kind) {
    case "consulting":
      change(draft, { phase: { kind: "recovering" } });
      draft.effects.push({ type: "consult", attempt: turnOf(draft).attempt });
      return;
    case "waiting":
      change(draft, { phase: { kind: "recovering" } });
      tell(draft, "chat:recovery:scheduled", { attempt: incident.ledger.attempt, untilMs: incident.until });
      return;
    case "attempting":
      tell(draft, "chat:recovery:attempt", { attempt: incident.ledger.attempt, cause: incident.ledger.cause });
      return resume(draft);
    case "declined":
      return endTurn(draft, "sealed", { reason: "continue_disabled", error: incident.ledger.policy.terminalMessage });
    case "sealed":
      tell(draft, "chat:recovery:exhausted", { attempt: incident.ledger.attempt, reason: incident.reason });
      return endTurn(draft, "sealed", { reason: incident.reason, error: incident.ledger.policy.terminalMessage });
    case "none":
    case "recovered":
      return;
  }
}

/** Goes on with the current step, from what is durable of it. */
function resume(draft: Draft): void {
  const plan = continuation(draft.at.evidence);
  if (plan !== "calls") {
    draft.writes.push({ op: "close", keepText: plan === "continue", callError: callNotRun });
    return runStep(draft, plan);
  }
  const { id, attempt } = turnOf(draft);
  const effect = `${id}:equip:${attempt}`;
  change(draft, { phase: { kind: "equipping", effect, deadline: draft.at.now + limits.prepareMs } });
  draft.effects.push({ type: "equip", effect });
}
