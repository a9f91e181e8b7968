/** The model, the tools and the hooks of a bench: each answers one owed effect, as the runtime's performers report it. */
import { textSoFar } from "../../src/core/assembly.ts";
import { modeOf } from "../../src/core/continuation.ts";
import type { CallFacts, Effect, GateDecision, ToolResult } from "../../src/core/events.ts";
import type { Fault } from "../../src/core/fault.ts";
import type { Tombstone } from "../../src/core/records.ts";
import { snapshotChunks } from "../../src/core/snapshot.ts";
import { type Chunk, isToolPart } from "../../src/core/transcript.ts";
import { newTranslation, open, settleText, type Translation, translate } from "../../src/core/translate.ts";
import type { Fact } from "../../src/runtime/agent.ts";
import type { Bench } from "./bench.ts";

/** One answer of the model, while it is being given. */
export interface Run {
  readonly translation: Translation;
  /** What it has said, so that it says nothing twice. */
  readonly said: ReadonlySet<string>;
}

export function copyRun({ translation: { ids, pending, used, join, held, ...rest }, said }: Run): Run {
  const copies = { join: join && { ...join }, held: held && { ...held } };
  return {
    translation: { ...rest, ids: new Map(ids), pending: new Map(pending), used: new Set(used), ...copies },
    said,
  };
}

export type Owed<T extends Effect["type"]> = Extract<Effect, { type: T }>;

export function owed<T extends Effect["type"]>(bench: Bench, type: T): Owed<T> | undefined {
  return bench.owed.findLast((effect): effect is Owed<T> => effect.type === type);
}

function answered(bench: Bench, effect: Effect): void {
  bench.owed = bench.owed.filter((known) => known !== effect);
}

/** The last part of the script that a model plays, in the words of a provider: ids are its own. */
export const says = {
  text: (delta = "Hello there", id = "t"): Chunk[] => [
    { type: "text-start", id },
    { type: "text-delta", id, delta },
  ],
  textEnd: (id = "t"): Chunk[] => [{ type: "text-end", id }],
  thought: (id = "r"): Chunk[] => [
    { type: "reasoning-start", id },
    { type: "reasoning-delta", id, delta: "Hm" },
  ],
  thoughtEnd: (id = "r"): Chunk[] => [{ type: "reasoning-end", id }],
  source: (): Chunk[] => [{ type: "source-url", sourceId: "s", url: "https://a.example" }],
  half: (toolName = "pay", toolCallId = "c0"): Chunk[] => [
    { type: "tool-input-start", toolCallId, toolName },
    { type: "tool-input-delta", toolCallId, inputTextDelta: '{"n":' },
  ],
  call: (toolName = "pay", toolCallId = "c0", input: object = { n: 1 }): Chunk[] => [
    { type: "tool-input-start", toolCallId, toolName },
    { type: "tool-input-available", toolCallId, toolName, input },
  ],
  remote: (toolCallId = "p0"): Chunk[] => [
    { type: "tool-input-available", toolCallId, toolName: "search", input: {}, providerExecuted: true },
    { type: "tool-output-available", toolCallId, output: "found", providerExecuted: true },
  ],
} as const;

/** The request goes out. */
export function request(bench: Bench, effect: Owed<"run">): void {
  const { log } = bench;
  log.beginRun();
  const { origin, maxSteps } = bench.config;
  bench.take({ type: "requested", effect: effect.effect, origin, maxSteps, prelude: prelude(bench) });
  const mode = modeOf(effect.plan, { prefill: bench.config.prefill && effect.prefill });
  const taken = new Set(log.assembly.labels);
  for (const { part } of log.closed) if (typeof part["toolCallId"] === "string") taken.add(part["toolCallId"]);
  const translation = newTranslation(bench.turn.step, log.assembly, taken, mode, textSoFar(log.assembly));
  bench.runs.set(effect.effect, { translation, said: new Set() });
}

/** The message that a turn goes on with, as the begin of its log. */
function prelude({ turn, log, disk }: Bench): readonly Chunk[] {
  const stored = (disk.parts.get(turn.messageId) ?? []).flatMap(({ parts }) => parts);
  if (turn.kind !== "continue" || log.next > 1 || stored.length === 0) return [];
  if (log.closed.length === 0) log.closed.push(...stored);
  const message = { id: turn.messageId, role: "assistant", parts: stored.map(({ part }) => part) } as const;
  return snapshotChunks(message).slice(1, -1);
}

