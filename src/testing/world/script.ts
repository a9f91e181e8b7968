/** Script: reads a request as a provider does, and finds what the model is to say. Nothing but the request is asked. */
import { askForRest, askToGoOn, callCut, callTimedOut, callUnknown } from "../../core/texts.ts";
import { isToolPart, type Part, textOf, type UiMessage } from "../../core/transcript.ts";
import type { CallPlan, Scenario, StepPlan, TurnPlan } from "./scenario.ts";

export interface Cue {
  readonly plan: TurnPlan;
  /** The steps of this turn that the request holds with their results. */
  readonly group: number;
  /** What is to be said; the calls are those that are still wanted. */
  readonly step: StepPlan;
  /** The model's own text that it is to go on from. Null: it starts the step. */
  readonly partial: string | null;
  readonly asked: boolean;
}

export function cueOf(scenario: Scenario, messages: readonly UiMessage[]): Cue | null {
  const last = messages.at(-1);
  const order = last?.role === "user" ? textOf(last) : "";
  const asked = order === askForRest;
  const talk = asked || order === askToGoOn ? messages.slice(0, -1) : messages;
  const user = talk.findLastIndex((message) => message.role === "user");
  const plan = planOf(scenario, talk[user]);
  if (!plan) return null;
  const groups = groupsOf(talk[user + 1]);
  // What the request ends in is gone on with, unless it is asked for more than that.
  const open = order !== askToGoOn && !groups.at(-1)?.some(isToolPart) ? groups.at(-1) : undefined;
  const closed = open ? groups.slice(0, -1) : groups;
  const said = closed.filter((parts) => !parts.some(isToolPart)).length;
  const step = said > 0 ? moreOf(plan, said) : wantedStep(plan, closed);
  const partial = open ? open.map((part) => (part.type === "text" ? String(part["text"]) : "")).join("") : null;
  return { plan, group: closed.length, step, partial, asked };
}

/** What is said when there is nothing in the script, and more is asked for. */
function moreOf(plan: TurnPlan, times: number): StepPlan {
  return {
    reasoning: `${plan.id}m${times}`,
    text: `And ${times} more of ${plan.id}. That is all there is.`,
    calls: [],
    finish: "stop",
  };
}

export function planOf(scenario: Scenario, message: UiMessage | undefined): TurnPlan | undefined {
  const id =
    message &&
    textOf(message)
      .replace(/^play /, "")
      .split(" ")[0];
  return scenario.agents.flatMap((cast) => cast.turns).find((turn) => turn.id === id);
}

/** Parts of an assistant message by step. */
export function groupsOf(message: UiMessage | undefined): Part[][] {
  const groups: Part[][] = [];
  for (const part of message?.parts ?? []) {
    if (part.type === "step-start") groups.push([]);
    else groups.at(-1)?.push(part);
  }
  return groups;
}

/** A call that was cut has lost its input, and so what it was for: the model makes it again before it goes on. */
function wantedStep(plan: TurnPlan, done: readonly Part[][]): StepPlan {
  let index = 0;
  let missing: readonly CallPlan[] | null = null;
  for (const parts of done) {
    const wanted: readonly CallPlan[] = missing ?? plan.steps[index]?.calls ?? [];
    const made = new Set(parts.filter((part) => isToolPart(part) && !(plan.insists && isUnknown(part))).map(wantOf));
    missing = wanted.filter((call) => !made.has(call.id));
    if (missing.length > 0) continue;
    missing = null;
    index++;
  }
  const step = plan.steps[index] ?? { reasoning: "", text: "done", calls: [], finish: "stop" };
  return missing ? { reasoning: "", text: "", calls: missing, finish: "tool-calls" } : step;
}

function isUnknown(part: Part): boolean {
  return part["errorText"] === callUnknown || part["errorText"] === callTimedOut;
}

export function wantOf(part: Part): string {
  return part["errorText"] === callCut ? "" : String((part["input"] as { want?: unknown } | undefined)?.want ?? "");
}
