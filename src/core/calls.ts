/**
 * Calls: the tool calls of the current step, each through its ledger.
 *
 *   C4. A call's identity is (turn, ordinal), minted when its announcement commits, dense, never restarted.
 *   C5. A call whose input is not whole is never executed: it ends with an error that says so.
 *   C6. A call that was started and whose result is not durable has an unknown outcome. By its policy it is reported,
 *       run again under the same key, or reconciled; the stricter of the stored and the current policy wins.
 *   C7. A settled call is never run again.
 *   C8. A new call that repeats the tool and input of an unknown call of its turn is linked to it; `retry` gets its key.
 */

import { unreachable } from "./assert.ts";
import { change, chunk, type Draft, tell, turnOf } from "./draft.ts";
import type { AgentEvent, CallFacts, ToolResult } from "./events.ts";
import type { SeenCall } from "./evidence.ts";
import { idempotencyKey } from "./ids.ts";
import { limits } from "./limits.ts";
import type { LedgerRow, RecoveryKind } from "./records.ts";
import type { Call, Turn } from "./state.ts";
import {
  callBlocked,
  callCut,
  callGateSilent,
  callsTooMany,
  callTimedOut,
  callUnavailable,
  callUnknown,
} from "./texts.ts";

type Of<T extends AgentEvent["type"]> = Extract<AgentEvent, { type: T }>;

const strictness: Record<RecoveryKind, number> = { report: 2, reconcile: 1, retry: 0 };

export function stricter(a: RecoveryKind, b: RecoveryKind): RecoveryKind {
  return strictness[a] >= strictness[b] ? a : b;
}

/** Announces what is new among the step's calls, starts what may start, and accounts for what was cut short. */
export function undertake(draft: Draft, facts: readonly CallFacts[]): void {
  draft.writes.push({ op: "close", keepText: false, callError: callCut });
  change(draft, { phase: { kind: "calling" } });
  const known = new Map(turnOf(draft).calls.map((call) => [call.label, call]));
  for (const seen of draft.at.evidence.calls) {
    const call = known.get(seen.label);
    const fact = facts.find((candidate) => candidate.label === seen.label);
    if (call) account(draft, call, fact);
    else announce(draft, seen, fact);
  }
}

export function allSettled(turn: Turn): boolean {
  return turn.calls.every((call) => call.phase.kind === "settled");
}

function announce(draft: Draft, seen: SeenCall, fact: CallFacts | undefined): void {
  const turn = turnOf(draft);
  if (turn.calls.length >= limits.callsPerStepMax) return refuse(draft, seen);
  const digest = fact?.digest ?? "";
  const repeated = turn.unknowns.find((unknown) => unknown.tool === seen.tool && unknown.digest === digest);
  const call: Call = {
    ordinal: turn.ordinals,
    label: seen.label,
    tool: seen.tool,
    policy: fact?.policy ?? "report",
    digest,
    timeoutMs: fact?.timeoutMs ?? limits.toolMs,
    runs: 0,
    repeats: seen.state === "complete" && repeated ? repeated.ordinal : null,
    phase: { kind: "settled" },
  };
  change(draft, { ordinals: turn.ordinals + 1, calls: [...turn.calls, call] });
  if (seen.state !== "complete") {
    // Its error or result is in the log already, or was just written by the closing of what was open.
    record(draft, call, "settled", { outcome: "error" });
  } else if (!fact?.executable) {
    settle(draft, call, { kind: "error", error: callUnavailable(seen.tool) });
  } else if (draft.at.asks.beforeTool) {
    record(draft, call, "announced");
    replace(draft, { ...call, phase: { kind: "gating", deadline: draft.at.now + limits.hookMs } });
    draft.effects.push({ type: "gate", ordinal: call.ordinal });
  } else {
    start(draft, call);
  }
}

/** One call more than a step may have: it gets its end, and no more of our memory. */
function refuse(draft: Draft, seen: SeenCall): void {
  if (seen.state !== "complete") return;
  chunk(draft, { type: "tool-output-error", toolCallId: seen.label, errorText: callsTooMany });
}

