/** What a client does: sends a message, reads a stream, asks for the status. */
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentStatus, TurnView } from "../../../src/ports/gateway.ts";

export interface ChunkEvent {
  readonly id: string;
  readonly chunk: { readonly type: string; readonly [field: string]: unknown };
}

export interface Read {
  readonly events: readonly ChunkEvent[];
  /** The body broke off: its socket was destroyed. */
  readonly cut: boolean;
}

export class Client {
  readonly base: string;
  readonly id: string;

  constructor(url: string, agent: string, id: string) {
    this.base = `${url}/agents/${agent}`;
    this.id = id;
  }

  /** Acknowledged when it resolves. */
  async send(messageId: string, text: string): Promise<Response> {
    const messages = [{ id: messageId, role: "user", parts: [{ type: "text", text }] }];
    const body = JSON.stringify({ id: this.id, messages, trigger: "submit-message" });
    const headers = { "content-type": "application/json" };
    const response = await fetch(this.base, { method: "POST", headers, body });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    return response;
  }

  resume(lastEventId?: string): Promise<Response> {
    return fetch(`${this.base}/${this.id}/stream`, { headers: lastEventId ? { "last-event-id": lastEventId } : {} });
  }

  status(): Promise<AgentStatus> {
    return this.#json(`${this.base}/${this.id}`);
  }

  turn(turn: string): Promise<TurnView> {
    return this.#json(`${this.base}/${this.id}/turns/${turn}`);
  }

  async messages(): Promise<{ id: string; role: string; parts: { type: string; [field: string]: unknown }[] }[]> {
    return (await this.#json<{ messages: never[] }>(`${this.base}/${this.id}/messages`)).messages;
  }

  /** Polls until the agent has nothing to do. */
  async idle(): Promise<void> {
    await until(async () => (await this.status()).status === "idle");
  }

  async #json<T>(url: string): Promise<T> {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }
}

export function turnOf(response: Response): string {
  return response.headers.get("x-perdure-turn") ?? "";
}

/** Reads to the end. `onEvent` is told of each event as it comes. */
export async function read(response: Response, onEvent: (event: ChunkEvent) => void = () => {}): Promise<Read> {
  const events: ChunkEvent[] = [];
  let rest = "";
  const decoder = new TextDecoder();
  try {
    for await (const piece of response.body ?? []) {
      rest += decoder.decode(piece as Uint8Array, { stream: true });
      const blocks = rest.split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const [, id = "", data = ""] = /^id: (.*)\ndata: (.*)$/.exec(block) ?? [];
        if (data === "") continue;
        const event = { id, chunk: JSON.parse(data) as ChunkEvent["chunk"] };
        events.push(event);
        onEvent(event);
      }
    }
    return { events, cut: false };
  } catch {
    return { events, cut: true };
  }
}

export function textOf(message: { readonly parts: readonly { readonly type: string }[] } | undefined): string {
  return (message?.parts ?? []).map((part) => (part.type === "text" ? (part as { text?: string }).text : "")).join("");
}

export async function until(holds: () => boolean | Promise<boolean>, ms = 12_000): Promise<void> {
  const start = Date.now();
  while (!(await holds())) {
    if (Date.now() - start > ms) throw new Error(`waited ${ms} ms in vain for ${holds}`);
    await sleep(10);
  }
}
