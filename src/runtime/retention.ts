/** Retention: what is past its time goes, one small slice after the other, between commits. */
import type { Services } from "../ports/services.ts";

const everyMs = 60_000;
const rowsMax = 200;
const tombstonesMs = 7 * 24 * 3_600_000;
const hourMs = 3_600_000;

export class Retention {
  readonly #services: Services;
  readonly #chunksMs: number;
  #timer: (() => void) | null = null;

  constructor(services: Services, chunksMs = hourMs) {
    this.#services = services;
    this.#chunksMs = chunksMs;
  }

  start(): void {
    this.#after(Math.min(everyMs, this.#chunksMs));
  }

  close(): void {
    this.#timer?.();
    this.#timer = null;
  }

  #after(ms: number): void {
    this.#timer = this.#services.timers.after(ms, () => void this.#slice());
  }

  async #slice(): Promise<void> {
    const { store, clock } = this.#services;
    const limits = { chunksMs: this.#chunksMs, tombstonesMs, rowsMax };
    const more = await store.retain(clock.now(), limits).catch(() => false);
    // Closed meanwhile: nothing is armed again.
    if (this.#timer !== null) this.#after(more ? 10 : Math.min(everyMs, this.#chunksMs));
  }
}
