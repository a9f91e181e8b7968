// Where a request stands in the script, read from its messages alone.

import { type Message, refuse } from "./read.ts";
import type { Script, ScriptStep, ScriptTurn } from "./types.ts";

export interface Place {
  /** `when` of the turn, or `(default)`. */
  turn: string;
  userText: string;
  stepIndex: number;
  step: ScriptStep;
  /** Empty unless this is a continuation. */
  partial: string;
  prefill: boolean;
}

/** A short repeat that we sent: the client may have kept it, so its next partial may go on from here. */
export interface KeptRepeat {
  partial: string;
  tail: string;
  /** Script position of the end of `partial`. */
  at: number;
}

export function locate(script: Script, messages: readonly Message[]): Place {
  const { anchor, turn, steps } = findAnchor(script, messages);
  let stepIndex = 0;
  let partial = "";
  for (const message of messages.slice(anchor + 1)) {
    if (message.role !== "assistant") continue;
    if (message.callIds.length > 0) {
      stepIndex += 1;
      partial = "";
    } else {
      partial += message.text;
    }
  }
  const step = steps[stepIndex];
  if (step === undefined) {
    refuse("past_script", "messages", `Turn '${turn}' has ${steps.length} steps; step ${stepIndex} was asked for.`);
  }
  const userText = messages[anchor]?.text ?? "";
  return { turn, userText, stepIndex, step, partial, prefill: messages.at(-1)?.role === "assistant" };
}

function findAnchor(script: Script, messages: readonly Message[]) {
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index];
    if (message?.role !== "user") continue;
    if (isMarkedContinuation(script, messages, index)) continue;
    const turn = matchTurn(script, message.text);
    if (turn !== undefined) return { anchor: index, turn: turn.when, steps: turn.steps };
    if (script.continuation === undefined && followsPartial(messages, index)) continue;
    if (script.default !== undefined) return { anchor: index, turn: "(default)", steps: script.default.steps };
    refuse("no_script", `messages[${index}]`, `No script turn matches '${message.text.slice(0, 80)}'.`);
  }
  return refuse("no_script", "messages", "No user message that a script turn matches.");
}

function matchTurn(script: Script, text: string): ScriptTurn | undefined {
  const exact = script.turns.find((turn) => turn.when === text);
  return exact ?? script.turns.find((turn) => text.includes(turn.when));
}

function isMarkedContinuation(script: Script, messages: readonly Message[], index: number): boolean {
  if (script.continuation === undefined || !messages[index]?.text.includes(script.continuation)) return false;
  if (followsPartial(messages, index)) return true;
  return refuse("misplaced_continuation", `messages[${index}]`, "A continue message must follow a partial text.");
}

function followsPartial(messages: readonly Message[], index: number): boolean {
  const before = messages[index - 1];
  return before?.role === "assistant" && before.callIds.length === 0;
}

/** How much of the scripted text the partial holds. Refuses a partial that we never sent. */
export function scriptPosition(text: string, partial: string, kept: readonly KeptRepeat[]): number {
  if (text.startsWith(partial)) return partial.length;
  for (const { partial: base, tail, at } of kept) {
    const whole = base + tail;
    if (whole.startsWith(partial) && partial.startsWith(base)) return at;
    if (partial.startsWith(whole) && text.startsWith(partial.slice(whole.length), at)) {
      return at + partial.length - whole.length;
    }
  }
  let same = 0;
  while (same < partial.length && partial[same] === text[same]) same += 1;
  const got = JSON.stringify(partial.slice(same, same + 40));
  const want = JSON.stringify(text.slice(same, same + 40));
  return refuse(
    "continuation_mismatch",
    "messages",
    `Not what was sent: from character ${same} on ${got}, not ${want}.`,
  );
}
