/** Moves: what can happen to a bench. Each forks it, so that the point before stays as it was. */
import type { GateDecision, ToolResult } from "../../src/core/events.ts";
import { nextDeadline } from "../../src/core/state.ts";
import type { Chunk } from "../../src/core/transcript.ts";
import type { Bench } from "./bench.ts";
import * as model from "./model.ts";
import { owed, says } from "./model.ts";
import type { Move } from "./walk.ts";

export type BenchMove = Move<Bench>;

function move(name: string, can: (bench: Bench) => boolean, act: (bench: Bench) => void): BenchMove {
  return {
    name,
    make(from) {
      if (!can(from)) return null;
      const bench = from.fork();
      act(bench);
      return bench;
    },
  };
}

function onRun(name: string, act: (bench: Bench, effect: model.Owed<"run">) => void): BenchMove {
  return move(name, isAwaited, (bench) => act(bench, owed(bench, "run")!));
}

function isAwaited(bench: Bench): boolean {
  const phase = bench.state.turn?.phase;
  return phase?.kind === "running" && phase.effect === owed(bench, "run")?.effect;
}

/** Each thing once in an answer. */
const speak = (name: string, ...parts: readonly (readonly Chunk[])[]): BenchMove =>
  move(
    `says ${name}`,
    (bench) => isAwaited(bench) && !bench.runs.get(owed(bench, "run")!.effect)?.said.has(name),
    (bench) => model.speak(bench, owed(bench, "run")!, parts.flat(), name),
  );

export const commands = {
  submit: (turn: string): BenchMove =>
    move(
      `submit ${turn}`,
      (bench) => !bench.disk.turns.has(turn),
      (bench) => model.submit(bench, turn),
    ),
  continueLast: (turn: string): BenchMove =>
    move(
      `continue ${turn}`,
      (bench) => !bench.disk.turns.has(turn),
      (bench) => model.continueLast(bench, turn),
    ),
  append: (id: string): BenchMove =>
    move(
      `append ${id}`,
      (bench) => !wasAppended(bench, id),
      (bench) => void bench.take(model.append(id)),
    ),
  stop: move(
    "stop",
    () => true,
    (bench) => void bench.take(model.stop(null)),
  ),
  stopTurn: (turn: string): BenchMove =>
    move(
      `stop ${turn}`,
      (bench) => bench.disk.turns.has(turn),
      (bench) => void bench.take(model.stop(turn)),
    ),
  clear: move(
    "clear",
    () => true,
    (bench) => void bench.take(model.clear()),
  ),
};

function wasAppended(bench: Bench, id: string): boolean {
  return bench.disk.placed.has(id) || bench.state.queue.some((item) => item.kind === "append");
}

export const processes = {
  die: move(
    "die",
    (bench) => bench.state.turn !== null,
    (bench) => void bench.die(),
  ),
  handOver: move(
    "hand over",
    (bench) => bench.state.turn !== null && !bench.draining,
    (bench) => void bench.handOver(),
  ),
  /** The deadline of whatever is waited for. */
  due: move(
    "due",
    (bench) => nextDeadline(bench.state) !== null,
    (bench) => {
      bench.now = Math.max(bench.now, nextDeadline(bench.state) ?? 0);
      bench.take({ type: "due" });
    },
  ),
};

export const answers = {
  text: speak("text", says.text()),
  wholeText: speak("a whole text", says.text(), says.textEnd()),
  thought: speak("a thought", says.thought()),
  source: speak("a source", says.source()),
  half: speak("half a call", says.half()),
  call: (tool: string): BenchMove => speak(`a call of ${tool}`, says.call(tool, `c-${tool}`)),
  calls: speak("two calls", says.call("pay", "c-pay"), says.call("get", "c-get")),
  request: move(
    "requests",
    (bench) => isAwaited(bench) && !bench.runs.has(owed(bench, "run")!.effect),
    (bench) => model.request(bench, owed(bench, "run")!),
  ),
  end: onRun("ends", (bench, effect) => model.endRun(bench, effect)),
  filter: onRun("is filtered", (bench, effect) => model.endRun(bench, effect, "content-filter")),
  cut: onRun("is cut", (bench, effect) => model.failRun(bench, effect, { kind: "cut", message: "reset" })),
  busy: onRun("is busy", (bench, effect) =>
    model.failRun(bench, effect, { kind: "busy", message: "429", retryAfterMs: 3_000 }),
  ),
  refused: onRun("refuses", (bench, effect) => model.failRun(bench, effect, { kind: "refused", message: "400" })),
  hooksFail: onRun("hooks fail", model.failHooks),
};

function onOwed<T extends "equip" | "gate" | "execute" | "reconcile" | "consult" | "map-error">(
  type: T,
  name: string,
  act: (bench: Bench, effect: model.Owed<T>) => void,
  which: "first" | "last" = "last",
): BenchMove {
  const find = (bench: Bench): model.Owed<T> | undefined => {
    const all = bench.owed.filter((effect): effect is model.Owed<T> => effect.type === type);
    return which === "first" ? all[0] : all.at(-1);
  };
  return move(
    name,
    (bench) => bench.state.turn !== null && find(bench) !== undefined,
    (bench) => act(bench, find(bench)!),
  );
}

const gate = (name: string, decision: GateDecision): BenchMove =>
  onOwed("gate", `gate ${name}`, (bench, effect) => model.gate(bench, effect, decision));
const tool = (name: string, result: ToolResult, which: "first" | "last"): BenchMove =>
  onOwed("execute", `${which} tool ${name}`, (bench, effect) => model.endTool(bench, effect, result), which);
const reconcile = (name: string, result: ToolResult | "absent" | "unknown"): BenchMove =>
  onOwed("reconcile", `reconciled: ${name}`, (bench, effect) => model.reconcile(bench, effect, result));

export const performers = {
  equip: onOwed("equip", "is equipped", model.equip),
  equipFails: onOwed("equip", "equipping fails", model.failHooks),
  allow: gate("allows", { action: "allow" }),
  rewrite: gate("rewrites", { action: "allow", input: { n: 2 }, digest: "d2" }),
  block: gate("blocks", { action: "block", reason: "no" }),
  substitute: gate("substitutes", { action: "substitute", output: "cached" }),
  firstEnds: tool("ends", model.output("ok"), "first"),
  lastEnds: tool("ends", model.output("ok"), "last"),
  toolFails: tool("fails", model.failure, "last"),
  found: reconcile("found", model.output("done before")),
  absent: reconcile("absent", "absent"),
  unknown: reconcile("unknown", "unknown"),
  goOn: onOwed("consult", "verdict: go on", (bench, effect) => model.consult(bench, effect, true)),
  giveUp: onOwed("consult", "verdict: stop", (bench, effect) => model.consult(bench, effect, false)),
  mapped: onOwed("map-error", "error is mapped", model.mapError),
};
