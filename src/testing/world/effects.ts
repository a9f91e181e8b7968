/** The world's own log of what tools did to it. It survives every death, and knows nothing of the runtime. */
import type { Complaint } from "./grammar.ts";

export interface Effect {
  readonly tool: string;
  readonly turn: string;
  readonly ordinal: number;
  readonly key: string;
  readonly run: number;
  /** The call of the script: what the model wanted. */
  readonly wanted: string;
}

export class EffectLog {
  readonly list: Effect[] = [];
  readonly #complain: Complaint;

  constructor(complain: Complaint) {
    this.#complain = complain;
  }

  /** Something is done to the world. `once`: whoever did it before must not do it again. */
  perform(effect: Effect, once: boolean): void {
    const same = this.list.filter((known) => known.turn === effect.turn && known.ordinal === effect.ordinal);
    if (once && same.length > 0) {
      this.#complain("C6", `${effect.tool} of ${effect.turn}#${effect.ordinal} was done twice`);
    }
    if (same.some((known) => known.key !== effect.key)) {
      this.#complain("C6", `runs of ${effect.turn}#${effect.ordinal} have different keys`);
    }
    this.list.push(effect);
  }

  done(key: string): Effect | undefined {
    return this.list.find((known) => known.key === key);
  }
}
