/**
 * Hub: says that something of an agent has landed, and keeps the last landed chunks of live turns, so that readers who
 * keep up need not ask the store. A hint and a cache: whoever reads, reads by offset (D4).
 */
import type { AgentKey } from "../core/ids.ts";
import type { Slice } from "../ports/gateway.ts";

/** Chunks of one turn that are kept in memory. */
const tailCharsMax = 256 * 1024;

interface Tail {
  slices: Slice[];
  chars: number;
  next: number;
  ended: boolean;
}

export class Hub {
  readonly #waiting = new Map<AgentKey, Set<() => void>>();
  readonly #tails = new Map<AgentKey, Map<string, Tail>>();
  #closed = false;

  get closed(): boolean {
    return this.#closed;
  }

  /** Chunks that have just landed. */
  landed(agent: AgentKey, turn: string, first: number, texts: readonly string[]): void {
    const tails = this.#tails.get(agent) ?? new Map<string, Tail>();
    this.#tails.set(agent, tails);
    if (!tails.has(turn)) forgetEnded(tails);
    const tail = tails.get(turn) ?? { slices: [], chars: 0, next: first, ended: false };
    tails.set(turn, tail);
    tail.slices.push({ first, texts });
    tail.next = first + texts.length;
    tail.chars += length(texts);
    while (tail.chars > tailCharsMax && tail.slices.length > 1) tail.chars -= length(tail.slices.shift()?.texts ?? []);
  }

  ended(agent: AgentKey, turn: string): void {
    const tail = this.#tails.get(agent)?.get(turn);
    if (tail) tail.ended = true;
  }

  /** Tails of ended turns that nobody needs; all of them, when the agent leaves memory. */
  forget(agent: AgentKey, turn?: string): void {
    if (turn === undefined) this.#tails.delete(agent);
    else this.#tails.get(agent)?.delete(turn);
  }

  /** From offset `from` on: null when memory does not hold it; an empty slice when there is nothing yet. */
  slice(agent: AgentKey, turn: string, from: number): { readonly slice: Slice; readonly ended: boolean } | null {
    const tail = this.#tails.get(agent)?.get(turn);
    if (!tail || from > tail.next) return null;
    const oldest = tail.slices[0]?.first ?? tail.next;
    if (from < oldest) return null;
    const texts: string[] = [];
    for (const { first, texts: some } of tail.slices) {
      if (first + some.length > from) texts.push(...some.slice(Math.max(0, from - first)));
    }
    return { slice: { first: from, texts }, ended: tail.ended };
  }

  /** Calls back once, at the next thing of the agent that lands. */
  once(agent: AgentKey, listener: () => void): () => void {
    const listeners = this.#waiting.get(agent) ?? new Set();
    this.#waiting.set(agent, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#waiting.get(agent) === listeners) this.#waiting.delete(agent);
    };
  }

  notify(agent: AgentKey): void {
    const listeners = this.#waiting.get(agent);
    if (!listeners) return;
    this.#waiting.delete(agent);
    for (const listener of listeners) listener();
  }

  close(): void {
    this.#closed = true;
    for (const agent of [...this.#waiting.keys()]) this.notify(agent);
  }
}

/** Who still reads an ended turn finds the rest in the store. */
function forgetEnded(tails: Map<string, Tail>): void {
  for (const [turn, tail] of tails) if (tail.ended) tails.delete(turn);
}

function length(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0);
}
