/** What one client has seen of the turns of a run: chunk texts by offset, and what contradicted itself. */

export interface SeenTurn {
  /** By offset. */
  readonly texts: Map<number, string>;
  /** When a result of a call was first seen, by the call's label. */
  readonly results: Map<string, number>;
  /** Streams of this turn that ended in order. */
  ends: number;
}

export class Seen {
  readonly turns = new Map<string, SeenTurn>();
  /** Chunks that were received, repeats included. */
  received = 0;
  readonly lost: string[] = [];
  readonly problems: string[] = [];

  turn(id: string): SeenTurn {
    const known = this.turns.get(id) ?? { texts: new Map(), results: new Map(), ends: 0 };
    this.turns.set(id, known);
    return known;
  }

  chunk(turn: string, offset: number, text: string): void {
    this.received += 1;
    const seen = this.turn(turn);
    const before = seen.texts.get(offset);
    if (before !== undefined && before !== text) {
      this.lost.push(`${turn}:${offset} was seen as ${before} and then as ${text}`);
      return;
    }
    if (before !== undefined) return;
    seen.texts.set(offset, text);
    const chunk = JSON.parse(text) as { type: string; toolCallId?: string; preliminary?: boolean };
    const final = chunk.type === "tool-output-available" && chunk.preliminary !== true;
    if (final && chunk.toolCallId) seen.results.set(chunk.toolCallId, Date.now());
  }
}

const endings = new Set(["finish", "abort", "error"]);

export function endsLog(text: string): boolean {
  return endings.has((JSON.parse(text) as { type: string }).type);
}

/** One event of an SSE body: its `id:` and its `data:`. Comments are passed over. */
export interface SseEvent {
  readonly id: string | null;
  readonly data: string;
}

/** Throws when the body breaks off. A clean end without `[DONE]` is an end all the same: the caller judges. */
export async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<SseEvent> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const piece of body) {
    rest += decoder.decode(piece, { stream: true });
    const blocks = rest.split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = parse(block);
      if (event) yield event;
    }
  }
}

function parse(block: string): SseEvent | null {
  let id: string | null = null;
  let data: string | null = null;
  for (const line of block.split("\n")) {
    if (line.startsWith("id: ")) id = line.slice(4);
    if (line.startsWith("data: ")) data = line.slice(6);
  }
  return data === null ? null : { id, data };
}
