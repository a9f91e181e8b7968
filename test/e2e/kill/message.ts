/** A turn's message against its script and its log. */
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { canonical } from "../../../src/core/json.ts";
import type { ScriptStep } from "../../../src/testing/provider/index.ts";
import type { ShownMessage, ShownPart } from "./look.ts";
import type { Acknowledged, Evidence } from "./run.ts";
import { stepsOf } from "./script.ts";

export function messageOf({ look }: Evidence, { turn }: Acknowledged): ShownMessage | undefined {
  const view = look?.turns.get(turn);
  return look?.messages.find(({ id }) => id === view?.messageId);
}

export function textOf(parts: readonly ShownPart[]): string {
  return parts.map((part) => (part.type === "text" ? String(part["text"]) : "")).join("");
}

export function messageFaults(evidence: Evidence, one: Acknowledged, about: "text" | "other"): string[] {
  const message = messageOf(evidence, one);
  if (!message) return about === "text" && evidence.look ? [`${one.turn} has no message`] : [];
  const steps = stepsIn(message);
  const script = stepsOf(one.text);
  if (about === "text")
    return script.flatMap((step, index) => stepTextFaults(evidence, one, step, index, steps[index] ?? []));
  const faults = script.flatMap((step, index) =>
    stepFaults(step, steps[index] ?? []).map((fault) => `${one.turn} step ${index}: ${fault}`),
  );
  return steps.length === script.length
    ? faults
    : [...faults, `${one.turn} has ${steps.length} steps of ${script.length}`];
}

function stepsIn({ parts }: ShownMessage): ShownPart[][] {
  const steps: ShownPart[][] = [];
  for (const part of parts) {
    if (part.type === "step-start") steps.push([]);
    else steps.at(-1)?.push(part);
  }
  return steps;
}

function stepTextFaults(
  evidence: Evidence,
  one: Acknowledged,
  step: ScriptStep,
  index: number,
  parts: readonly ShownPart[],
): string[] {
  const asked = evidence.requests.filter(
    (record) => record.userText === one.text && record.step === index && record.kind === "continuation",
  );
  const repeats = asked.map(({ partialChars, repeated }) => ({ at: partialChars ?? 0, repeated: repeated ?? 0 }));
  const fault = textFault(textOf(parts), step.text ?? "", repeats);
  return fault === null ? [] : [`${one.turn} step ${index}: ${fault}`];
}

/** Repeats of so many characters are trimmed (V1). Said again here: the judge does not take the accused's word for it. */
const trimmedFrom = 16;

/**
 * The text of a step against the script's. Allowed is what the provider's log says that it sent twice: at each
 * continuation a repeat of less than 16 characters of what was there.
 */
export function textFault(
  text: string,
  script: string,
  continuations: readonly { readonly at: number; readonly repeated: number }[],
): string | null {
  let position = 0;
  let at = 0;
  let repeat = "";
  for (const { at: end, repeated } of [...continuations, { at: text.length, repeated: 0 }]) {
    if (end < at || end > text.length)
      return `a continuation began at ${end} of ${text.length} characters, after ${at}`;
    const piece = text.slice(at, end);
    const due = repeat + script.slice(position);
    if (!due.startsWith(piece))
      return `${JSON.stringify(piece)} where ${JSON.stringify(due.slice(0, piece.length + 20))} was due`;
    position += Math.max(0, piece.length - repeat.length);
    at = end;
    repeat = repeated < trimmedFrom ? text.slice(at - repeated, at) : "";
  }
  return position === script.length ? null : `it ends before ${JSON.stringify(script.slice(position, position + 40))}`;
}

/** Reasoning and calls. */
function stepFaults(step: ScriptStep, parts: readonly ShownPart[]): string[] {
  const faults: string[] = [];
  const thoughts = parts.filter(({ type }) => type === "reasoning").map((part) => String(part["text"]));
  const reasoning = step.reasoning ?? "";
  // What was cut stays to be seen, and the step thinks again.
  if (thoughts.some((thought) => !reasoning.startsWith(thought))) faults.push(`reasoning ${JSON.stringify(thoughts)}`);
  if (reasoning !== "" && thoughts.at(-1) !== reasoning)
    faults.push(`the last reasoning is ${JSON.stringify(thoughts.at(-1))}`);
  if (parts.some((part) => part["state"] === "streaming")) faults.push("a part is still streaming");
  const asked = (step.calls ?? []).map(({ name, input }) => `${name} ${canonical(input)}`);
  const calls = parts.filter(({ type }) => type.startsWith("tool-"));
  const whole = calls.map((part) => `${part.type.slice("tool-".length)} ${canonical(part["input"])}`);
  const cut = calls.some((part) => part["state"] === "output-error");
  whole.forEach((call, index) => {
    // The input of a call that was cut is not kept.
    if (call !== asked[index] && calls[index]?.["state"] !== "output-error")
      faults.push(`${call} where ${asked[index]} was due`);
  });
  if (calls.length !== asked.length && !cut) faults.push(`${calls.length} calls of ${asked.length}`);
  return faults;
}

/** The log, read by the SDK's own client, gives the message that is stored. */
export async function replayFault(evidence: Evidence, one: Acknowledged): Promise<string | null> {
  const log = evidence.look?.logs.get(one.turn);
  const stored = messageOf(evidence, one);
  if (!log || !stored) return null;
  const stream = ReadableStream.from(
    log.map((text) => JSON.parse(text) as UIMessageChunk),
  ) as ReadableStream<UIMessageChunk>;
  let shown: UIMessage | null = null;
  try {
    for await (const state of readUIMessageStream<UIMessage>({ stream, terminateOnError: true })) shown = state;
  } catch (error) {
    return `the SDK cannot read the log of ${one.turn}: ${String(error)}`;
  }
  const parts = canonical(JSON.parse(JSON.stringify(shown?.parts ?? [])));
  if (parts === canonical(stored.parts)) return null;
  return `the log of ${one.turn} replays to ${parts}, stored is ${canonical(stored.parts)}`;
}
