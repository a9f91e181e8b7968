import type { AgentKey } from "../../core/ids.ts";

/** Who wants a hint when something of an agent has landed (D4). */
export class Watchers {
  readonly #watches = new Map<AgentKey, Set<{ readonly listener: () => void }>>();

  add(agent: AgentKey, listener: () => void): () => void {
    const watches = this.#watches.get(agent) ?? new Set();
    const watch = { listener };
    this.#watches.set(agent, watches.add(watch));
    return () => {
      watches.delete(watch);
      if (watches.size === 0 && this.#watches.get(agent) === watches) this.#watches.delete(agent);
    };
  }

  notify(agent: AgentKey): void {
    for (const { listener } of [...(this.#watches.get(agent) ?? [])]) {
      try {
        listener();
      } catch {
        // A listener's failure is its own: what it was told of has landed and is answered as landed.
      }
    }
  }

  clear(): void {
    this.#watches.clear();
  }
}
