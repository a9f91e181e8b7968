/** A raw reader of the stream beside the SDK's client: it resumes with `Last-Event-ID`, and counts by offset. */
import type { Chunk } from "../../src/core/transcript.ts";

export class Tap {
  /** What was seen, by offset: the JSON text of each chunk. */
  readonly seen = new Map<number, string>();
  turn = "";
  /** `[DONE]` was read. */
  done = false;
  /** Deliveries of a chunk that had been seen before. */
  again = 0;
  #lastId = "";

  /** In the order in which they came. */
  get chunks(): Chunk[] {
    return [...this.seen.values()].map((text) => JSON.parse(text) as Chunk);
  }

  /** Reads until the stream ends or breaks. Answers false when there was no stream yet. */
  async read(url: string): Promise<boolean> {
    try {
      const headers: Record<string, string> = this.#lastId === "" ? {} : { "last-event-id": this.#lastId };
      const response = await fetch(url, { headers });
      if (response.status !== 200 || response.body === null) return false;
      let rest = "";
      for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
        const events = (rest + piece).split("\n\n");
        rest = events.pop() ?? "";
        for (const event of events) this.#take(event);
      }
    } catch {
      // The server is gone: whoever killed it attaches again.
    }
    return true;
  }

  #take(event: string): void {
    const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(event)?.[1];
    const [id, data] = [field("id"), field("data")];
    if (data === "[DONE]") this.done = true;
    if (id === undefined || data === undefined) return;
    const colon = id.lastIndexOf(":");
    const offset = Number(id.slice(colon + 1));
    if (this.seen.has(offset)) this.again += 1;
    this.turn = id.slice(0, colon);
    this.#lastId = id;
    this.seen.set(offset, data);
  }
}

/** How many of the seen chunks are not in the final log as they were seen, or were never seen although they are. */
export function lostChunks(tap: Tap, final: Tap): number {
  const offsets = new Set([...tap.seen.keys(), ...final.seen.keys()]);
  return [...offsets].filter((offset) => tap.seen.get(offset) !== final.seen.get(offset)).length;
}
