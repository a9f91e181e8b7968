/** Everything durable of one agent, read through the ports only: what two adapters are compared by. */
import type { AgentKey } from "../../core/ids.ts";
import { readChunks, readMessages } from "./driver.ts";
import type { FullStore } from "./world.ts";

/** The ports list no turns: a reader has to know the ids that may be there. */
export interface KnownIds {
  readonly turns: readonly string[];
  readonly messages: readonly string[];
  readonly commands: readonly string[];
}

/** Equal for equal histories: no `claims`, no `at`, no borders of segments. Null for an agent that is not there. */
export async function snapshot(store: FullStore, agent: AgentKey, ids: KnownIds): Promise<unknown> {
  const head = await store.head(agent);
  if (head === null) return null;
  const { state, inbox, outbox } = await store.load(agent);
  const turns = ids.turns.map(async (id) => {
    const { next } = await store.chunks(agent, id, 0, Number.MAX_SAFE_INTEGER);
    return [id, await store.turn(agent, id), next, await readChunks(store, agent, id), await store.ledger(agent, id)];
  });
  const backwards = [...(await store.recent(agent, null, Number.MAX_SAFE_INTEGER))].reverse();
  const forwards = await readMessages(store, agent);
  if (JSON.stringify(backwards) !== JSON.stringify(forwards)) throw new Error(`pages of ${agent} differ by direction`);
  return {
    head: [head.epoch, head.seq, head.claims, head.wake],
    state,
    inbox,
    outbox,
    forwards,
    messages: await Promise.all(ids.messages.map(async (id) => [id, await store.message(agent, id)])),
    turns: await Promise.all(turns),
    tombstones: await Promise.all(ids.commands.map(async (id) => sorted(await store.tombstone(agent, id)))),
  };
}

/** Tombstones may be kept as columns: their order of keys is not promised. */
function sorted(row: object | null): unknown {
  return row === null ? null : Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1));
}
