/** Commits as texts: all that can fail in a payload fails here, before a transaction has begun. */
import type { AgentCommit, MessageWrite } from "../../ports/store.ts";
import { Refusal } from "./errors.ts";
import { toKey, toKeyOrNull } from "./keys.ts";

export interface EncodedCommit {
  readonly item: AgentCommit;
  readonly key: string;
  /** About the bytes that it writes. */
  readonly bytes: number;
  readonly state: string | null;
  readonly chunks: readonly EncodedChunks[];
  readonly messages: readonly EncodedMessage[];
  readonly turns: readonly { readonly id: string; readonly ended: number | null; readonly json: string }[];
  readonly ledger: readonly { readonly turn: string; readonly ordinal: number; readonly json: string }[];
  readonly consumed: readonly EncodedTombstone[];
  readonly outboxPut: readonly { readonly id: string; readonly due: number; readonly json: string }[];
  readonly outboxDone: readonly string[];
}

export interface EncodedChunks {
  readonly turn: string;
  readonly first: number;
  readonly count: number;
  readonly json: string;
}

export interface EncodedMessage {
  readonly write: MessageWrite;
  readonly id: string;
  /** The message without its parts (`put`). */
  readonly head: string;
  readonly parts: string;
}

export interface EncodedTombstone {
  readonly id: string;
  readonly hash: string;
  readonly turn: string | null;
  readonly at: number;
}

/** Throws `Refusal`: NOT_JSON for what JSON cannot hold. */
export function encodeCommit(item: AgentCommit): EncodedCommit {
  let bytes = 0;
  const text = (value: unknown): string => {
    const json = encode(value);
    bytes += json.length;
    return json;
  };
  const state = item.state === undefined ? null : text(item.state.value);
  if (item.state !== undefined && item.state.wake !== null) finite(item.state.wake);
  const chunks = (item.chunks ?? []).filter((piece) => piece.chunks.length > 0);
  return {
    item,
    key: toKey(item.agent),
    state,
    chunks: chunks.map(({ turn, first, chunks: list }) => {
      return { turn: toKey(turn), first, count: list.length, json: text(list) };
    }),
    messages: (item.messages ?? []).map((write) => ({
      write,
      id: toKey(write.op === "put" ? write.message.id : write.id),
      head: write.op === "put" ? text({ ...write.message, parts: undefined }) : "",
      parts: "parts" in write ? text(write.parts) : "",
    })),
    turns: (item.turns ?? []).map((row) => {
      const ended = row.status === "settled" ? finite(row.endedAt ?? item.at) : null;
      return { id: toKey(row.id), ended, json: text(row) };
    }),
    ledger: (item.ledger ?? []).map((row) => ({ turn: toKey(row.turn), ordinal: row.ordinal, json: text(row) })),
    consumed: (item.consumed ?? []).map(({ id, hash, turn, at }) => {
      return { id: toKey(id), hash: toKey(hash), turn: toKeyOrNull(turn), at };
    }),
    outboxPut: (item.outboxPut ?? []).map((row) => ({ id: toKey(row.id), due: finite(row.due), json: text(row) })),
    outboxDone: (item.outboxDone ?? []).map(toKey),
    bytes,
  };
}

export function encode(value: unknown): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch {
    throw new Refusal("NOT_JSON");
  }
  if (json === undefined) throw new Refusal("NOT_JSON");
  return json;
}

/** NaN would be stored as NULL: a wake that never comes. */
function finite(time: number): number {
  if (!Number.isFinite(time)) throw new Refusal("NOT_JSON");
  return time;
}