function runOf(bench: Bench, effect: Owed<"run">): Run {
  if (!bench.runs.has(effect.effect)) request(bench, effect);
  return bench.runs.get(effect.effect)!;
}

/** The answer is read on, while it is awaited. */
export function speak(bench: Bench, effect: Owed<"run">, chunks: readonly Chunk[], name = ""): void {
  const { translation, said } = runOf(bench, effect);
  for (const chunk of chunks) bench.append(translate(translation, chunk));
  bench.runs.set(effect.effect, { translation, said: new Set([...said, name]) });
}

export function endRun(bench: Bench, effect: Owed<"run">, finishReason = "stop"): void {
  const { translation } = runOf(bench, effect);
  bench.append([...open(translation), ...settleText(translation)]);
  answered(bench, effect);
  bench.take({ type: "step-ended", effect: effect.effect, summary: { finishReason }, facts: factsOf(bench) });
}

export function failRun(bench: Bench, effect: Owed<"run">, fault: Fault): void {
  bench.append(settleText(runOf(bench, effect).translation));
  answered(bench, effect);
  const prefilled = effect.plan === "continue" && effect.prefill && bench.config.prefill;
  bench.take({ type: "step-failed", effect: effect.effect, fault, prefilled });
}

export function failHooks(bench: Bench, effect: Owed<"run"> | Owed<"equip">): void {
  answered(bench, effect);
  bench.take({ type: "hooks-failed", effect: effect.effect, error: "getModel threw" });
}

export function equip(bench: Bench, effect: Owed<"equip">): void {
  answered(bench, effect);
  bench.take({ type: "equipped", effect: effect.effect, facts: factsOf(bench) });
}

export function gate(bench: Bench, effect: Owed<"gate">, decision: GateDecision): void {
  answered(bench, effect);
  bench.take({ type: "gated", turn: bench.turn.id, ordinal: effect.ordinal, decision });
}

export function endTool(bench: Bench, effect: Owed<"execute">, result: ToolResult): void {
  answered(bench, effect);
  bench.take({ type: "tool-ended", turn: bench.turn.id, ordinal: effect.ordinal, run: effect.run, result });
}

export function reconcile(bench: Bench, effect: Owed<"reconcile">, result: ToolResult | "absent" | "unknown"): void {
  answered(bench, effect);
  bench.take({ type: "reconciled", turn: bench.turn.id, ordinal: effect.ordinal, run: effect.run, result });
}

export function consult(bench: Bench, effect: Owed<"consult">, proceed: boolean): void {
  answered(bench, effect);
  bench.take({ type: "verdict", turn: bench.turn.id, attempt: effect.attempt, proceed });
}

export function mapError(bench: Bench, effect: Owed<"map-error">): void {
  answered(bench, effect);
  bench.take({ type: "error-mapped", effect: effect.effect, text: "Sorry." });
}

/** What the tools of now are, for the step's whole calls: as the step runner tells it. */
export function factsOf(bench: Bench): CallFacts[] {
  const { assembly } = bench.log;
  const facts: CallFacts[] = [];
  for (const { label, tool, state } of bench.log.evidence().calls) {
    if (state !== "complete") continue;
    const known = bench.config.tools[tool];
    const live = assembly.parts.findLast(({ part }) => isToolPart(part) && part["toolCallId"] === label);
    const digest = JSON.stringify(live?.part["input"]);
    const { policy = "report", executable = false } = known ?? {};
    facts.push({ label, executable, policy, timeoutMs: 60_000, digest });
  }
  return facts;
}

export const output = (value: string): ToolResult => ({ kind: "output", output: value });
export const failure: ToolResult = { kind: "error", error: "it broke" };

export function done(turn: string | null): Tombstone {
  return { id: "k", hash: "h", turn, at: 0 };
}

export function submit(bench: Bench, turn: string): void {
  bench.take({ type: "submit", done: done(turn), turn, inputs: [`in_${turn}`] });
}

export function continueLast(bench: Bench, turn: string): void {
  bench.take({ type: "continue", done: done(turn), turn });
}

export const stop = (turn: string | null): Fact => ({ type: "stop", done: done(null), turn, reason: "stopped" });
export const clear = (): Fact => ({ type: "clear", done: done(null) });
export const append = (id: string): Fact => ({ type: "append", done: done(null), messages: [{ id, role: "user" }] });
