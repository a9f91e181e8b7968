/** A scripted model: says its step in pieces, goes on from what it is shown as its own, and fails as it is told. */
import { limits } from "../../core/limits.ts";
import type { Chunk } from "../../core/transcript.ts";
import type { ModelPart, ModelStream } from "../../ports/behaviour.ts";
import { between, type Dice } from "../prng.ts";
import type { Fault } from "./faults.ts";
import type { CallPlan, ModelPlan } from "./scenario.ts";
import type { Scene } from "./scene.ts";
import type { Owner } from "./schedule.ts";
import type { Cue } from "./script.ts";
import { signatureOf } from "./strict.ts";

type ModelFault = Extract<Fault, { kind: "model" }>;

export class ScriptedStream implements ModelStream {
  readonly #scene: Scene;
  readonly #owner: Owner;
  readonly #name: string;
  readonly #parts: Spoken[];
  readonly #fault: ModelFault | null;
  #given = 0;

  constructor(scene: Scene, owner: Owner, name: string, model: ModelPlan, cue: Cue, fault: ModelFault | null) {
    this.#scene = scene;
    this.#owner = owner;
    this.#name = name;
    this.#fault = fault;
    this.#parts = new Speaker(scene, name, model, cue, fault?.manner === "hangs").speak();
  }

  async read(): Promise<ModelPart> {
    const { schedule } = this.#scene;
    const index = this.#given++;
    const fault = this.#fault;
    if (fault && index >= Math.min(fault.after, this.#parts.length - 1)) {
      if (fault.call > 0) this.#scene.faults.strike(`model ${fault.manner}`);
      if (fault.manner === "hangs") return schedule.hang();
      await schedule.pause(this.#owner, `${this.#name} ${fault.manner}`);
      return faultPart(fault);
    }
    const part = this.#parts[index];
    if (!part) return schedule.hang();
    await schedule.pause(this.#owner, `${this.#name} ${labelOf(part.part)}`, part.gapMs);
    if (part.part.kind === "end") for (const item of part.items) this.#scene.speech.items.add(item);
    return part.part;
  }

  cancel(): void {
    this.#scene.schedule.note(`${this.#owner.name} ${this.#name} is cancelled`);
  }
}

function faultPart(fault: ModelFault): ModelPart {
  const kind = fault.manner === "hangs" ? "cut" : fault.manner;
  const retry = fault.retryAfterMs === undefined ? {} : { retryAfterMs: fault.retryAfterMs };
  const message = `the scripted model says ${kind}`;
  return { kind: "fault", fault: { kind, message, ...retry }, error: new Error(message) };
}

function labelOf(part: ModelPart): string {
  return part.kind === "chunk" ? part.chunk.type : part.kind;
}

interface Spoken {
  readonly part: ModelPart;
  readonly gapMs: number;
  readonly items: readonly string[];
}

/** One answer, from its cue to its parts. */
class Speaker {
  readonly #scene: Scene;
  readonly #name: string;
  readonly #model: ModelPlan;
  readonly #cue: Cue;
  readonly #dice: Dice;
  readonly #out: Spoken[] = [];
  readonly #items: string[] = [];
  readonly #hangs: boolean;
  #parts = 0;

  constructor(scene: Scene, name: string, model: ModelPlan, cue: Cue, hangs: boolean) {
    this.#hangs = hangs;
    this.#scene = scene;
    this.#name = name;
    this.#model = model;
    this.#cue = cue;
    this.#dice = scene.dice("model");
  }

  speak(): Spoken[] {
    const { step, partial } = this.#cue;
    if (this.#dice() < 0.7) this.#say({ kind: "response", id: this.#name, model: this.#model.origin });
    const thinks = step.reasoning !== "" && (partial === null || this.#model.thinksAgain);
    if (thinks) this.#reason(`${this.#model.origin}|${step.reasoning}`);
    if (partial === null) this.#sources(step.sources ?? 0);
    this.#text(step.text, partial ?? "");
    for (const [index, call] of step.calls.entries()) this.#call(call, index);
    this.#say({ kind: "end", summary: { finishReason: step.calls.length > 0 ? "tool-calls" : step.finish } });
    return this.#out;
  }

  #say(part: ModelPart, quick = false): void {
    const gapMs =
      quick || this.#model.gapMsMax === 0 || this.#dice() < 0.5 ? 0 : between(this.#dice, 1, this.#model.gapMsMax);
    this.#out.push({ part, gapMs, items: this.#items });
  }

  #chunk(chunk: Chunk, quick = false): void {
    this.#say({ kind: "chunk", chunk }, quick);
  }

  #reason(text: string): void {
    const id = `r${this.#parts++}`;
    this.#chunk({ type: "reasoning-start", id });
    for (const delta of this.#pieces(text)) this.#chunk({ type: "reasoning-delta", id, delta });
    this.#chunk({ type: "reasoning-end", id, providerMetadata: { scripted: { signature: signatureOf(text) } } });
  }

  #sources(count: number): void {
    for (let n = 0; n < count; n++)
      this.#chunk({ type: "source-url", sourceId: `${this.#name}.${n}`, url: "https://example.com/" });
  }

  #text(text: string, base: string): void {
    const { plan, group, asked, partial } = this.#cue;
    const exact = this.#scene.speech.exact(`${plan.id}.${group}`, base);
    const repeat = partial !== null && asked && exact ? this.#repeat(base) : 0;
    const said = this.#scene.speech.begin(`${plan.id}.${group}`, base, text, repeat, this.#hangs);
    if (said === "") return;
    const id = `t${this.#parts++}`;
    const metadata = this.#metadata();
    this.#chunk({ type: "text-start", id, ...metadata }, repeat > 0);
    let begun = 0;
    for (const delta of this.#pieces(said)) {
      // No pause while a repeat goes on: silence would let it go undecided.
      this.#chunk({ type: "text-delta", id, delta }, repeat > 0 && begun < repeat + limits.overlapCharsMin);
      begun += delta.length;
    }
    this.#chunk({ type: "text-end", id, ...metadata });
  }

  #repeat(base: string): number {
    const most = Math.min(this.#model.repeatCharsMax, base.length);
    return most === 0 ? 0 : between(this.#dice, 0, most);
  }

  #metadata(): { readonly providerMetadata?: unknown } {
    if (!this.#model.namesItems) return {};
    const itemId = `${this.#name}.${this.#parts}`;
    this.#items.push(itemId);
    return { providerMetadata: { scripted: { itemId, origin: this.#model.origin } } };
  }

  #call(call: CallPlan, index: number): void {
    const toolCallId = this.#model.reusesLabels ? `call_${index}` : `${this.#name}.call${index}`;
    const input = { want: call.id };
    this.#chunk({ type: "tool-input-start", toolCallId, toolName: call.tool });
    for (const inputTextDelta of this.#pieces(JSON.stringify(input))) {
      this.#chunk({ type: "tool-input-delta", toolCallId, inputTextDelta });
    }
    this.#chunk({ type: "tool-input-available", toolCallId, toolName: call.tool, input });
  }

  #pieces(text: string): string[] {
    const pieces: string[] = [];
    for (let at = 0; at < text.length; at += pieces.at(-1)?.length ?? 1) {
      pieces.push(text.slice(at, at + between(this.#dice, 1, this.#model.deltaCharsMax)));
    }
    return pieces;
  }
}
