/** One bench for each phase of a turn, every event as it fits that phase best, and a decision in a few words. */
import type { AgentEvent, Decision, Effect, Write } from "../../src/core/events.ts";
import { type AgentState, nextDeadline } from "../../src/core/state.ts";
import type { Fact } from "../../src/runtime/agent.ts";
import { Bench, type Config } from "../explore/bench.ts";
import * as model from "../explore/model.ts";
import { done, endRun, equip, factsOf, failRun, output, owed, request, says, speak, submit } from "../explore/model.ts";

function asked(which: "recovery" | "beforeTool" | "error"): Partial<Config> {
  return { asks: { recovery: false, beforeTool: false, error: false, [which]: true } };
}

function begun(config: Partial<Config> = {}): Bench {
  const bench = new Bench(config);
  submit(bench, "t1");
  request(bench, owed(bench, "run")!);
  return bench;
}

function called(tool: string, config: Partial<Config> = {}): Bench {
  const bench = begun(config);
  speak(bench, owed(bench, "run")!, says.call(tool));
  endRun(bench, owed(bench, "run")!, "tool-calls");
  return bench;
}

function failed(kind: "cut" | "busy" | "refused", config: Partial<Config> = {}): Bench {
  const bench = begun(config);
  speak(bench, owed(bench, "run")!, says.text());
  failRun(bench, owed(bench, "run")!, { kind, message: "no" });
  return bench;
}

export const phases = {
  idle: () => new Bench(),
  running: () => {
    const bench = begun();
    speak(bench, owed(bench, "run")!, says.text());
    return bench;
  },
  equipping: () => {
    const bench = called("pay");
    bench.die();
    return bench;
  },
  gating: () => called("pay", asked("beforeTool")),
  calling: () => called("pay"),
  reconciling: () => {
    const bench = called("ship");
    bench.die();
    equip(bench, owed(bench, "equip")!);
    return bench;
  },
  consulting: () => failed("cut", asked("recovery")),
  waiting: () => failed("busy"),
  failing: () => failed("refused", asked("error")),
  "handed over": () => {
    const bench = called("pay");
    bench.handOver();
    return bench;
  },
} as const satisfies { [phase: string]: () => Bench };

export type PhaseName = keyof typeof phases;

type Facts = { [T in AgentEvent["type"]]: { [variant: string]: (bench: Bench) => Fact & { type: T } } };

/** The answer that the turn waits for; of the last run, where it waits for none. */
function effectOf(bench: Bench): string {
  const phase = bench.state.turn?.phase;
  return phase && "effect" in phase ? phase.effect : "t1:1";
}

const call = { turn: "t1", ordinal: 0, run: 1 } as const;
const fault = { message: "no" } as const;

export const facts = {
  submit: { "": () => ({ type: "submit", done: done("t3"), turn: "t3", inputs: ["in_t3"] }) },
  continue: { "": () => ({ type: "continue", done: done("t3"), turn: "t3" }) },
  append: { "": () => ({ type: "append", done: done(null), messages: [{ id: "m", role: "user" }] }) },
  stop: {
    "": () => ({ type: "stop", done: done(null), turn: null, reason: "stopped" }),
    another: () => ({ type: "stop", done: done(null), turn: "t9", reason: "stopped" }),
  },
  clear: { "": () => ({ type: "clear", done: done(null) }) },
  claimed: { "": () => ({ type: "claimed", absentMs: 0 }) },
  "handed-over": { "": () => ({ type: "handed-over" }) },
  due: { early: () => ({ type: "due" }), "": passed },
  requested: {
    "": (bench) => ({ type: "requested", effect: effectOf(bench), origin: "mock:m", maxSteps: 10 }),
  },
  "step-ended": {
    "": (bench) => ended(bench, "stop"),
    filtered: (bench) => ended(bench, "content-filter"),
  },
  "step-failed": {
    cut: (bench) => broken(bench, "cut"),
    busy: (bench) => broken(bench, "busy"),
    refused: (bench) => broken(bench, "refused"),
  },
  "hooks-failed": { "": (bench) => ({ type: "hooks-failed", effect: effectOf(bench), error: "no" }) },
  equipped: { "": (bench) => ({ type: "equipped", effect: effectOf(bench), facts: known(bench) }) },
  gated: {
    allow: () => ({ type: "gated", ...call, decision: { action: "allow" } }),
    rewrite: () => ({ type: "gated", ...call, decision: { action: "allow", input: { n: 2 }, digest: "d" } }),
    block: () => ({ type: "gated", ...call, decision: { action: "block", reason: "no" } }),
    substitute: () => ({ type: "gated", ...call, decision: { action: "substitute", output: 1 } }),
  },
  "tool-ended": {
    output: () => ({ type: "tool-ended", ...call, result: output("ok") }),
    error: () => ({ type: "tool-ended", ...call, result: model.failure }),
    "another run": () => ({ type: "tool-ended", ...call, run: 2, result: output("ok") }),
  },
  reconciled: {
    output: () => ({ type: "reconciled", ...call, result: output("ok") }),
    absent: () => ({ type: "reconciled", ...call, result: "absent" }),
    unknown: () => ({ type: "reconciled", ...call, result: "unknown" }),
  },
  verdict: {
    "go on": (bench) => verdict(bench, 0, true),
    "no more": (bench) => verdict(bench, 0, false),
    "of another attempt": (bench) => verdict(bench, 1, false),
  },
  "error-mapped": { "": (bench) => ({ type: "error-mapped", effect: effectOf(bench), text: "Sorry." }) },
  stashed: {
    "": () => ({ type: "stashed", turn: "t1", data: 1 }),
    another: () => ({ type: "stashed", turn: "t9", data: 1 }),
  },
} as const satisfies Facts;

