/** Time comes in through here and nowhere else (H10 of the house: core and runtime touch no global clock). */
export interface Clock {
  /** Milliseconds since 1970, by the wall. May step; the runtime makes it monotone per agent. */
  now(): number;
  /** Milliseconds that never step, for measuring durations. */
  elapsed(): number;
}

export interface Timers {
  /** Calls back once after `ms`. The returned function forgets it. Delays above 2^31 - 1 ms are the adapter's care. */
  after(ms: number, callback: () => void): () => void;
}

export interface Ids {
  /** A new unique id, ordered by time. */
  mint(kind: "turn" | "command" | "message"): string;
  /** A collision-resistant digest of a text, for content hashes. */
  digest(text: string): string;
  /** 0 <= x < 1, for jitter. */
  random(): number;
}
