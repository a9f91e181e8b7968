/**
 * TurnLog: the shell's view of the turn in flight: where its log ends, what its current step consists of, and the parts
 * of its closed steps. It runs ahead of the store, like the state; a death of the agent forgets it.
 */
import { type Assembly, fold, newAssembly } from "../core/assembly.ts";
import { type Evidence, evidenceOf } from "../core/evidence.ts";
import type { Turn } from "../core/state.ts";
import type { Chunk, StoredPart } from "../core/transcript.ts";

/** One progress unit each, whatever else is said. */
const milestones = new Set([
  "text-start",
  "reasoning-start",
  "tool-input-available",
  "tool-output-available",
  "tool-output-error",
]);

/** Content counts one unit for each stretch of this length. */
const contentMs = 5_000;

export class TurnLog {
  readonly turn: string;
  /** The next offset. */
  next = 0;
  assembly: Assembly = newAssembly();
  /** Parts of the closed steps. */
  closed: StoredPart[] = [];
  /** The row of the turn's message is there. */
  placed = false;
  /** Progress units since the run of the model began. */
  work = 0;
  #contentAt = Number.NEGATIVE_INFINITY;

  constructor(turn: string) {
    this.turn = turn;
  }

  /** Takes one chunk in and returns its offset. `run`: how many runs of the step were cut before it. */
  append(chunk: Chunk, run: number, elapsed: number): number {
    fold(this.assembly, chunk, run);
    if (milestones.has(chunk.type)) this.work++;
    else if (chunk.type.endsWith("-delta") && elapsed - this.#contentAt >= contentMs) {
      this.#contentAt = elapsed;
      this.work++;
    }
    return this.next++;
  }

  /** Gives out offsets for chunks that belong to no step. Returns the first. */
  spend(count: number): number {
    const first = this.next;
    this.next += count;
    return first;
  }

  /** The last chunk is replaced before it has landed. */
  replaceLast(chunk: Chunk, run: number): void {
    fold(this.assembly, chunk, run);
  }

  /** A run of the model begins: what was gained before it is accounted for. */
  beginRun(): void {
    this.work = 0;
    this.#contentAt = Number.NEGATIVE_INFINITY;
  }

  closeStep(parts: readonly StoredPart[]): void {
    this.closed.push(...parts);
    this.assembly = newAssembly();
  }

  evidence(): Evidence {
    return evidenceOf(this.assembly);
  }

  /** Reads one durable chunk in, at its offset. */
  restore(chunk: Chunk, offset: number, turn: Turn): void {
    this.next = offset;
    const cut = turn.cuts.filter((at) => at <= offset).length;
    if (turn.cuts[cut - 1] === offset) this.beginRun();
    this.append(chunk, cut, 0);
    if (chunk.type === "finish-step") this.assembly = newAssembly();
  }
}
