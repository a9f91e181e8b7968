import { setTimeout as sleep } from "node:timers/promises";

/** Waits for a condition that others bring about. Fails with a sentence, never hangs. */
export async function until<T>(what: string, limitMs: number, look: () => T | Promise<T>): Promise<NonNullable<T>> {
  const end = performance.now() + limitMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (performance.now() > end) throw new Error(`Waited ${limitMs / 1_000} s in vain: ${what}.`);
    await sleep(3);
  }
}
