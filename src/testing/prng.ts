/** A seeded dice: each throw is a number in [0, 1). The same seed gives the same throws on every machine. */
export type Dice = () => number;

/** A small seeded generator (splitmix32). Good for tests, useless for secrets. */
export function prng(seed: number): Dice {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** A whole number from min to max, both included. */
export function between(dice: Dice, min: number, max: number): number {
  return min + Math.floor(dice() * (max - min + 1));
}

/** One of the items, all equally likely. */
export function pick<T>(dice: Dice, items: readonly T[]): T {
  if (items.length === 0) throw new RangeError("pick needs at least one item.");
  return items[Math.floor(dice() * items.length)] as T;
}

/** One 32-bit seed out of several things (FNV-1a), so that independent dice do not depend on the order of use. */
export function seedOf(...things: readonly (string | number)[]): number {
  let hash = 0x811c9dc5;
  for (const char of things.join("\u0000")) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return hash >>> 0;
}
