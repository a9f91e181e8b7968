/** Short ways to say what a contract test wants to say. */
import type { AgentKey } from "../../core/ids.ts";
import type { Command, LedgerRow, OutboxRow, PlacedMessage, Tombstone, TurnRow } from "../../core/records.ts";
import type { Chunk, StoredPart } from "../../core/transcript.ts";
import type { AgentCommit, CommitResult, MessageWrite } from "../../ports/store.ts";
import type { FullStore } from "./world.ts";

export type Fields = Omit<AgentCommit, "agent" | "epoch" | "seq" | "at">;

/** The owner of one agent, as the runtime would be one. */
export interface Driver {
  readonly agent: AgentKey;
  readonly epoch: number;
  /** The seq of the next commit. */
  seq(): number;
  /** The next commit, not yet sent. `seq` counts on. */
  next(fields: Fields): AgentCommit;
  send(fields: Fields): Promise<CommitResult>;
  /** Sends it and insists that it lands. */
  land(fields: Fields): Promise<void>;
}

export const at = 1_700_000_000_000;

export async function drive(store: FullStore, agent: AgentKey): Promise<Driver> {
  const claim = await store.claim(agent, at);
  if (claim.kind !== "claimed") throw new Error(`claim of ${agent} answered ${claim.kind}`);
  const { epoch } = claim.head;
  let seq = claim.head.seq;
  const next = (fields: Fields): AgentCommit => {
    seq += 1;
    return { agent, epoch, seq, at: at + seq, ...fields };
  };
  const send = async (fields: Fields): Promise<CommitResult> => only(await store.commit([next(fields)]));
  const land = async (fields: Fields): Promise<void> => {
    const result = await send(fields);
    if (result.kind !== "landed") throw new Error(`a commit of ${agent} answered ${JSON.stringify(result)}`);
  };
  return { agent, epoch, seq: () => seq + 1, next, send, land };
}

export function only<T>(list: readonly T[]): T {
  if (list.length !== 1) throw new Error(`expected one item, got ${list.length}`);
  return list[0] as T;
}

export function kinds(results: readonly CommitResult[]): string[] {
  return results.map((result) => result.kind);
}

export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "none";
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

export function state(value: unknown, wake: number | null = null): NonNullable<AgentCommit["state"]> {
  return { value: value as NonNullable<AgentCommit["state"]>["value"], wake };
}

export function delta(text: string): Chunk {
  return { type: "text-delta", id: "t1", delta: text };
}

export function textPart(text: string): StoredPart {
  return { part: { type: "text", text } };
}

export function put(id: string, depth: number | null, ...texts: string[]): MessageWrite {
  return { op: "put", message: { id, role: "user" }, depth, parts: texts.map(textPart) };
}

export function submit(id: string, hash = `hash of ${id}`, extra: object = {}): Command {
  return { v: 1, id, hash, at, kind: "submit", turn: `turn_${id}`, messages: [], ...extra };
}

export function tombstone(id: string, hash = `hash of ${id}`): Tombstone {
  return { id, hash, turn: `turn_${id}`, at };
}

export function turnRow(id: string, status: TurnRow["status"] = "running", endedAt?: number): TurnRow {
  const row = { v: 1, id, status, kind: "submit", messageId: `msg_${id}`, inputs: ["u1"], createdAt: at } as const;
  return endedAt === undefined ? row : { ...row, endedAt, outcome: "completed" };
}

export function ledgerRow(turn: string, ordinal: number, state: LedgerRow["state"] = "announced"): LedgerRow {
  const key = `${turn}-${ordinal}`;
  return { v: 1, turn, ordinal, tool: "search", label: "call_0", state, policy: "report", key, runs: 0 };
}

export function notice(id: string, due: number, attempts = 0): OutboxRow {
  return { v: 1, id, due, attempts, notice: { kind: "response", turn: id } };
}

/** All chunks of a turn from an offset on, page by page. Throws when a page does not move on. */
export async function readChunks(
  store: FullStore,
  agent: AgentKey,
  turn: string,
  from = 0,
  bytesMax = 1_000,
): Promise<readonly Chunk[]> {
  const all: Chunk[] = [];
  for (let offset = from; ; ) {
    const page = await store.chunks(agent, turn, offset, bytesMax);
    all.push(...page.segments.flatMap((segment) => segment.chunks));
    if (!page.more) return all;
    if (page.next <= offset) throw new Error(`a page of ${turn} does not move on from ${offset}`);
    offset = page.next;
  }
}

/** All placed messages, oldest first, in pages of `countMax`. */
export async function readMessages(store: FullStore, agent: AgentKey, countMax = 2): Promise<readonly PlacedMessage[]> {
  const all: PlacedMessage[] = [];
  for (;;) {
    const page = await store.messages(agent, all.at(-1)?.depth ?? -1, countMax);
    if (page.length === 0) return all;
    all.push(...page);
  }
}
