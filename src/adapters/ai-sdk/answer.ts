/**
 * Answer: one model call as a stream that is pulled, and that ends at once when it is cancelled, whatever the provider
 * does (F2).
 *
 * - `read` never rejects. It gives content, then one `end` or `fault`, then that one again for ever.
 * - Cancelling is not awaited: the reader is told, the signal is fired, and whoever was reading has the answer.
 * - After `end` the body is read to its close in the background, so that user middleware sees the whole of it.
 */
import type { Experimental_LanguageModelStreamPart as SdkPart } from "ai";
import { errorText } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type { ModelPart, ModelStream } from "../../ports/behaviour.ts";
import { classify, cut, type Stage, unwrap } from "./classify.ts";
import { contentOf } from "./parts.ts";
import { plain } from "./plain.ts";
import type { Tools } from "./tools.ts";

export interface Asking {
  readonly tools: Tools;
  /** Stands in for a response that does not name its model. */
  readonly modelId: string;
  /** Makes the request. `onAsk` is called when it is complete and goes out. */
  open(signal: AbortSignal, onAsk: () => void): Promise<ReadableStream<SdkPart>>;
  /** The tools' own callbacks for a part that was shown. */
  notify(part: SdkPart, signal: AbortSignal): Promise<void> | null;
}

export async function ask(asking: Asking, signal: AbortSignal): Promise<ModelStream> {
  const answer = new Answer(asking);
  await answer.start(signal);
  return answer;
}

class Answer implements ModelStream {
  readonly #asking: Asking;
  readonly #abort = new AbortController();
  #stage: Stage = "building";
  #reader: ReadableStreamDefaultReader<SdkPart> | null = null;
  #ready: ModelPart | null = null;
  #last: ModelPart | null = null;
  #notified: Promise<void> | null = null;
  #response: { id?: string; model?: string } = {};
  #wake: (() => void) | null = null;
  #forget: () => void = () => {};

  constructor(asking: Asking) {
    this.#asking = asking;
  }

  start(signal: AbortSignal): Promise<void> {
    if (signal.aborted) {
      this.cancel(abortText(signal));
      return Promise.resolve();
    }
    const stop = () => this.cancel(abortText(signal));
    signal.addEventListener("abort", stop, { once: true });
    this.#forget = () => signal.removeEventListener("abort", stop);
    return this.#unlessCancelled(this.#open());
  }

  async read(): Promise<ModelPart> {
    for (;;) {
      const ready = this.#ready ?? this.#last;
      this.#ready = null;
      if (ready) return ready;
      await this.#unlessCancelled(this.#pull());
    }
  }

  cancel(reason: string): void {
    const error = new DOMException(reason, "AbortError");
    if (this.#last === null) {
      this.#ready = null;
      this.#last = { kind: "fault", fault: cut(reason), error };
    }
    this.#release(error);
    this.#wake?.();
  }

  async #open(): Promise<void> {
    try {
      const stream = await this.#asking.open(this.#abort.signal, () => {
        this.#stage = "start";
      });
      this.#reader = stream.getReader();
      this.#stage = "stream";
      if (this.#last !== null) this.#release(this.#abort.signal.reason);
    } catch (error) {
      this.#fail(error);
    }
  }

  async #pull(): Promise<void> {
    try {
      if (this.#notified !== null) await this.#notified;
      this.#notified = null;
    } catch (error) {
      this.#refuse(error);
      return;
    }
    try {
      const { done, value } = (await this.#reader?.read()) ?? { done: true };
      if (this.#last !== null) return;
      if (done || value === undefined) this.#fail(new Error("The answer ended without a finish."));
      else this.#take(value);
    } catch (error) {
      this.#fail(error);
    }
  }

  #take(part: SdkPart): void {
    if (part.type === "error") {
      this.#fail(part.error);
      return;
    }
    if (part.type === "model-call-end") {
      // What broke off comes as an error part (hold.ts): `error` is the SDK's own verdict on the answer, and the next part says which.
      if (part.finishReason !== "error") this.#end(part.finishReason, part.usage);
      return;
    }
    const ready = contentOf(part, this.#asking.tools);
    if (ready === null) return;
    this.#ready = ready;
    if (ready.kind === "response") this.#response = { ...this.#response, ...ready };
    if (ready.kind !== "chunk") return;
    // A custom part may be a mere envelope: every answer of Anthropic begins with one.
    if (ready.chunk.type !== "custom") this.#stage = "content";
    this.#notified = this.#asking.notify(part, this.#abort.signal);
    // Awaited before the next part is read, which may be never.
    this.#notified?.catch(() => {});
  }

  #end(finishReason: string, usage: unknown): void {
    const { id, model = this.#asking.modelId } = this.#response;
    const summary = { finishReason, usage: plain(usage, "Usage") as JsonObject, model };
    this.#last = { kind: "end", summary: id === undefined ? summary : { ...summary, responseId: id } };
    void this.#drain();
  }

  async #drain(): Promise<void> {
    try {
      let whole = false;
      while (!whole) whole = (await this.#reader?.read())?.done ?? true;
    } catch {
      // The answer was whole before.
    } finally {
      this.#forget();
    }
  }

  #fail(error: unknown): void {
    if (this.#last !== null) return;
    this.#last = { kind: "fault", fault: classify(error, this.#stage), error: unwrap(error) };
    this.#release(error);
  }

  /** A tool's callback threw: the SDK fails the whole call for it too, and asking again would not help. */
  #refuse(error: unknown): void {
    if (this.#last !== null) return;
    this.#last = { kind: "fault", fault: { kind: "refused", message: errorText(error) }, error };
    this.#release(error);
  }

  #release(reason: unknown): void {
    this.#forget();
    this.#abort.abort(reason);
    // Never awaited: a provider that hangs would hang its own cancelling.
    this.#reader?.cancel(reason).catch(() => {});
  }

  /** Resolves with the work, which never rejects, or when cancelled, whichever is first. */
  #unlessCancelled(work: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      work.then(resolve, resolve);
    });
  }
}

function abortText(signal: AbortSignal): string {
  const reason: unknown = signal.reason;
  return typeof reason === "string" || reason instanceof Error ? errorText(reason) : "The call was stopped.";
}
