// A gateway of nothing but scripted state: what the door is tested against.
import { type ErrorCode, PerdureError } from "../../src/core/errors.ts";
import { messageIdOf } from "../../src/core/ids.ts";
import { canonical } from "../../src/core/json.ts";
import type { Outcome, PlacedMessage } from "../../src/core/records.ts";
import { type Chunk, storedMessage, type UiMessage } from "../../src/core/transcript.ts";
import type {
  AgentStatus,
  Gateway,
  Slice,
  SubmitInput,
  Submitted,
  TurnReader,
  TurnSource,
  TurnView,
} from "../../src/ports/gateway.ts";

interface FakeTurn {
  readonly id: string;
  readonly agent: string;
  readonly texts: string[];
  view: TurnView;
  snapshot: readonly Chunk[] | null;
}

export class FakeReader implements TurnReader {
  closed = false;
  reads = 0;
  /** Bytes of chunk text that were handed out. */
  bytes = 0;
  #broken: Error | null = null;
  #wake = (): void => {};
  readonly #turn: FakeTurn;
  #next: number;
  readonly #sliceMax: number;

  constructor(turn: FakeTurn, from: number, sliceMax: number) {
    this.#turn = turn;
    this.#next = from;
    this.#sliceMax = sliceMax;
  }

  async read(): Promise<Slice | null> {
    this.reads += 1;
    for (;;) {
      if (this.closed) return null;
      if (this.#broken) throw this.#broken;
      const first = this.#next;
      const texts = this.#turn.texts.slice(first, first + this.#sliceMax);
      if (texts.length > 0) {
        this.#next += texts.length;
        this.bytes += texts.reduce((sum, text) => sum + text.length, 0);
        return { first, texts };
      }
      if (this.#turn.view.state === "settled") return null;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  close(): void {
    this.closed = true;
    this.#wake();
  }

  poke(broken: Error | null = null): void {
    this.#broken = broken ?? this.#broken;
    this.#wake();
  }
}

export class FakeGateway implements Gateway {
  readonly classes = new Set(["chat"]);
  readonly submits: { agent: string; input: SubmitInput }[] = [];
  readonly asked: string[] = [];
  readonly readers: FakeReader[] = [];
  readonly placed = new Map<string, PlacedMessage[]>();
  readonly stops: string[] = [];
  sliceMax = 1_000;
  isReady = true;
  /** Thrown by the next call of any method but `ready` and `has`. */
  fails: unknown = null;
  readonly #turns = new Map<string, FakeTurn>();
  readonly #accepted = new Map<string, { hash: string; turn: string }>();
  #counter = 0;

  ready(): boolean {
    return this.isReady;
  }

  has(agent: string): boolean {
    return this.classes.has(agent);
  }

  async submit(agent: string, input: SubmitInput): Promise<Submitted> {
    this.#ask("submit");
    this.submits.push({ agent, input });
    const message = input.messages[0]!;
    const hash = canonical(input.messages);
    const known = this.#accepted.get(`${agent} ${message.id}`);
    if (known && known.hash !== hash) throw problem("CONTENT_CONFLICT");
    if (known) return { turn: known.turn, messageId: messageIdOf(known.turn), accepted: false };
    const turn = this.open(agent);
    this.#accepted.set(`${agent} ${message.id}`, { hash, turn });
    return { turn, messageId: messageIdOf(turn), accepted: true };
  }

  async stop(agent: string): Promise<boolean> {
    this.stops.push(agent);
    return true;
  }

  async status(agent: string): Promise<AgentStatus> {
    this.#ask("status");
    const turn = this.#latest(agent);
    const live = turn && turn.view.state !== "settled";
    return {
      status: live ? "running" : "idle",
      turn: live ? { id: turn.id, messageId: turn.view.messageId, queued: 0 } : null,
      incident: null,
      pending: [],
      last: null,
    };
  }

  async turn(agent: string, turn: string): Promise<TurnView | null> {
    this.#ask("turn");
    return this.#find(agent, turn)?.view ?? null;
  }

  async current(agent: string, withinMs: number): Promise<string | null> {
    this.#ask(`current ${withinMs}`);
    const turn = this.#latest(agent);
    if (!turn) return null;
    const { state, endedAt } = turn.view;
    return state !== "settled" || Date.now() - (endedAt ?? 0) < withinMs ? turn.id : null;
  }

  async source(agent: string, turn: string, from: number): Promise<TurnSource> {
    this.#ask(`source ${from}`);
    const found = this.#find(agent, turn);
    if (!found) throw problem("TURN_NOT_FOUND");
    if (found.snapshot) return { kind: "snapshot", turn, chunks: found.snapshot };
    const reader = new FakeReader(found, from, this.sliceMax);
    this.readers.push(reader);
    return { kind: "chunks", turn, reader };
  }

  async messages(agent: string, after: number, countMax: number): Promise<readonly PlacedMessage[]> {
    this.#ask("messages");
    return (this.placed.get(agent) ?? []).filter(({ depth }) => depth > after).slice(0, countMax);
  }

  // ---- the script

  open(agent: string): string {
    this.#counter += 1;
    const id = `turn_${String(this.#counter).padStart(4, "0")}`;
    const view: TurnView = { id, messageId: messageIdOf(id), state: "running", createdAt: 1, startedAt: 2 };
    this.#turns.set(id, { id, agent, texts: [], view, snapshot: null });
    return id;
  }

  append(turn: string, ...chunks: readonly Chunk[]): void {
    this.#turns.get(turn)!.texts.push(...chunks.map((chunk) => JSON.stringify(chunk)));
    this.#poke();
  }

  /** The end of a turn: its last chunk and its state land together. */
  settle(turn: string, end: Chunk = { type: "finish" }, outcome: Outcome = "completed", endedAt = Date.now()): void {
    const found = this.#turns.get(turn)!;
    found.texts.push(JSON.stringify(end));
    found.view = { ...found.view, state: "settled", outcome, endedAt };
    this.#poke();
  }

  /** Its chunks are past their time. */
  expire(turn: string, chunks: readonly Chunk[]): void {
    this.#turns.get(turn)!.snapshot = chunks;
  }

  /** The whole log of a small turn. */
  say(turn: string, words: readonly string[], end: Chunk = { type: "finish" }): void {
    this.append(turn, ...opening(messageIdOf(turn)), ...words.map((delta) => ({ type: "text-delta", id: "t", delta })));
    this.append(turn, { type: "text-end", id: "t" }, { type: "finish-step" });
    this.settle(turn, end);
  }

  texts(turn: string): readonly string[] {
    return this.#turns.get(turn)!.texts;
  }

  place(agent: string, messages: readonly UiMessage[]): void {
    this.placed.set(
      agent,
      messages.map((message, depth) => ({ depth, message: storedMessage(message) })),
    );
  }

  /** The host closes: every pending read fails. */
  die(error: Error = problem("HOST_CLOSED")): void {
    for (const reader of this.readers) reader.poke(error);
  }

  #ask(call: string): void {
    this.asked.push(call);
    const { fails } = this;
    this.fails = null;
    if (fails !== null) throw fails;
  }

  #find(agent: string, turn: string): FakeTurn | undefined {
    const found = this.#turns.get(turn);
    return found?.agent === agent ? found : undefined;
  }

  #latest(agent: string): FakeTurn | undefined {
    return [...this.#turns.values()].filter((turn) => turn.agent === agent).at(-1);
  }

  #poke(): void {
    for (const reader of this.readers) reader.poke();
  }
}

export function opening(messageId: string): readonly Chunk[] {
  return [{ type: "start", messageId }, { type: "start-step" }, { type: "text-start", id: "t" }];
}

export function problem(code: ErrorCode): PerdureError {
  return new PerdureError({ code, message: `This is ${code}.`, next: "Nothing else." });
}
