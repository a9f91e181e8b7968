/** Which turn the code that runs now belongs to: what would wait for itself must not (rule 12). */
import { AsyncLocalStorage } from "node:async_hooks";
import { PerdureError } from "../core/errors.ts";

export interface Inside {
  readonly agent: string;
  readonly turn: string;
  /** The turn still runs. A promise that outlives it is free again. */
  live(): boolean;
}

const storage = new AsyncLocalStorage<Inside>();

export function runInside<T>(inside: Inside, work: () => T): T {
  return storage.run(inside, work);
}

/** Throws REENTRANT_WAIT when called from inside a turn of the same agent. */
export function refuseInside(agent: string, method: string, instead: string): void {
  const inside = storage.getStore();
  if (inside?.agent !== agent || !inside.live()) return;
  throw new PerdureError({
    code: "REENTRANT_WAIT",
    message: `${method} was called from inside turn "${inside.turn}" of the same agent, and would wait for that turn to end.`,
    next: `Nothing was changed. ${instead}`,
  });
}

export function insideTurn(agent: string): string | null {
  const inside = storage.getStore();
  return inside?.agent === agent && inside.live() ? inside.turn : null;
}
