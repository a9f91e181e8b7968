/** The same with what the SDK ships: `DefaultChatTransport` and `readUIMessageStream`, from the first chunk each time. */
import { setTimeout as sleep } from "node:timers/promises";
import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import type { Connection, Message, Watch } from "./client.ts";
import { endsLog } from "./seen.ts";

export interface StockView {
  readonly turn: string;
  /** As the SDK shows it after the last chunk; null when another turn was shown by then. */
  readonly message: UIMessage | null;
}

export async function converseStock(connection: Connection, sent: Message, watch: Watch = {}): Promise<StockView> {
  const { signal, agent } = connection;
  let turn: string | null = null;
  for (;;) {
    signal.throwIfAborted();
    const api = `${await connection.url()}/agents/kill`;
    const note = (response: Response): Response => {
      const named = response.headers.get("x-perdure-turn");
      if (response.status === 200 && turn === null && named) {
        turn = named;
        watch.acknowledged?.(named);
      }
      return response;
    };
    const transport = new DefaultChatTransport<UIMessage>({
      api,
      fetch: async (...asked) => note(await fetch(...asked)),
    });
    const common = { chatId: agent, abortSignal: signal };
    const messages = [sent as unknown as UIMessage];
    const send = () => transport.sendMessages({ ...common, messages, trigger: "submit-message", messageId: undefined });
    const stream = await (turn === null ? send() : transport.reconnectToStream(common)).catch(() => null);
    if (stream === null || turn === null) {
      await sleep(5);
      continue;
    }
    const shown = await show(connection, stream, watch);
    if (shown === null) continue;
    if (shown.turn === turn) return shown;
    // Resuming without a place gives what runs now: ours is over, and the next one has begun.
    if (await isSettled(connection, turn)) return { turn, message: null };
  }
}

/** Null: it broke off. */
async function show(
  { seen }: Connection,
  stream: ReadableStream<UIMessageChunk>,
  watch: Watch,
): Promise<StockView | null> {
  let turn = "";
  let offset = 0;
  let last = "";
  const noted = new TransformStream<UIMessageChunk, UIMessageChunk>({
    transform(chunk, controller) {
      if (chunk.type === "start") turn = `turn_${String(chunk.messageId).slice("msg_".length)}`;
      last = JSON.stringify(chunk);
      seen.chunk(turn, offset, last);
      offset += 1;
      watch.chunk?.(turn, offset);
      controller.enqueue(chunk);
    },
  });
  let message: UIMessage | null = null;
  let failure: unknown = null;
  try {
    const onError = (error: unknown): void => {
      failure = error;
    };
    for await (const state of readUIMessageStream<UIMessage>({ stream: stream.pipeThrough(noted), onError }))
      message = state;
  } catch (error) {
    failure = error;
  }
  if (failure === null && last !== "" && endsLog(last)) {
    seen.turn(turn).ends += 1;
    return { turn, message };
  }
  if (failure === null) seen.problems.push(`the SDK took ${turn} for finished at offset ${offset - 1}, after ${last}`);
  else if (!isNetwork(failure)) seen.problems.push(`the SDK cannot read ${turn}: ${String(failure)}`);
  return null;
}

/** Undici's words for a socket that was destroyed. */
function isNetwork(error: unknown): boolean {
  return error instanceof TypeError && /terminated|fetch failed|network/i.test(error.message);
}

async function isSettled({ url, agent }: Connection, turn: string): Promise<boolean> {
  try {
    const response = await fetch(`${await url()}/agents/kill/${agent}/turns/${turn}`);
    return ((await response.json()) as { state?: string }).state === "settled";
  } catch {
    return false;
  }
}
