/**
 * Laws: what holds after every decision, whatever came before. Each names its rule of SPEC.md. A law looks at the step
 * that was just taken and at what is durable; none of them remembers anything of its own.
 */
import { foldAll, newAssembly, storedParts } from "../../src/core/assembly.ts";
import { decide } from "../../src/core/decide.ts";
import type { AgentEvent, Effect, Write } from "../../src/core/events.ts";
import { limits } from "../../src/core/limits.ts";
import { type AgentState, nextDeadline, nextWake } from "../../src/core/state.ts";
import type { Chunk } from "../../src/core/transcript.ts";
import type { Bench, Taken } from "./bench.ts";
import { textOf } from "./point.ts";

class Broken extends Error {
  constructor(rule: string, text: string) {
    super(`[${rule}] ${text}`);
  }
}

export function must(condition: unknown, rule: string, text: string): asserts condition {
  if (!condition) throw new Broken(rule, text);
}

function isJson(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null)
    return typeof value === "string" || typeof value === "boolean" || value === null;
  return Object.values(value).every(isJson);
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const item of Object.values(value)) freeze(item);
  return value;
}

/** The same inputs, frozen, give the same decision, which can be stored, and an answer given twice changes nothing. */
function pure({ before, event, decision }: Taken): void {
  const again = decide(freeze(before), freeze(event));
  const equal = JSON.stringify(again.state) === textOf(decision.state) && same(again.writes, decision.writes);
  must(equal && same(again.effects, decision.effects), "R1", `decide gives two answers to ${event.type}`);
  must(isJson(decision.state), "ST8", "the state is not JSON");
  if (answers.has(event.type)) untouched(decision.state, event, "given twice");
}

const answers: ReadonlySet<AgentEvent["type"]> = new Set([
  "step-ended",
  "step-failed",
  "hooks-failed",
  "equipped",
  "gated",
  "tool-ended",
  "reconciled",
  "verdict",
  "error-mapped",
] as const);

/** R6: what comes late changes nothing. */
export function untouched(state: AgentState, event: AgentEvent, why: string): void {
  const { state: after, writes, effects } = decide(state, event);
  must(
    after === state && writes.length === 0 && effects.length === 0,
    "R6",
    `${event.type} that is ${why} does something`,
  );
}

/** Everything that holds of one step. */
export function obey(bench: Bench, taken: Taken): void {
  pure(taken);
  lives(taken.decision.state);
  small(taken.decision.state);
  monotone(taken);
  ends(taken);
  calls(bench, taken);
  phased(taken.decision.state, taken.decision.effects);
  for (const { turn } of taken.batch.chunks) wellFormed(bench, turn);
}

/** I8: whoever is waited for has a deadline, and the agent a wake. */
function lives(state: AgentState): void {
  const [deadline, wake] = [nextDeadline(state), nextWake(state)];
  if (!state.turn) {
    must(deadline === null && wake === null, "I8", "an idle agent is woken");
    must(state.queue.length === 0, "T3", "an idle agent has a queue");
    return;
  }
  const { phase, incident } = state.turn;
  must(wake !== null && Number.isFinite(wake), "I8", `a live turn (${phase.kind}) has no wake`);
  if (phase.kind !== "handed-over")
    must(deadline !== null && Number.isFinite(deadline), "I8", `${phase.kind} has no deadline`);
  if (phase.kind === "recovering") {
    must(incident.kind === "waiting" || incident.kind === "consulting", "I8", `recovering while ${incident.kind}`);
    must(wake === (incident.kind === "waiting" ? incident.until : 0), "I8", "the wake is not the wait's end");
  } else {
    must(wake === 0, "I8", `${phase.kind} is not owed at once`);
    must(
      incident.kind === "none" || incident.kind === "attempting" || phase.kind === "handed-over",
      "I8",
      `${phase.kind} while ${incident.kind}`,
    );
  }
}

function small(state: AgentState): void {
  must(textOf(state).length <= limits.stateBytesMax, "L1", "the state is too large");
}

