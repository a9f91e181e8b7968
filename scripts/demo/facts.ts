/** What is measured, and what it must be. */

/** The last line of `--json`. Null: cannot be known on a real model, or was not reached. */
export interface Facts {
  outcome: string;
  kills: number;
  seenChunks: number;
  lostChunks: number | null;
  duplicatedText: boolean | null;
  assistantMessages: number | null;
  modelCalls: number | null;
  effects: number | null;
  /** From the spawn of a restarted server to the first request of its recovery, the worst of all. Measured, not guessed. */
  recoveryMs: number | null;
}

export function noFacts(): Facts {
  return {
    outcome: "unfinished",
    kills: 0,
    seenChunks: 0,
    lostChunks: null,
    duplicatedText: null,
    assistantMessages: null,
    modelCalls: null,
    effects: null,
    recoveryMs: null,
  };
}

/** One thing that must hold. */
export interface Check {
  readonly what: string;
  readonly found: string;
  readonly holds: boolean;
}

export function check(what: string, found: unknown, holds: boolean): Check {
  return { what, found: String(found), holds };
}

/** The kill came too late, or too early, to show what it was to show: the run says nothing, and is made again. */
export class Missed extends Error {}

const leastRepeat = 8;

/** A stretch of text that stands twice in a row. */
export function repeatsItself(text: string): boolean {
  return new RegExp(`(.{${leastRepeat},})\\1`, "s").test(text);
}
