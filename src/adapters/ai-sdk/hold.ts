/**
 * Hold-back: packages close every open block and call when a body ends, whether or not the provider did. So a `*-end`
 * and a `tool-call` are kept until the part after them shows that the answer went on (T9). It sits below the SDK, which
 * would parse a broken call at once and ask the user's `repairToolCall` to invent the rest.
 *
 * - Every way to break off (error part, finish `interrupted` or `error` or without a reason, end without a finish,
 *   rejected read) comes out as one `error` part, and nothing after it.
 * - Held calls whose input is a whole JSON object were asked for in full: they come out before that part.
 */
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { isObject } from "../../core/json.ts";

type Part = LanguageModelV4StreamPart;

/** `mute`: the model's version of the protocol cannot say why an answer ended, so that silence about it means nothing. */
export function holdBack(source: ReadableStream<Part>, mute: boolean): ReadableStream<Part> {
  const reader = source.getReader();
  const hold = new Hold(mute);
  let cancelled = false;
  return new ReadableStream<Part>(
    {
      async pull(controller) {
        while (hold.ready.length === 0 && !hold.over) {
          await reader.read().then(
            (read) => (read.done ? hold.end() : hold.take(read.value)),
            (error: unknown) => hold.fail(error),
          );
        }
        if (cancelled) return;
        // Not awaited, and not left to the reader: this stream may be closed before it is cancelled.
        if (hold.broken) reader.cancel().catch(() => {});
        const next = hold.ready.shift();
        if (next) controller.enqueue(next);
        else controller.close();
      },
      cancel(reason) {
        cancelled = true;
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

class Hold {
  readonly ready: Part[] = [];
  over = false;
  readonly #mute: boolean;
  #held: Part[] = [];
  #finished = false;

  constructor(mute: boolean) {
    this.#mute = mute;
  }

  get broken(): boolean {
    return this.over && !this.#finished;
  }

  take(part: Part): void {
    switch (part.type) {
      case "text-end":
      case "reasoning-end":
      case "tool-input-end":
      case "tool-call":
        this.#held.push(part);
        return;
      case "error":
        this.fail(part.error);
        return;
      case "finish": {
        const broken = this.#broken(part.finishReason);
        if (broken !== null) {
          this.fail(new Error(broken));
          return;
        }
        this.#finished = true;
      }
    }
    this.ready.push(...this.#held, part);
    this.#held = [];
  }

  end(): void {
    if (this.#finished) this.over = true;
    else this.fail(new Error("The answer ended without a finish."));
  }

  fail(error: unknown): void {
    this.over = true;
    if (this.#finished) return;
    this.ready.push(...this.#held.filter(isWholeCall), { type: "error", error });
    this.#held = [];
  }

  #broken(reason: { readonly unified: string; readonly raw: string | undefined }): string | null {
    if (reason.unified === "interrupted") return "The answer ended without a finish.";
    if (reason.unified === "error")
      return `The provider ended the answer with an error (${reason.raw ?? "no reason given"}).`;
    // Packages older than `interrupted` start from `other` without a raw reason and keep it when the body just ends.
    if (reason.unified === "other" && reason.raw == null && !this.#mute)
      return "The answer ended without a finish reason.";
    return null;
  }
}

function isWholeCall(part: Part): boolean {
  if (part.type !== "tool-call") return false;
  try {
    return isObject(JSON.parse(part.input));
  } catch {
    return false;
  }
}
