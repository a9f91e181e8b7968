/** What the scripted provider says: turns with reasoning, text, parallel calls and several steps. */
import type { Script, ScriptStep, ScriptTurn } from "../../../src/testing/provider/index.ts";

const pace: NonNullable<Script["pace"]> = { chunkChars: [4, 12], delayMs: [2, 5], firstByteMs: [12, 25] };

function note(step: string, words: string): { note: string } {
  return { note: `${step}: ${words}` };
}

/** Every point of a turn is passed here: the scenario of runs that are killed around tools. */
const tools: ScriptStep[] = [
  {
    reasoning: "The user wants three entries made. The ledger comes first, since nothing else may go before it.",
    text: "I begin with the ledger entry. It is written once, whatever may happen to this process on the way. ",
    calls: [{ name: "report", input: note("tools/0", "an entry of forty francs for the bakery in Linz") }],
  },
  {
    text: "Now the delivery and the booking go out side by side. ",
    calls: [
      { name: "retry", input: note("tools/1", "a delivery of twelve crates to the northern depot") },
      { name: "reconcile", input: note("tools/1", "a table for four at the harbour on Friday") },
    ],
  },
  {
    reasoning: "All three are through; a short summary is what is left to say.",
    text: "That is all of it: one ledger entry, one delivery of twelve crates, and a table for four by the harbour. Ask me again if anything is missing from the list.",
  },
];

const parallel: ScriptStep[] = [
  {
    reasoning: "Two look-ups do not depend on each other, so both can start at once and be merged afterwards.",
    text: "I look both things up together. ",
    calls: [
      { name: "lookup", input: { key: "weather in Graz", ms: 60 } },
      { name: "report", input: note("parallel/0", "a reminder for the gardener on Tuesday morning") },
    ],
  },
  {
    reasoning: "The reminder stands. What remains is to call the depot again, under the same key if need be.",
    text: "The first half is done; the depot is told next, and told under one key only. ",
    calls: [{ name: "retry", input: note("parallel/1", "the depot opens its gate two hours earlier") }],
  },
  {
    text: "Both look-ups are back, the gardener has a reminder, and the depot knows about its gate. Mild air moves in from the south-west, so take the thin coat and leave the umbrella where it hangs.",
  },
];

/** No tools: a long answer behind some thinking. */
const plain: ScriptStep[] = [
  {
    reasoning: "A question without tools. Some history first, then the answer proper, then what follows from it.",
    text: "Glass was first poured into flat panes by pouring, then spun into discs, and only then drawn. A drawn pane is never quite even: hold it against the light and the far roofs begin to swim. Since the float process every pane is flat, which is why old windows can be told from new ones at a glance, by nothing but their unrest.",
  },
];

/** A call at once, without a word before it, beside a slow pure one. */
const bare: ScriptStep[] = [
  {
    calls: [
      { name: "reconcile", input: note("bare/0", "a parcel for the lighthouse, to be left with the keeper") },
      { name: "lookup", input: { key: "tide at noon", ms: 40 } },
    ],
  },
  {
    text: "The parcel is with the keeper, and the tide turns shortly after noon; row back before it does.",
  },
];

/** The provider is no better than the process: it breaks off once, and is busy once. */
const faulty: ScriptStep[] = [
  {
    reasoning: "The line is bad today, so this should be said slowly and in small pieces.",
    text: "The boat leaves at six from the lower pier, not from the upper one as it says on the old board by the station. ",
    calls: [{ name: "report", input: note("faulty/0", "a seat on the six o'clock boat, lower pier") }],
    fault: { kind: "reset", afterChunks: 16 },
  },
  {
    text: "Your seat is booked. Be there a little early: the gangway is drawn in on the stroke of six.",
    fault: { kind: "status", status: 503 },
  },
];

/** By the text of the user's message, which is the name of the scenario too. */
export const scenarios = { tools, parallel, plain, bare, faulty } as const;
export type Scenario = keyof typeof scenarios;

const second: ScriptTurn[] = [
  {
    when: "And the second thing, please.",
    steps: [
      {
        reasoning: "This one waited its turn behind the other.",
        text: "The second thing came after the first, as it should. ",
        calls: [{ name: "report", input: note("second/0", "a stamp on the second request, and on no other") }],
      },
      { text: "It is stamped now, once, and the queue behind it is empty." },
    ],
  },
  {
    when: "What came of it meanwhile?",
    steps: [{ text: "What came of it is above: I read the whole of it before I began to answer this." }],
  },
];

export const secondTexts: readonly string[] = second.map((turn) => turn.when);

/** Sent when everything has settled: a conversation that no model accepts any more would fail here. */
export const closingText = "Thank you. Sum it up in a sentence.";
const closing: ScriptTurn = {
  when: closingText,
  steps: [{ text: "Everything that was asked for has been done once, and is on record above." }],
};

export function userText(scenario: Scenario): string {
  return `Please play ${scenario} for me.`;
}

export const script: Script = {
  turns: [
    ...Object.entries(scenarios).map(([name, steps]) => ({ when: userText(name as Scenario), steps: [...steps] })),
    ...second,
    closing,
  ],
  pace,
};

export function stepsOf(when: string): readonly ScriptStep[] {
  const turn = script.turns.find((known) => known.when === when);
  if (!turn) throw new Error(`No turn of the script is called by "${when}".`);
  return turn.steps;
}