/** What only grows, and what stays as it was. */
function monotone({ before, decision: { state } }: Taken): void {
  must(state.now >= before.now, "I6", "time went backwards");
  const [was, is] = [before.turn, state.turn];
  if (!was || !is || was.id !== is.id) return;
  must(is.attempt >= was.attempt && is.runs >= was.runs && is.step >= was.step, "T2", "a count went back");
  must(is.ordinals >= was.ordinals && is.rows >= was.rows, "C4", "an ordinal or a row is given twice");
  must(is.barren <= limits.barrenCallsMax, "R7", "too many barren calls");
  must(is.messageId === was.messageId, "T2", "the turn writes another message");
}

/** T1, T3: one end, in one commit, with the next turn in it. */
function ends({ before, decision: { state, writes } }: Taken): void {
  const settled = writes.filter(
    (write): write is Write & { op: "turn" } => write.op === "turn" && write.change.status === "settled",
  );
  const started = writes.filter((write) => write.op === "turn" && write.change.status === "running");
  if (before.turn && state.turn?.id !== before.turn.id) {
    must(
      settled.some(({ id }) => id === before.turn?.id),
      "T1",
      "a turn went without an end",
    );
  }
  for (const { id, change } of settled) {
    must(change.outcome !== undefined && change.endedAt !== undefined, "T1", "an end without an outcome");
    must(
      count(writes, (write) => write.op === "notice" && write.id === `${id}/response`) === 1,
      "T3",
      "an end without its notice",
    );
    must(
      count(writes, (write) => write.op === "chunk" && write.turn === id && isEnd(write.chunk)) === 1,
      "T1",
      "not one end chunk",
    );
    must(
      state.turn?.id !== id && !state.queue.some((item) => item.kind !== "append" && item.turn === id),
      "T1",
      "an ended turn is kept",
    );
  }
  if (settled.some(({ id }) => id === before.turn?.id) && state.turn) {
    must(
      started.some((write) => write.op === "turn" && write.id === state.turn?.id),
      "T3",
      "the next turn does not run",
    );
  }
}

function count<T>(items: readonly T[], which: (item: T) => boolean): number {
  return items.filter(which).length;
}

export function isEnd(chunk: Chunk): boolean {
  return chunk.type === "finish" || chunk.type === "abort" || chunk.type === "error";
}

/** C4, C6, C7: ordinals are dense; what has settled is never ordered again; a `report` call runs at most once. */
function calls(bench: Bench, { before, decision: { state, writes, effects } }: Taken): void {
  for (const write of writes) {
    if (write.op !== "ledger") continue;
    const { row } = write;
    must(
      row.key === `${row.turn}-${row.ordinal}` || row.policy === "retry",
      "C4",
      `call ${row.ordinal} has key ${row.key}`,
    );
    const known = before.turn?.calls.find(({ ordinal }) => ordinal === row.ordinal);
    must(known?.phase.kind !== "settled", "C7", `call ${row.ordinal} settled before`);
    if (known)
      must(known.label === row.label && known.tool === row.tool, "C4", `call ${row.ordinal} is another call now`);
    else must(row.ordinal >= (before.turn?.ordinals ?? 0), "C4", `ordinal ${row.ordinal} is given again`);
  }
  state.turn?.calls.forEach((call, index, all) => {
    must(
      call.ordinal === (all[0]?.ordinal ?? 0) + index && call.ordinal < (state.turn?.ordinals ?? 0),
      "C4",
      "ordinals have gaps",
    );
  });
  for (const effect of effects) {
    if (effect.type !== "execute") continue;
    const row = bench.disk.ledger.get(`${state.turn?.id}#${effect.ordinal}`);
    must(row?.state === "started" && row.runs === effect.run, "C7", `call ${effect.ordinal} is run without its record`);
    must(effect.run === 1 || row.policy !== "report", "C6", `a report call is run ${effect.run} times`);
  }
}

