/** The chunk log of one turn, checked as it grows: one `start`, one end, and everything between well-formed (T4). */
import type { Chunk } from "../../core/transcript.ts";

export type Complaint = (rule: string, text: string) => void;

type CallState = "input" | "whole" | "ended";

const ends = new Set(["finish", "abort", "error"]);

export class Grammar {
  readonly #complain: Complaint;
  readonly #turn: string;
  #count = 0;
  #ended = false;
  #step = false;
  readonly #open = new Set<string>();
  readonly #used = new Set<string>();
  readonly #calls = new Map<string, CallState>();

  constructor(turn: string, complain: Complaint) {
    this.#turn = turn;
    this.#complain = complain;
  }

  get ended(): boolean {
    return this.#ended;
  }

  take(chunk: Chunk): void {
    const before = this.#count++;
    if ((chunk.type === "start") !== (before === 0)) this.#wrong(chunk, "`start` is the first chunk, and no other is");
    if (this.#ended) this.#wrong(chunk, "nothing follows the end");
    if (chunk.type === "start") return;
    if (ends.has(chunk.type)) return this.#end(chunk);
    if (chunk.type === "start-step") return this.#startStep(chunk);
    if (!this.#step) this.#wrong(chunk, "content lies inside a step");
    if (chunk.type === "finish-step") return this.#finishStep(chunk);
    if (chunk.type.startsWith("tool-")) return this.#tool(chunk);
    if (chunk.type.startsWith("text-") || chunk.type.startsWith("reasoning-")) return this.#spoken(chunk);
    if (chunk.type !== "source-url") this.#wrong(chunk, "this chunk has no place in a scripted world");
  }

  #startStep(chunk: Chunk): void {
    if (this.#step) this.#wrong(chunk, "a step that runs again has no second `start-step`");
    this.#step = true;
  }

  #finishStep(chunk: Chunk): void {
    this.#closed(chunk);
    this.#step = false;
  }

  #end(chunk: Chunk): void {
    this.#closed(chunk);
    if (chunk.type === "finish" && this.#step) this.#wrong(chunk, "`finish` comes after `finish-step`");
    this.#ended = true;
  }

  #closed(chunk: Chunk): void {
    if (this.#open.size > 0) this.#wrong(chunk, `still open: ${[...this.#open].join(", ")}`);
    for (const [label, state] of this.#calls) if (state !== "ended") this.#wrong(chunk, `call ${label} has no end`);
  }

  #spoken(chunk: Chunk): void {
    const [kind, phase] = chunk.type.split("-");
    const slot = `${kind}:${String(chunk["id"])}`;
    if (phase === "start") {
      if (this.#used.has(slot)) this.#wrong(chunk, "a part's id is given once");
      this.#used.add(slot);
      this.#open.add(slot);
      return;
    }
    if (!this.#open.has(slot)) this.#wrong(chunk, "its part is not open");
    if (phase === "end") this.#open.delete(slot);
    else if (typeof chunk["delta"] !== "string" || chunk["delta"] === "") this.#wrong(chunk, "a delta says something");
  }

  #tool(chunk: Chunk): void {
    const label = String(chunk["toolCallId"]);
    const state = this.#calls.get(label);
    switch (chunk.type) {
      case "tool-input-start":
        if (state) this.#wrong(chunk, "a call's label is given once");
        this.#calls.set(label, "input");
        return;
      case "tool-input-delta":
        if (state !== "input") this.#wrong(chunk, "its input is not open");
        return;
      case "tool-input-available":
        if (state === "ended") this.#wrong(chunk, "the call has ended");
        this.#calls.set(label, "whole");
        return;
      case "tool-input-error":
        if (state !== "input") this.#wrong(chunk, "its input is not open");
        this.#calls.set(label, "ended");
        return;
      case "tool-output-available":
      case "tool-output-error":
        if (state !== "whole") this.#wrong(chunk, "a result belongs to a whole call without one");
        if (chunk["preliminary"] !== true) this.#calls.set(label, "ended");
    }
  }

  #wrong(chunk: Chunk, text: string): void {
    this.#complain("T4", `the log of ${this.#turn} at ${this.#count - 1}: ${text}: ${JSON.stringify(chunk)}`);
  }
}