type Known = typeof facts;
type Name<T extends string, V extends string> = V extends "" ? T : `${T}, ${V}`;
export type EventName = { [T in keyof Known]: Name<T, keyof Known[T] & string> }[keyof Known];

function passed(bench: Bench): Fact & { type: "due" } {
  bench.now = Math.max(bench.now, nextDeadline(bench.state) ?? 0);
  return { type: "due" };
}

function ended(bench: Bench, finishReason: string): Fact & { type: "step-ended" } {
  return { type: "step-ended", effect: effectOf(bench), summary: { finishReason }, facts: known(bench) };
}

function broken(bench: Bench, kind: "cut" | "busy" | "refused"): Fact & { type: "step-failed" } {
  return { type: "step-failed", effect: effectOf(bench), fault: { kind, ...fault }, prefilled: false };
}

function verdict(bench: Bench, off: number, proceed: boolean): Fact & { type: "verdict" } {
  return { type: "verdict", turn: "t1", attempt: (bench.state.turn?.attempt ?? 0) + off, proceed };
}

function known(bench: Bench): ReturnType<typeof factsOf> {
  return bench.memory.log ? factsOf(bench) : [];
}

export const events = Object.entries(facts).flatMap(([type, variants]) =>
  Object.entries(variants).map(([variant, fact]) => ({
    name: (variant === "" ? type : `${type}, ${variant}`) as EventName,
    fact: fact as (bench: Bench) => Fact,
  })),
);

/** Where the agent is, in a word. */
export function phaseOf({ turn }: AgentState): string {
  if (!turn) return "idle";
  const { phase, incident, calls } = turn;
  if (phase.kind === "recovering") return incident.kind;
  if (phase.kind === "handed-over") return "handed over";
  const open = calls.map((one) => one.phase.kind).find((kind) => kind !== "settled");
  return phase.kind === "calling" && open && open !== "started" ? open : phase.kind;
}

/** Next phase, writes, then effects after `!`. What always belongs to an end is one word. */
export function told(decision: Decision<AgentState>, before: AgentState): string {
  const { state, writes, effects } = decision;
  if (state === before && writes.length === 0 && effects.length === 0) return "=";
  const words = writes.flatMap((write, at) => (ofEnd(writes, write, at) ? [] : wordOf(write)));
  const orders = effects.flatMap((effect) => orderOf(effect, writes));
  return [phaseOf(state), ...words, ...orders].join(" ");
}

function endOf(writes: readonly Write[]): number {
  return writes.findIndex((write) => write.op === "turn" && write.change.status === "settled");
}

/** The chunks, rows and notice of an end stand for it: laws.ts looks at them. */
function ofEnd(writes: readonly Write[], write: Write, at: number): boolean {
  const end = endOf(writes);
  if (end < 0 || at === end) return false;
  if (write.op === "notice") return write.notice.kind === "response";
  return at < end && (write.op === "close" || write.op === "parts" || write.op === "place" || isEndChunk(write));
}

function isEndChunk(write: Write): boolean {
  return write.op === "chunk" && /^(finish|finish-step|abort|error)$/.test(write.chunk.type);
}

function wordOf(write: Write): string[] {
  switch (write.op) {
    case "chunk":
      return [`+${write.chunk.type}`];
    case "close":
      return write.keepText ? ["close-but-text"] : ["close"];
    case "turn": {
      const { status, outcome, reason } = write.change;
      return [[status === "settled" ? `ends ${outcome}` : `turn ${status}`, ...(reason ? [reason] : [])].join(" ")];
    }
    case "ledger":
      return [`ledger#${write.row.ordinal} ${write.row.state}`];
    case "notice":
      return [`notice ${write.notice.kind}`];
    case "event":
      return [];
    case "place":
      return [`place ${write.id}`];
    default:
      return [write.op];
  }
}

function orderOf(effect: Effect, writes: readonly Write[]): string[] {
  switch (effect.type) {
    case "run":
      return [`!${effect.plan}`];
    case "gate":
      return [`!gate#${effect.ordinal}`];
    case "execute":
    case "reconcile":
      return [`!${effect.type}#${effect.ordinal}.${effect.run}`];
    case "abort":
      if (endOf(writes) >= 0 && effect.what === "all") return [];
      return [`!abort ${typeof effect.what === "string" ? effect.what : `#${effect.what.ordinal}`}`];
    default:
      return [`!${effect.type}`];
  }
}