const allowed: Record<Exclude<Effect["type"], "abort">, string> = {
  run: "running",
  equip: "equipping",
  gate: "calling",
  execute: "calling",
  reconcile: "calling",
  consult: "recovering",
  "map-error": "failing",
};

function phased(state: AgentState, effects: readonly Effect[]): void {
  for (const { type } of effects) {
    if (type === "abort") continue;
    must(
      state.turn?.phase.kind === allowed[type],
      "R1",
      `${type} is ordered while ${state.turn?.phase.kind ?? "idle"}`,
    );
  }
}

/** T4: the log of a turn is one stream; and, once it has ended, A1: its message is the fold of it. */
function wellFormed(bench: Bench, turn: string): void {
  const log = bench.disk.logs.get(turn) ?? [];
  const row = bench.disk.turns.get(turn);
  const ended = row?.status === "settled";
  if (log.length === 0) return must(!ended, "T1", `${turn} ended without a log`);
  must(log[0]?.type === "start" && count(log, ({ type }) => type === "start") === 1, "T4", "not one start");
  must(count(log, isEnd) === (ended ? 1 : 0), "T4", `${count(log, isEnd)} ends of a turn that is ${row?.status}`);
  if (ended) must(isEnd(log.at(-1)!), "T4", "something follows the end");
  steps(log);
  if (row?.kind === "submit") ids(log);
  if (!ended) return;
  closed(log);
  messageIsFold(bench, turn);
}

/** Steps alternate. */
function steps(log: readonly Chunk[]): void {
  let open = false;
  for (const { type } of log) {
    if (type === "start-step") must(!open, "T4", "a second start-step");
    if (type === "finish-step") must(open, "T4", "a finish-step without a step");
    if (type === "start-step") open = true;
    if (type === "finish-step") open = false;
  }
}

/** T7: part ids and labels are given once. */
function ids(log: readonly Chunk[]): void {
  const given = new Set<string>();
  for (const { type, id, toolCallId } of log) {
    if (!/^(text|reasoning)-start$|^tool-input-start$/.test(type)) continue;
    const own = String(id ?? toolCallId);
    must(!given.has(own), "T7", `${own} is given twice`);
    given.add(own);
  }
}

/** Nothing is left open, and nothing goes on that was not begun. */
function closed(log: readonly Chunk[]): void {
  const open = new Set<string>();
  const answered = new Map<string, boolean>();
  for (const { type, id, toolCallId } of log) {
    const part = `${type.split("-")[0]}:${String(id)}`;
    if (/^(text|reasoning)-start$/.test(type)) open.add(part);
    if (/^(text|reasoning)-(delta|end)$/.test(type)) must(open.has(part), "T4", `${type} of a part that is not open`);
    if (/^(text|reasoning)-end$/.test(type)) open.delete(part);
    if (/^tool-input-(start|available)$/.test(type))
      answered.set(String(toolCallId), answered.get(String(toolCallId)) ?? false);
    if (/^tool-(output-(available|error)|input-error)$/.test(type)) answered.set(String(toolCallId), true);
  }
  must(open.size === 0, "T4", `${[...open].join()} never ended`);
  for (const [label, end] of answered) must(end, "C12", `call ${label} never got an end`);
}

/** A1, T6: the rows of a message, one after the other, are the fold of its turn's log. */
function messageIsFold(bench: Bench, turn: string): void {
  const row = bench.disk.turns.get(turn);
  const rows = row && bench.disk.parts.get(row.messageId);
  if (!rows || row.status !== "settled") return;
  const log = bench.disk.logs.get(turn) ?? [];
  // A turn that goes on with a message shows it with its first request.
  if (row.kind === "continue" && !log.some(({ type }) => type === "start-step")) return;
  const shown = storedParts(foldAll(log, 0, newAssembly()), 0, []).map(({ part }) => part);
  // A step without content leaves no row.
  while (shown.at(-1)?.type === "step-start") shown.pop();
  const stored = rows.flatMap(({ parts }) => parts.map(({ part }) => part));
  must(same(stored, shown), "A1", `the message of ${turn} is not the fold of its log`);
}
