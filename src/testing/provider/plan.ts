// What will be sent for one judged request: all dice are thrown here, so a plan is a value that tests can compare.

import { between, type Dice, pick } from "../prng.ts";
import type { Place } from "./position.ts";
import type { Finish, Manner, Pace } from "./types.ts";

export interface Delta {
  waitMs: number;
  json: Record<string, unknown>;
  text: number;
  reasoning: number;
  args: number;
}

export interface Plan {
  firstByteMs: number;
  deltas: Delta[];
  finish: Finish;
  manner: Manner | null;
  /** The part of the partial that is sent again. */
  tail: string;
}

interface PlanInput {
  place: Place;
  /** How much of the step's text the client has. */
  at: number;
  dice: Dice;
  pace: Pace;
  forced: Manner | null;
  callId: (index: number) => string;
}

const longestRepeat = 40;

export function planAnswer({ place, at, dice, pace, forced, callId }: PlanInput): Plan {
  const { step, partial } = place;
  const text = step.text ?? "";
  const manner = partial === "" ? null : chooseManner(place, at === text.length, dice, forced);
  const tail = manner === "repeat" ? lastOf(partial, between(dice, 1, Math.min(longestRepeat, partial.length))) : "";
  const firstByteMs = between(dice, ...pace.firstByteMs);
  const deltas: Delta[] = [];
  const add = (json: Record<string, unknown>, count: Partial<Delta> = {}) => {
    const waitMs = deltas.length === 0 ? 0 : between(dice, ...pace.delayMs);
    deltas.push({ waitMs, json, text: 0, reasoning: 0, args: 0, ...count });
  };

  const content = tail + text.slice(at);
  add({ role: "assistant", content: content !== "" || manner === "empty" ? "" : null });
  const reasoning = partial === "" ? (step.reasoning ?? "") : "";
  for (const piece of cut(reasoning, dice, pace)) add({ reasoning_content: piece }, { reasoning: piece.length });
  if (manner === "empty") add({ content: "" });
  for (const piece of cut(content, dice, pace)) add({ content: piece }, { text: piece.length });
  const calls = step.calls ?? [];
  for (const [index, call] of calls.entries()) {
    const head = {
      index,
      id: call.id ?? callId(index),
      type: "function",
      function: { name: call.name, arguments: "" },
    };
    add({ tool_calls: [head] });
    for (const piece of cut(JSON.stringify(call.input), dice, pace)) {
      add({ tool_calls: [{ index, function: { arguments: piece } }] }, { args: piece.length });
    }
  }
  return { firstByteMs, deltas, finish: step.finish ?? (calls.length > 0 ? "tool_calls" : "stop"), manner, tail };
}

function chooseManner(place: Place, whole: boolean, dice: Dice, forced: Manner | null): Manner {
  // A prefill goes on in mid word and never repeats; a client does not trim there.
  const wanted =
    forced ?? pick(dice, place.prefill ? (["exact", "empty"] as const) : (["exact", "repeat", "empty"] as const));
  if (wanted === "repeat" && whole) return "exact";
  if (wanted === "empty" && !whole) return "exact";
  return wanted;
}

function lastOf(text: string, length: number): string {
  const from = text.length - length;
  return text.slice(splitsPair(text, from) ? from + (length > 1 ? 1 : -1) : from);
}

/** Cuts a text into pieces by the dice, never inside a surrogate pair. */
function cut(text: string, dice: Dice, pace: Pace): string[] {
  const pieces: string[] = [];
  let from = 0;
  while (from < text.length) {
    const to = from + between(dice, ...pace.chunkChars);
    const end = splitsPair(text, to) ? to + 1 : to;
    pieces.push(text.slice(from, end));
    from = end;
  }
  return pieces;
}

function splitsPair(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return at > 0 && code >= 0xdc00 && code <= 0xdfff;
}
