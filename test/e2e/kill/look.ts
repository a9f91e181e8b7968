/** The last look at a run: everything that the routes say once all has settled. */
import type { AgentStatus, TurnView } from "../../../src/ports/gateway.ts";
import { events } from "./seen.ts";

export interface ShownPart {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface ShownMessage {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly ShownPart[];
}

export interface Look {
  readonly status: AgentStatus;
  readonly messages: readonly ShownMessage[];
  readonly turns: ReadonlyMap<string, TurnView>;
  /** Chunk texts by turn; the index is the offset. */
  readonly logs: ReadonlyMap<string, readonly string[]>;
}

export async function look(base: string, agent: string, turns: Iterable<string>): Promise<Look> {
  const root = `${base}/agents/kill/${agent}`;
  const views = new Map<string, TurnView>();
  const logs = new Map<string, string[]>();
  for (const turn of turns) {
    views.set(turn, await json<TurnView>(`${root}/turns/${turn}`));
    logs.set(turn, await log(`${root}/stream?turn=${turn}`, turn));
  }
  const { messages } = await json<{ messages: ShownMessage[] }>(`${root}/messages?limit=500`);
  return { status: await json<AgentStatus>(root), messages, turns: views, logs };
}

async function json<T>(url: string): Promise<T> {
  const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

async function log(url: string, turn: string): Promise<string[]> {
  const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  if (!response.ok || !response.body) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  const texts: string[] = [];
  for await (const { id, data } of events(response.body)) {
    if (data === "[DONE]") return texts;
    if (id !== `${turn}:${texts.length}`) throw new Error(`${url}: ${id} where offset ${texts.length} was due`);
    texts.push(data);
  }
  throw new Error(`${url}: ended without [DONE] after ${texts.length} chunks`);
}
