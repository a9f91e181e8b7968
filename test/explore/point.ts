/** When two benches are at the same point: whatever follows the one can follow the other, with the same result. */
import type { Assembly } from "../../src/core/assembly.ts";
import type { AgentState } from "../../src/core/state.ts";
import type { Bench } from "./bench.ts";

const texts = new WeakMap<AgentState, string>();

/** The state as it is stored. */
export function textOf(state: AgentState): string {
  const known = texts.get(state);
  if (known !== undefined) return known;
  const text = JSON.stringify(state);
  texts.set(state, text);
  return text;
}

/** Moments are what is left until they come; offsets say only whether anything came after the last cut. */
export function pointOf(bench: Bench): string {
  const { state, memory, disk, now } = bench;
  const log = memory.log && [memory.log.turn, assemblyOf(memory.log.assembly), memory.log.work, memory.log.placed];
  const fresh = state.turn?.cuts.at(-1) === memory.log?.next;
  const turns = [...disk.turns.values()].map(({ id, status }) => id + status);
  const calls = [...disk.ledger.values()].map((row) => row.state);
  const runs = [...bench.runs].map(([effect, { translation, said }]) => {
    const { ids, held, join, seen, pending, used, opened } = translation;
    return [effect, [...ids], held, join, seen, [...pending.keys()], [...used], opened, [...said]];
  });
  const rest = JSON.stringify([bench.owed, runs, bench.draining, log, fresh, turns, [...disk.placed.keys()], calls]);
  return relative(textOf(state), now) + rest;
}

function relative(text: string, now: number): string {
  return text
    .replace(/"(?:createdAt|startedAt|openedAt|now|stepFrom)":\d+/g, "")
    .replace(/"cuts":\[([\d,]*)\]/, (_, cuts: string) => `cuts:${cuts === "" ? 0 : cuts.split(",").length}`)
    .replace(/\b\d{7,8}\b/g, (moment) => String(Number(moment) - now));
}

function assemblyOf({ parts, open, labels, opened }: Assembly): unknown[] {
  return [parts, [...open.keys()], labels.size, opened];
}
