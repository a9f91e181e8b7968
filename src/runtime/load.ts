/** From a claimed agent's rows to an agent in memory. */
import { PerdureError } from "../core/errors.ts";
import { type AgentKey, messageIdOf } from "../core/ids.ts";
import { isObject, type Json } from "../core/json.ts";
import type { Command, OutboxRow } from "../core/records.ts";
import { type AgentState, blank } from "../core/state.ts";
import type { Store } from "../ports/store.ts";
import type { Memory } from "./batch.ts";
import { TurnLog } from "./turn-log.ts";

const pageBytes = 1024 * 1024;

export interface LoadedAgent {
  readonly state: AgentState;
  readonly memory: Memory;
  readonly inbox: readonly Command[];
  readonly outbox: readonly OutboxRow[];
  /** When the last owner was last heard of. */
  readonly at: number;
  readonly seq: number;
}

export async function loadAgent(store: Store, key: AgentKey): Promise<LoadedAgent> {
  const { head, state: value, inbox, outbox } = await store.load(key);
  const state = stateOf(key, value);
  const memory: Memory = { log: null, rows: new Map(), ledger: new Map() };
  await loadRows(store, key, state, memory);
  if (state.turn) await loadTurn(store, key, state.turn, memory);
  return { state, memory, inbox, outbox, at: head.at, seq: head.seq };
}

/** An unknown version is left alone, never taken for an idle agent (E3). */
export function stateOf(key: AgentKey, value: Json): AgentState {
  if (value === null) return blank;
  if (isObject(value) && value["v"] === 1) return value as unknown as AgentState;
  throw new PerdureError({
    code: "STATE_VERSION_UNKNOWN",
    message: `The state of agent "${key}" was written by a version of Perdure that this one does not know.`,
    next: "The agent is left untouched. Run the version that wrote it, or a newer one.",
  });
}

async function loadRows(store: Store, key: AgentKey, state: AgentState, memory: Memory): Promise<void> {
  if (state.turn) {
    const row = await store.turn(key, state.turn.id);
    if (row) memory.rows.set(state.turn.id, row);
  }
  for (const item of state.queue) {
    if (item.kind === "append") continue;
    const { turn: id, kind, inputs, createdAt } = item;
    const lost = { v: 1, id, status: "queued", kind, messageId: messageIdOf(id), inputs, createdAt } as const;
    memory.rows.set(id, (await store.turn(key, id)) ?? lost);
  }
}

type Turn = NonNullable<AgentState["turn"]>;

/** The turn in flight: its row, the parts of its closed steps, the chunks of its current one. */
async function loadTurn(store: Store, key: AgentKey, turn: Turn, memory: Memory): Promise<void> {
  if (!memory.rows.has(turn.id)) memory.rows.set(turn.id, lostRow(turn));
  const log = new TurnLog(turn.id);
  memory.log = log;
  const written = await store.message(key, turn.messageId);
  log.placed = written !== null;
  if (written) log.closed.push(...written.parts);
  let from = turn.stepFrom;
  log.next = from;
  for (;;) {
    const page = await store.chunks(key, turn.id, from, pageBytes);
    for (const segment of page.segments) {
      for (const [index, chunk] of segment.chunks.entries()) log.restore(chunk, segment.first + index, turn);
    }
    log.next = Math.max(log.next, page.next);
    if (!page.more) break;
    from = page.next;
  }
  for (const row of await store.ledger(key, turn.id)) memory.ledger.set(`${turn.id}#${row.ordinal}`, row);
}

/** A damaged row loses itself only: the state knows enough to end the turn. */
function lostRow(turn: Turn): NonNullable<ReturnType<Memory["rows"]["get"]>> {
  const { id, kind, messageId, inputs, createdAt, startedAt } = turn;
  return { v: 1, id, status: "running", kind, messageId, inputs, createdAt, startedAt };
}
