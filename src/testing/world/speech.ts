/**
 * Speech: what scripted models have said, run by run, so that from any partial text it is known how much of the script
 * it holds. A repeat of 16 characters and more is trimmed before it is seen; a shorter one stays (section overlap).
 */
import { limits } from "../../core/limits.ts";
import type { Complaint } from "./grammar.ts";

interface Run {
  /** All that a reader may see of the step, this run included. */
  readonly text: string;
  /** `at[n]`: how much of the script the first n characters of it hold. */
  readonly at: readonly number[];
}

const nothing: Run = { text: "", at: [0] };

export class Speech {
  /** Provider items of responses that ended in order. */
  readonly items = new Set<string>();
  readonly #runs = new Map<string, Run[]>();
  readonly #complain: Complaint;

  constructor(complain: Complaint) {
    this.#complain = complain;
  }

  /** A model goes on from `base`, of which it says the last `repeat` characters again. Answers what it says. */
  begin(step: string, base: string, script: string, repeat: number): string {
    const before = this.#upTo(step, base);
    const from = before.at[base.length] ?? 0;
    const rest = script.slice(from);
    const again = repeat >= limits.overlapCharsMin ? 0 : repeat;
    const text = base + base.slice(base.length - again) + rest;
    const at = [
      ...before.at.slice(0, base.length + 1),
      ...before.at.slice(base.length + 1 - again, base.length + 1),
      ...Array.from(rest, (_, index) => from + index + 1),
    ];
    this.#runs.set(step, [...(this.#runs.get(step) ?? []), { text, at }]);
    return base.slice(base.length - repeat) + rest;
  }

  /** What the step comes to, if its last run was the last. */
  whole(step: string): string {
    return this.#runs.get(step)?.at(-1)?.text ?? "";
  }

  /** Whether a reader may see so much of a step that was never finished. */
  possible(step: string, text: string): boolean {
    return text === "" || (this.#runs.get(step) ?? []).some((run) => run.text.startsWith(text));
  }

  #upTo(step: string, partial: string): Run {
    if (partial === "") return nothing;
    const run = this.#runs.get(step)?.findLast(({ text }) => text.startsWith(partial));
    if (run) return run;
    this.#complain("O1", `a model is to go on from a text of ${step} that none has said: ${JSON.stringify(partial)}`);
    return nothing;
  }
}
