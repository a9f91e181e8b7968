/** What is wrong with a run, by the columns of the table. Each finding is a sentence; none is right. */
import { canonical } from "../../../src/core/json.ts";
import { callCut, callUnknown } from "../../../src/core/texts.ts";
import { historyFaults } from "./history.ts";
import { messageFaults, replayFault } from "./message.ts";
import type { Acknowledged, Evidence } from "./run.ts";

export const columns = [
  "lost",
  "messages",
  "not ended",
  "ended twice",
  "text",
  "settled again",
  "report twice",
  "two keys",
  "refusals",
  "order",
  "other",
] as const;
export type Column = (typeof columns)[number];

export type Findings = { readonly [C in Column]: readonly string[] };

export async function judge(evidence: Evidence): Promise<Findings> {
  const { seen, look, troubles, refusals } = evidence;
  return {
    lost: [...seen.lost, ...lostChunks(evidence)],
    messages: look ? lostMessages(evidence) : [],
    "not ended": look ? notEnded(evidence) : ["the run did not come to its end"],
    "ended twice": endedTwice(evidence),
    text: evidence.acknowledged.flatMap((one) => messageFaults(evidence, one, "text")),
    "settled again": settledAgain(evidence),
    "report twice": effectsTwice(evidence),
    "two keys": twoKeys(evidence),
    refusals: refusals.map(({ code, message }) => `${code}: ${message}`),
    order: look ? historyFaults(evidence) : [],
    other: [...troubles, ...seen.problems, ...(await otherFaults(evidence))],
  };
}

function lostChunks({ seen, look, plan }: Evidence): string[] {
  const lost: string[] = [];
  for (const [turn, { texts }] of look ? seen.turns : []) {
    const log = look?.logs.get(turn) ?? [];
    for (const [offset, text] of texts) {
      if (!same(text, log[offset], plan.stock)) lost.push(`${turn}:${offset} was ${text} and is ${log[offset]}`);
    }
  }
  return lost;
}

/** The SDK's client parses chunks: what it gives has its own order of fields. */
function same(text: string, logged: string | undefined, parsed: boolean): boolean {
  if (text === logged) return true;
  return parsed && logged !== undefined && canonical(JSON.parse(text)) === canonical(JSON.parse(logged));
}

function lostMessages({ look, acknowledged }: Evidence): string[] {
  const users = look?.messages.filter(({ role }) => role === "user") ?? [];
  const lost = acknowledged.flatMap(({ message }) => {
    const found = users.filter(({ id }) => id === message.id);
    if (found.length !== 1) return [`${message.id} is there ${found.length} times`];
    return canonical(found[0]?.parts) === canonical(message.parts) ? [] : [`${message.id} has other content`];
  });
  return users.length === acknowledged.length ? lost : [...lost, `${users.length} user messages`];
}

function notEnded({ look, acknowledged }: Evidence): string[] {
  const faults = acknowledged.flatMap(({ turn }) => {
    const view = look?.turns.get(turn);
    const fine = view?.state === "settled" && view.outcome === "completed";
    return fine ? [] : [`${turn} is ${JSON.stringify(view)}`];
  });
  return look?.status.status === "idle" ? faults : [...faults, `the agent is ${look?.status.status}`];
}

function endedTwice({ look }: Evidence): string[] {
  return [...(look?.logs ?? [])].flatMap(([turn, log]) => {
    const types = log.map((text) => (JSON.parse(text) as { type: string }).type);
    const ends = types.filter((type) => ["finish", "abort", "error"].includes(type));
    if (types.filter((type) => type === "start").length !== 1) return [`${turn} has not one start`];
    return ends.length === 1 && types.at(-1) === ends[0] ? [] : [`${turn} ends with ${ends.join(", ") || "nothing"}`];
  });
}

