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
  begin(step: string, base: string, script: string, repeat: number, hangs = false): string {
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
    // A repeat in which the model falls silent is let go undecided (V2): half of it may be seen.
    const half: Run[] = hangs && again === 0 ? [this.#untrimmed(before, base, repeat)] : [];
    this.#runs.set(step, [...(this.#runs.get(step) ?? []), ...half, { text, at }]);
    return base.slice(base.length - repeat) + rest;
  }

  #untrimmed(before: Run, base: string, repeat: number): Run {
    const shown = before.at.slice(0, base.length + 1);
    const again = before.at.slice(base.length + 1 - repeat, base.length + 1);
    return { text: base + base.slice(base.length - repeat), at: [...shown, ...again] };
  }

  /** Whether the partial is what was said, white space included. */
  exact(step: string, partial: string): boolean {
    return partial === "" || (this.#runs.get(step) ?? []).some(({ text }) => text.startsWith(partial));
  }

  /** What the step comes to, if its last run was the last. */
  whole(step: string): string {
    return this.#runs.get(step)?.at(-1)?.text ?? "";
  }

  /** Whether the step came to this in one of its runs: where two owners asked, the later one need not have won. */
  came(step: string, text: string): boolean {
    return (this.#runs.get(step) ?? []).some((run) => run.text === text);
  }

  /** Whether a reader may see so much of a step that was never finished. */
  possible(step: string, text: string): boolean {
    return text === "" || (this.#runs.get(step) ?? []).some((run) => run.text.startsWith(text));
  }

  #upTo(step: string, partial: string): Run {
    if (partial === "") return nothing;
    const runs = this.#runs.get(step) ?? [];
    const run = runs.findLast(({ text }) => text.startsWith(partial)) ?? loose(runs, partial);
    if (run) return run;
    this.#complain("R4", `a model is to go on from a text of ${step} that none has said: ${JSON.stringify(partial)}`);
    return nothing;
  }
}

/** A part of white space alone is not sent, so a model may see its words run together. */
function loose(runs: readonly Run[], partial: string): Run | undefined {
  const wanted = partial.replace(/\s/g, "");
  const run = runs.findLast(({ text }) => text.replace(/\s/g, "").startsWith(wanted));
  if (!run) return undefined;
  let at = 0;
  const positions = Array.from(partial, (char) => {
    while (at < run.text.length && run.text[at] !== char) at++;
    at++;
    return run.at[at] ?? 0;
  });
  return { text: partial, at: [0, ...positions] };
}
