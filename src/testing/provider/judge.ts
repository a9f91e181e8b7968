// From a body to an answer: refusal, scripted fault or plan. Knows nothing of HTTP.

import { prng, seedOf } from "../prng.ts";
import { digest, ProviderMemory } from "./log.ts";
import { type Plan, planAnswer } from "./plan.ts";
import type { Show } from "./play.ts";
import { type KeptRepeat, locate, type Place, scriptPosition } from "./position.ts";
import { type ChatRequest, parseBody, Refused, readRequest } from "./read.ts";
import { checkOrder } from "./rules.ts";
import { isRecord } from "./script.ts";
import type { Fault, Pace, ProviderOptions, RequestRecord, Script } from "./types.ts";
import { guessUsage } from "./usage.ts";

const defaultPace: Pace = { chunkChars: [2, 12], delayMs: [0, 0], firstByteMs: [0, 0] };

export type Verdict =
  | { kind: "refused"; record: RequestRecord; reason: Refused }
  | { kind: "status"; record: RequestRecord; fault: Fault }
  | { kind: "play"; record: RequestRecord; show: Show };

export class Judge {
  memory = new ProviderMemory();
  readonly #options: Omit<ProviderOptions, "script" | "fault">;
  #script: Script;
  #fault: Fault | null;
  #struck = new Map<string, number>();
  /** How often the same messages were asked, so that a repeated request throws new dice. */
  #asked = new Map<string, number>();
  #kept = new Map<string, KeptRepeat[]>();

  constructor({ script, fault, ...options }: ProviderOptions) {
    this.#options = options;
    this.#script = script;
    this.#fault = fault ?? null;
  }

  setScript(script: Script): void {
    this.#script = script;
    this.memory.forgetRefused();
  }

  setFault(fault: Fault | null): void {
    this.#fault = fault;
    this.#struck.delete("control");
  }

  reset(): void {
    this.memory = new ProviderMemory();
    this.#struck = new Map();
    this.#asked = new Map();
    this.#kept = new Map();
  }

  judge(raw: Uint8Array, conversation: string | null, startedAt: number): Verdict {
    const record = this.memory.open(startedAt, digest(raw));
    try {
      const body = parseBody(raw);
      this.#describe(record, body, conversation);
      const request = readRequest(body);
      checkOrder(request.messages, this.#options.prefill ?? false);
      return this.#answer(record, request);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.memory.refuse(record, error);
      return { kind: "refused", record, reason: error };
    }
  }

  #describe(record: RequestRecord, body: Record<string, unknown>, conversation: string | null): void {
    const messages = Array.isArray(body.messages) ? body.messages.filter(isRecord) : [];
    const firstUser = messages.findIndex((message) => message.role === "user");
    record.messagesDigest = digest(JSON.stringify(body.messages ?? null));
    record.messageCount = messages.length;
    const lastRole = messages.at(-1)?.role;
    record.lastRole = typeof lastRole === "string" ? lastRole : null;
    record.carriedReasoning = messages.some((message) => message.reasoning_content !== undefined);
    const user = typeof body.user === "string" ? body.user : null;
    record.conversation = conversation ?? user ?? digest(JSON.stringify(messages.slice(0, firstUser + 1)));
    if (this.#options.keepBodies === true) record.body = body;
  }

  #answer(record: RequestRecord, request: ChatRequest): Verdict {
    const place = locate(this.#script, request.messages);
    const { partial, step, stepIndex } = place;
    record.turn = place.turn;
    record.userText = place.userText.slice(0, 200);
    record.step = stepIndex;
    record.kind = partial !== "" ? "continuation" : stepIndex > 0 ? "step" : "first";
    if (partial !== "") record.partialChars = partial.length;
    const key = JSON.stringify([record.conversation, place.userText, stepIndex]);
    const at = scriptPosition(step.text ?? "", partial, this.#kept.get(key) ?? []);

    const fault = this.#takeFault(key, step.fault);
    if (fault?.kind === "status") {
      if (isFinal(fault.status ?? 500)) this.memory.rememberRefused(record);
      return { kind: "status", record, fault };
    }
    const { plan, id } = this.#plan(record, place, at);
    if (plan.manner === "repeat") this.#keep(key, { partial, tail: plan.tail, at });
    record.manner = plan.manner;
    record.repeated = plan.manner === "repeat" ? plan.tail.length : null;
    const usage = request.includeUsage ? guessUsage(request, plan) : null;
    return { kind: "play", record, show: { plan, fault, id, model: request.model, usage } };
  }

  #plan(record: RequestRecord, place: Place, at: number): { plan: Plan; id: string } {
    const asked = this.#asked.get(record.messagesDigest) ?? 0;
    this.#asked.set(record.messagesDigest, asked + 1);
    const { seed = 1, manner = null } = this.#options;
    // Not the request's index: with agents in parallel the order of arrival differs from run to run.
    const dice = prng(seedOf(seed, record.messagesDigest, asked));
    const name = digest(`${seed} ${record.messagesDigest} ${asked}`);
    const callId = (index: number) => `call_${digest(`${name} ${index}`).slice(0, 24)}`;
    const pace = { ...defaultPace, ...this.#script.pace };
    return { plan: planAnswer({ place, at, dice, pace, forced: manner, callId }), id: `chatcmpl-${name.slice(0, 24)}` };
  }

  #keep(key: string, repeat: KeptRepeat): void {
    if (repeat.tail.length >= (this.#options.trimFrom ?? 16)) return;
    this.#kept.set(key, [...(this.#kept.get(key) ?? []), repeat]);
  }

  /** The control fault goes first: who sets it wants it now. */
  #takeFault(key: string, scripted: Fault | undefined): Fault | null {
    for (const [name, fault] of [["control", this.#fault] as const, [key, scripted] as const]) {
      const struck = this.#struck.get(name) ?? 0;
      if (!fault || struck >= (fault.times ?? 1)) continue;
      this.#struck.set(name, struck + 1);
      return fault;
    }
    return null;
  }
}

/** A 4xx that does not ask for another try. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && ![408, 409, 425, 429].includes(status);
}
