/** Reader: one turn's landed chunks, by offset. Pulled; memory serves who keeps up, the store everybody else. */
import type { AgentKey } from "../core/ids.ts";
import type { Slice, TurnReader } from "../ports/gateway.ts";
import type { Store } from "../ports/store.ts";
import { closed } from "./closed.ts";
import type { Hub } from "./hub.ts";

const pageBytes = 256 * 1024;

type Found = { readonly kind: "slice"; readonly slice: Slice } | { readonly kind: "end" } | { readonly kind: "wait" };

export class Reader implements TurnReader {
  readonly #store: Store;
  readonly #hub: Hub;
  readonly #agent: AgentKey;
  readonly #turn: string;
  #next: number;
  #closed = false;
  #wake: (() => void) | null = null;

  constructor(store: Store, hub: Hub, agent: AgentKey, turn: string, from: number) {
    this.#store = store;
    this.#hub = hub;
    this.#agent = agent;
    this.#turn = turn;
    this.#next = from;
  }

  async read(): Promise<Slice | null> {
    while (!this.#closed && !this.#hub.closed) {
      // The hint is asked for before the data is looked at: what lands in between is not missed.
      const hint = this.#hint();
      let found: Found;
      try {
        found = await this.#look();
        if (found.kind === "wait") await hint.landed;
      } finally {
        hint.forget();
      }
      if (found.kind === "end") return null;
      if (found.kind === "slice") {
        this.#next = found.slice.first + found.slice.texts.length;
        return found.slice;
      }
    }
    // The host goes away: that is no end of the turn.
    if (!this.#closed) throw closed();
    return null;
  }

  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  #hint(): { readonly landed: Promise<void>; forget(): void } {
    let forget = (): void => {};
    const landed = new Promise<void>((resolve) => {
      this.#wake = resolve;
      forget = this.#hub.once(this.#agent, resolve);
    });
    return { landed, forget: () => forget() };
  }

  async #look(): Promise<Found> {
    const live = this.#hub.slice(this.#agent, this.#turn, this.#next);
    if (live) {
      if (live.slice.texts.length > 0) return { kind: "slice", slice: live.slice };
      return { kind: live.ended ? "end" : "wait" };
    }
    const page = await this.#store.chunks(this.#agent, this.#turn, this.#next, pageBytes);
    const texts = page.segments.flatMap((segment) => segment.chunks.map((chunk) => JSON.stringify(chunk)));
    const first = page.segments[0]?.first ?? this.#next;
    if (texts.length > 0 && contiguous(page.segments)) return { kind: "slice", slice: { first, texts } };
    if (page.segments.length > 0) return { kind: "slice", slice: head(page.segments) };
    if (page.next > this.#next) {
      // A damaged stretch: its offsets are spent, and what follows is still there.
      this.#next = page.next;
      return this.#look();
    }
    const row = await this.#store.turn(this.#agent, this.#turn);
    return { kind: !row || row.status === "settled" ? "end" : "wait" };
  }
}

type Segments = Awaited<ReturnType<Store["chunks"]>>["segments"];

function contiguous(segments: Segments): boolean {
  return segments.every((segment, index) => {
    const before = segments[index - 1];
    return !before || segment.first === before.first + before.chunks.length;
  });
}

/** Up to the first gap. */
function head(segments: Segments): Slice {
  const texts: string[] = [];
  let end = segments[0]?.first ?? 0;
  for (const segment of segments) {
    if (segment.first !== end) break;
    texts.push(...segment.chunks.map((chunk) => JSON.stringify(chunk)));
    end += segment.chunks.length;
  }
  return { first: segments[0]?.first ?? 0, texts };
}
