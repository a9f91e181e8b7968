/** The reader: the AI SDK's own client with its stock transport, and the raw tap beside it. */
import { AbstractChat, type ChatState, type ChatStatus, DefaultChatTransport, type UIMessage } from "ai";
import { lostChunks, Tap } from "./tap.ts";
import { until } from "./wait.ts";

class State implements ChatState<UIMessage> {
  status: ChatStatus = "ready";
  error: Error | undefined;
  messages: UIMessage[] = [];

  pushMessage = (message: UIMessage): void => {
    this.messages = [...this.messages, message];
  };
  popMessage = (): void => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index: number, message: UIMessage): void => {
    this.messages = this.messages.with(index, structuredClone(message));
  };
  snapshot = <T>(value: T): T => structuredClone(value);
}

class Chat extends AbstractChat<UIMessage> {}

interface TurnView {
  readonly state: string;
  readonly outcome?: string;
  readonly reason?: string;
  readonly error?: string;
}

export interface Final {
  readonly turn: TurnView;
  /** Of the server's transcript. */
  readonly messages: readonly UIMessage[];
  readonly lostChunks: number;
}

export class Client {
  readonly tap = new Tap();
  readonly chat: Chat;
  /** Texts that the chat had shown when its connection broke. */
  readonly shown: string[] = [];
  readonly #agent: string;
  #reading: Promise<unknown> = Promise.resolve();

  constructor(api: string, id: string) {
    this.#agent = `${api}/${id}`;
    this.chat = new Chat({ id, transport: new DefaultChatTransport({ api }), state: new State() });
  }

  async send(text: string): Promise<void> {
    const sent = this.chat.sendMessage({ text });
    const stream = `${this.#agent}/stream`;
    const tapped = until("the turn's stream is there", 20_000, async () => {
      return this.chat.error !== undefined || (await this.tap.read(stream));
    });
    this.#reading = Promise.all([sent, tapped]);
    await until("the first chunk is seen", 60_000, () => {
      if (this.chat.error && this.tap.seen.size === 0) throw this.chat.error;
      return this.tap.seen.size > 0;
    });
  }

  /** After a death: both readers have noticed it. */
  async broken(): Promise<void> {
    await this.#reading;
    this.shown.push(this.text);
  }

  /** The chat by `reconnectToStream` (the whole message again), the tap behind the last chunk that it saw. */
  reattach(): void {
    this.#reading = Promise.all([this.chat.resumeStream(), this.tap.read(`${this.#agent}/stream`)]);
  }

  /** The turn is over, and everybody has read its end. */
  async finished(limitMs: number): Promise<Final> {
    await until("the turn ends", limitMs, () => this.tap.done);
    await this.#reading;
    const again = new Tap();
    await again.read(`${this.#agent}/stream?turn=${encodeURIComponent(this.tap.turn)}`);
    if (!again.done) throw new Error("The whole stream of the ended turn could not be read again.");
    const turn = await json<TurnView>(`${this.#agent}/turns/${encodeURIComponent(this.tap.turn)}`);
    const { messages } = await json<{ messages: UIMessage[] }>(`${this.#agent}/messages`);
    return { turn, messages, lostChunks: lostChunks(this.tap, again) };
  }

  /** What the chat shows of the answer. */
  get text(): string {
    return answers(this.chat.messages)
      .map((message) => textsOf(message).join(""))
      .join("");
  }
}

export function answers(messages: readonly UIMessage[]): UIMessage[] {
  return messages.filter(({ role }) => role === "assistant");
}

export function textsOf({ parts }: UIMessage): string[] {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
}

async function json<T>(url: string): Promise<T> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}