function start(draft: Draft, call: Call): void {
  const { now } = draft.at;
  const phase = { kind: "started", at: now, deadline: now + call.timeoutMs } as const;
  const started: Call = { ...call, runs: call.runs + 1, phase };
  replace(draft, started);
  record(draft, started, "started", { startedAt: now });
  draft.effects.push({ type: "execute", ordinal: call.ordinal, run: started.runs });
}

/** A call of an earlier owner: what its phase, and its policy, make of it now. */
function account(draft: Draft, call: Call, fact: CallFacts | undefined): void {
  switch (call.phase.kind) {
    case "settled":
      return;
    case "gating":
      // It never ran. The check is asked again: its answer was not durable.
      if (!fact?.executable) return settle(draft, call, { kind: "error", error: callUnavailable(call.tool) });
      if (!draft.at.asks.beforeTool) return start(draft, call);
      replace(draft, { ...call, phase: { kind: "gating", deadline: draft.at.now + limits.hookMs } });
      draft.effects.push({ type: "gate", ordinal: call.ordinal });
      return;
    case "started":
    case "reconciling":
      return accountStarted(draft, call, fact);
    default:
      return unreachable(call.phase);
  }
}

function accountStarted(draft: Draft, call: Call, fact: CallFacts | undefined): void {
  const policy = fact?.executable ? stricter(call.policy, fact.policy) : "report";
  switch (policy) {
    case "report":
      return lose(draft, call, callUnknown);
    case "retry":
      return start(draft, call);
    case "reconcile":
      replace(draft, { ...call, phase: { kind: "reconciling", deadline: draft.at.now + limits.hookMs } });
      draft.effects.push({ type: "reconcile", ordinal: call.ordinal, run: call.runs });
      return;
    default:
      return unreachable(policy);
  }
}

/** The outcome stays unknown: said to the model, remembered for a repeat, never run again by us. */
export function lose(draft: Draft, call: Call, error: string): void {
  const turn = turnOf(draft);
  const first = call.repeats ?? call.ordinal;
  const unknown = { ordinal: first, tool: call.tool, digest: call.digest, policy: call.policy };
  change(draft, { unknowns: [...turn.unknowns, unknown].slice(-limits.unknownCallsMax) });
  replace(draft, { ...call, phase: { kind: "settled" } });
  record(draft, call, "unknown", { outcome: "error", settledAt: draft.at.now });
  chunk(draft, { type: "tool-output-error", toolCallId: call.label, errorText: error });
  tell(draft, "tool:unknown", { ordinal: call.ordinal, tool: call.tool });
}

export function settle(draft: Draft, call: Call, result: ToolResult): void {
  const { now } = draft.at;
  replace(draft, { ...call, phase: { kind: "settled" } });
  record(draft, call, "settled", { outcome: result.kind, settledAt: now });
  const toolCallId = call.label;
  if (result.kind === "output") chunk(draft, { type: "tool-output-available", toolCallId, output: result.output });
  else chunk(draft, { type: "tool-output-error", toolCallId, errorText: result.error });
  if (call.phase.kind === "settled") return;
  const { id } = turnOf(draft);
  const durationMs = call.phase.kind === "started" ? now - call.phase.at : 0;
  const notice = { kind: "tool", turn: id, ordinal: call.ordinal, durationMs } as const;
  draft.writes.push({ op: "notice", id: `${id}/tool/${call.ordinal}`, notice });
}

/** Every call that has not settled gets an end, before its turn has one. */
export function abandon(draft: Draft, notRun: string, running: string): void {
  for (const call of turnOf(draft).calls) {
    if (call.phase.kind === "gating") settle(draft, call, { kind: "error", error: notRun });
    else if (call.phase.kind !== "settled") lose(draft, call, running);
  }
  // Announced in the log, and not yet here: the model's answer was still being read.
  const known = new Set(turnOf(draft).calls.map((call) => call.label));
  for (const seen of draft.at.evidence.calls) {
    if (seen.state !== "complete" || known.has(seen.label)) continue;
    chunk(draft, { type: "tool-output-error", toolCallId: seen.label, errorText: notRun });
  }
}

