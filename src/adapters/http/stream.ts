/**
 * One turn as a response body. The rules that make it safe to read:
 *
 *   W1. Every logged chunk has `id: <turn>:<offset>`, dense from 0.
 *   W3. The end is the log's last chunk, then `[DONE]`. Anything else that stops the stream destroys the socket: stock
 *       clients take a clean end without `finish` for a finished answer.
 *   W5. A disconnect closes the reader, and nothing else.
 *
 * Pulled with no queue of its own: the next slice is asked for when the socket wants more, so that a slow client
 * delays only itself.
 */
import { PerdureError } from "../../core/errors.ts";
import type { Timers } from "../../ports/clock.ts";
import type { TurnReader, TurnSource } from "../../ports/gateway.ts";
import { commentEvent, doneEvent, encodeSlice, encodeUnlogged, endsLog } from "../../wire/sse.ts";
import { hostClosed } from "./answer.ts";

/** Why a body was destroyed before its end. */
class StreamCut extends Error {
  /**
   * `@hono/node-server` prints an error of a body, and ends the response with its text before it destroys it: an end
   * that must not be. Errors of this code it leaves to the failed read, which destroys the socket and does no more.
   */
  readonly code = "ERR_STREAM_PREMATURE_CLOSE";
}

/** The streams that a door has open. */
export interface Streams {
  /** `settled` is asked when a log ends without a last chunk that says so. */
  answer(source: TurnSource, settled: () => Promise<boolean>): Response;
  /** Destroys all of them. */
  close(): void;
}

export interface StreamOptions {
  readonly commentMs: number;
  readonly timers: Timers;
  /** Told of errors that nobody foresaw. What the gateway says in a `PerdureError` is known to whoever runs it. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export function openStreams(options: StreamOptions): Streams {
  const open = new Set<TurnBody>();
  let closed = false;
  const bodyOf = (source: TurnSource, settled: () => Promise<boolean>): string | ReadableStream<Uint8Array> => {
    if (source.kind === "snapshot") return encodeUnlogged(source.chunks) + doneEvent;
    const body = new TurnBody({ ...source, settled }, options, (left) => open.delete(left));
    open.add(body);
    return new ReadableStream(body, { highWaterMark: 0 });
  };
  return {
    answer(source, settled) {
      if (closed) {
        // The door closed while this request was on its way.
        if (source.kind === "chunks") source.reader.close();
        hostClosed();
      }
      return new Response(bodyOf(source, settled), { headers: headersOf(source) });
    },
    close() {
      closed = true;
      for (const body of [...open]) body.cut();
    },
  };
}

/** As the SDK's own, with the turn's id. */
function headersOf(source: TurnSource): Record<string, string> {
  const headers = {
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    connection: "keep-alive",
    "x-vercel-ai-ui-message-stream": "v1",
    "x-accel-buffering": "no",
    "x-perdure-turn": source.turn,
  };
  // node-server reads ahead of the headers, to find a length, unless the length is known to be unknown.
  return source.kind === "snapshot" ? headers : { ...headers, "transfer-encoding": "chunked" };
}

interface Log {
  readonly turn: string;
  readonly reader: TurnReader;
  readonly settled: () => Promise<boolean>;
}

/** The source of one response body. */
class TurnBody {
  readonly #log: Log;
  readonly #options: StreamOptions;
  readonly #left: (body: TurnBody) => void;
  readonly #encoder = new TextEncoder();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #stopComments = (): void => {};
  /** The text of the last chunk that was sent. */
  #last = "";
  #over = false;

  constructor(log: Log, options: StreamOptions, left: (body: TurnBody) => void) {
    this.#log = log;
    this.#options = options;
    this.#left = left;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
    this.#comment(false);
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      const text = await this.#next();
      if (this.#over) return;
      controller.enqueue(this.#encoder.encode(text));
      if (text !== doneEvent) return;
      this.#leave();
      controller.close();
    } catch (error) {
      if (this.#over) return;
      this.cut();
      if (!PerdureError.is(error)) this.#options.onError?.(error);
    }
  }

  /** The client is gone (W5). */
  cancel(): void {
    this.#leave();
  }

  /** The server cannot go on: the socket is destroyed. */
  cut(): void {
    if (this.#over) return;
    this.#leave();
    this.#controller?.error(new StreamCut(`The stream of turn ${this.#log.turn} was cut.`));
  }

  async #next(): Promise<string> {
    const { turn, reader, settled } = this.#log;
    const slice = await reader.read();
    if (slice !== null) {
      this.#last = slice.texts.at(-1) ?? this.#last;
      return encodeSlice(turn, slice.first, slice.texts);
    }
    // A reader also answers null when it was closed: only a settled turn may end cleanly.
    if (this.#over || endsLog(this.#last) || (await settled())) return doneEvent;
    throw new PerdureError({
      code: "HOST_CLOSED",
      message: "The reader was closed before the turn had ended.",
      next: "The socket is destroyed; the client resumes.",
    });
  }

  #comment(send: boolean): void {
    // Only into an empty queue: comments never pile up in front of a slow client.
    if (send && this.#controller?.desiredSize === 0) {
      this.#controller.enqueue(this.#encoder.encode(commentEvent));
    }
    this.#stopComments = this.#options.timers.after(this.#options.commentMs, () => this.#comment(true));
  }

  #leave(): void {
    this.#over = true;
    this.#stopComments();
    this.#log.reader.close();
    this.#left(this);
  }
}