/** A result that was seen, or had landed when its process died, and a run of its call that began after that. */
function settledAgain(evidence: Evidence): string[] {
  const { seen, deaths, marks, acknowledged } = evidence;
  const known = new Map<string, number>();
  for (const { at, settled } of deaths) for (const key of settled) known.set(key, at);
  for (const { turn } of acknowledged) {
    for (const [label, at] of seen.turns.get(turn)?.results ?? []) {
      const key = keyOf(evidence, turn, label);
      if (key) known.set(key, Math.min(at, known.get(key) ?? at));
    }
  }
  const again = marks.filter(
    ({ what, key, at }) => what === "start" && at > (known.get(key) ?? Number.POSITIVE_INFINITY),
  );
  return again.map(({ tool, key, run }) => `${tool} ${key} was run again (run ${run}) after its result`);
}

/** Ordinals are dense in the order in which calls are announced (C4). */
function keyOf({ look }: Evidence, turn: string, label: string): string | null {
  const view = look?.turns.get(turn);
  const message = look?.messages.find(({ id }) => id === view?.messageId);
  const calls = message?.parts.filter(({ type }) => type.startsWith("tool-")) ?? [];
  const ordinal = calls.findIndex((part) => part["toolCallId"] === label);
  return ordinal < 0 ? null : `${turn}-${ordinal}`;
}

/** Of one call, whatever its key; a call has one input, and the script asks for it once. */
function effectsTwice({ marks }: Evidence): string[] {
  const effects = marks.filter(({ what, tool }) => what === "effect" && (tool === "report" || tool === "reconcile"));
  const inputs = new Set(effects.map(({ tool, input }) => `${tool} ${input}`));
  return [...inputs].flatMap((input) => {
    const times = effects.filter((mark) => `${mark.tool} ${mark.input}` === input).length;
    return times === 1 ? [] : [`${input}: ${times} effects`];
  });
}

function twoKeys({ marks }: Evidence): string[] {
  const keys = new Map<string, Set<string>>();
  for (const { tool, input, key } of marks) {
    const name = `${tool} ${input}`;
    keys.set(name, (keys.get(name) ?? new Set()).add(key));
  }
  return [...keys].flatMap(([name, some]) => (some.size === 1 ? [] : [`${name}: ${[...some].join(", ")}`]));
}

async function otherFaults(evidence: Evidence): Promise<string[]> {
  const faults: string[] = [];
  for (const one of evidence.acknowledged) {
    faults.push(...messageFaults(evidence, one, "other"), ...falseReports(evidence, one), ...notices(evidence, one));
    const fault = await replayFault(evidence, one);
    if (fault) faults.push(fault);
  }
  const { stock, look } = evidence;
  const shown = stock?.message;
  const stored = look?.messages.find(({ id }) => id === shown?.id);
  if (shown && canonical(plain(shown.parts)) !== canonical(stored?.parts)) {
    faults.push(`the SDK shows ${JSON.stringify(shown.parts)}, stored is ${JSON.stringify(stored?.parts)}`);
  }
  return faults;
}

/** What the model is told of a call must be true of the effects. */
function falseReports({ look, marks }: Evidence, { turn }: Acknowledged): string[] {
  const view = look?.turns.get(turn);
  const calls = look?.messages
    .find(({ id }) => id === view?.messageId)
    ?.parts.filter(({ type }) => type.startsWith("tool-"));
  return (calls ?? []).flatMap((part, ordinal) => {
    const key = `${turn}-${ordinal}`;
    const effects = marks.filter((mark) => mark.key === key && mark.what === "effect").length;
    const starts = marks.filter((mark) => mark.key === key && mark.what === "start").length;
    const name = `${part.type} ${key}`;
    if (part["state"] === "output-available") {
      if (part.type === "tool-lookup") return starts > 0 ? [] : [`${name} has a result and never ran`];
      return effects > 0 ? [] : [`${name} has a result and no effect`];
    }
    if (part["errorText"] === callUnknown && part.type === "tool-report") return [];
    if (part["errorText"] === callCut) return starts === 0 ? [] : [`${name} is said not to have run, and ran`];
    return [`${name} is ${part["state"]}: ${part["errorText"]}`];
  });
}

/** H3: at least once; once unless the process died inside. */
function notices({ plan, heard, deaths, look }: Evidence, { turn }: Acknowledged): string[] {
  if (!plan.hooks.notices || !look) return [];
  const times = heard.filter((one) => one.turn === turn).length;
  return times >= 1 && times <= 1 + deaths.length ? [] : [`onChatResponse of ${turn} was called ${times} times`];
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