export function onGated(draft: Draft, event: Of<"gated">): void {
  const call = find(draft, event.turn, event.ordinal);
  // Once handed over, nothing is started any more: the next owner asks again.
  if (call?.phase.kind !== "gating" || turnOf(draft).phase.kind !== "calling") return;
  switch (event.decision.action) {
    case "block":
      // To the model it is an answer like any other: it says why nothing was done.
      return settle(draft, call, { kind: "output", output: callBlocked(event.decision.reason) });
    case "substitute":
      return settle(draft, call, { kind: "output", output: event.decision.output });
    case "allow": {
      const { input, digest } = event.decision;
      if (input === undefined) return start(draft, call);
      // The client looks a dynamic call up among dynamic ones only.
      const seen = draft.at.evidence.calls.find(({ label }) => label === call.label);
      const named = { toolCallId: call.label, toolName: call.tool, ...(seen?.dynamic ? { dynamic: true } : {}) };
      chunk(draft, { type: "tool-input-available", ...named, input });
      return start(draft, { ...call, digest: digest ?? call.digest });
    }
    default:
      return unreachable(event.decision);
  }
}

/** A result of a run that is not the current one, or of an ended call, is evidence for the ledger; the transcript stays. */
export function onToolEnded(draft: Draft, event: Of<"tool-ended">): void {
  const call = find(draft, event.turn, event.ordinal);
  if (call?.phase.kind !== "started" || call.runs !== event.run) return;
  settle(draft, call, event.result);
}

export function onReconciled(draft: Draft, event: Of<"reconciled">): void {
  const call = find(draft, event.turn, event.ordinal);
  if (call?.phase.kind !== "reconciling" || call.runs !== event.run || turnOf(draft).phase.kind !== "calling") return;
  if (event.result === "unknown") return lose(draft, call, callUnknown);
  if (event.result === "absent") return start(draft, call);
  settle(draft, call, event.result);
}

export function onCallsDue(draft: Draft): void {
  for (const call of turnOf(draft).calls) {
    if (call.phase.kind === "settled" || draft.at.now < call.phase.deadline) continue;
    if (call.phase.kind === "gating") settle(draft, call, { kind: "error", error: callGateSilent });
    else {
      lose(draft, call, call.phase.kind === "started" ? callTimedOut : callUnknown);
      const what = { ordinal: call.ordinal };
      draft.effects.push({ type: "abort", turn: turnOf(draft).id, what, reason: "the tool gave no result in time" });
    }
  }
}

function find(draft: Draft, turn: string, ordinal: number): Call | undefined {
  if (draft.state.turn?.id !== turn) return undefined;
  return draft.state.turn.calls.find((call) => call.ordinal === ordinal);
}

function replace(draft: Draft, call: Call): void {
  const calls = turnOf(draft).calls.map((known) => (known.ordinal === call.ordinal ? call : known));
  change(draft, { calls });
}

/** The key of a call: its own, or the first one's where a `retry` tool repeats a call of unknown outcome. */
export function keyOf(turn: Turn, call: Call): string {
  return idempotencyKey(turn.id, call.policy === "retry" ? (call.repeats ?? call.ordinal) : call.ordinal);
}

function record(draft: Draft, call: Call, state: LedgerRow["state"], more: Partial<LedgerRow> = {}): void {
  const turn = turnOf(draft);
  const { ordinal, tool, label, policy, runs } = call;
  const startedAt = call.phase.kind === "started" ? { startedAt: call.phase.at } : {};
  const row: LedgerRow = {
    v: 1,
    turn: turn.id,
    ordinal,
    tool,
    label,
    state,
    policy,
    key: keyOf(turn, call),
    runs,
    ...startedAt,
    ...more,
  };
  draft.writes.push({ op: "ledger", row });
}
