/** Random commits and commands, most of them fit to land, some not. Small pools of ids, so that they meet often. */

import type { MemoryDisk } from "../../adapters/memory/store.ts";
import type { AgentKey } from "../../core/ids.ts";
import type { Command } from "../../core/records.ts";
import type { AgentCommit, MessageWrite } from "../../ports/store.ts";
import { between, type Dice, pick } from "../prng.ts";
import { at, ledgerRow, notice, submit, textPart, turnRow } from "./driver.ts";

export const agents: readonly AgentKey[] = ["chat/a", "chat/b", "chat/\u{1F600}", "bot/c"];
export const turnIds: readonly string[] = ["t1", "t2", "t\u0000"];
export const messageIds: readonly string[] = ["m1", "m2", "m3", "m4", "m\ud800"];
export const commandIds: readonly string[] = ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"];

const oddities: readonly unknown[] = [null, 0, -1.5, "", "\ud800", "a\u0000", "Привет", { b: 1, a: [] }, [[]]];

type Record = ReturnType<MemoryDisk["agents"]["get"]>;

/** A commit for an agent as the reference knows it. About one in six has a fault. */
export function commitFor(dice: Dice, disk: MemoryDisk, agent: AgentKey): AgentCommit {
  const record = disk.agents.get(agent);
  const head = record?.head ?? { epoch: 1, seq: 0 };
  const fault = between(dice, 1, 30);
  const epoch = head.epoch + (fault === 1 ? -1 : fault === 2 ? 1 : 0);
  const seq = head.seq + (fault === 3 ? 0 : fault === 4 ? 2 : 1);
  const may = (chance: number): boolean => dice() < chance;
  return {
    agent,
    epoch,
    seq,
    at: at + between(dice, 0, 50),
    ...(may(0.03) ? { clear: true as const } : {}),
    ...(may(0.5)
      ? { state: { value: pick(dice, oddities) as null, wake: may(0.4) ? null : between(dice, 0, 99) } }
      : {}),
    ...(may(0.6) ? { chunks: randomChunks(dice, record) } : {}),
    ...(may(0.5) ? { messages: randomMessages(dice, record) } : {}),
    ...(may(0.3) ? { turns: [randomTurn(dice)] } : {}),
    ...(may(0.3)
      ? { ledger: [ledgerRow(pick(dice, turnIds), between(dice, 0, 12), pick(dice, ["started", "settled"]))] }
      : {}),
    ...(may(0.3) ? { consumed: consumed(dice, record) } : {}),
    ...(may(0.3)
      ? { outboxPut: [notice(pick(dice, ["n1", "n2", "n3"]), between(dice, 0, 99), between(dice, 0, 3))] }
      : {}),
    ...(may(0.3) ? { outboxDone: [pick(dice, ["n1", "n2", "n3"])] } : {}),
  };
}

function randomChunks(dice: Dice, record: Record): NonNullable<AgentCommit["chunks"]> {
  const turn = pick(dice, turnIds);
  const first = (record?.logs.get(turn)?.next ?? between(dice, 0, 2)) + (dice() < 0.04 ? between(dice, -1, 1) : 0);
  const chunks = Array.from({ length: between(dice, 0, 4) }, () => ({ type: "data", value: pick(dice, oddities) }));
  const more = { turn, first: first + chunks.length, chunks: [{ type: "end" }] };
  return dice() < 0.3 ? [{ turn, first, chunks }, more] : [{ turn, first, chunks }];
}

function randomMessages(dice: Dice, record: Record): readonly MessageWrite[] {
  const id = pick(dice, messageIds);
  const row = record?.messages.get(id);
  const depth = record?.depths.size ?? 0;
  const parts = Array.from({ length: between(dice, 0, 2) }, () => textPart(String(pick(dice, oddities))));
  if (row === undefined || dice() < 0.04) {
    const message = { id, role: "user", metadata: pick(dice, oddities) } as const;
    return [{ op: "put", message, depth: dice() < 0.4 ? null : depth, parts }];
  }
  if (row.depth === null && dice() < 0.6) {
    return [dice() < 0.6 ? { op: "place", id, depth } : { op: "drop", id }];
  }
  if (dice() < 0.2) return [{ op: "replace", id, parts, ...(dice() < 0.5 ? { metadata: pick(dice, oddities) } : {}) }];
  return [{ op: "parts", id, index: row.last + between(dice, dice() < 0.05 ? 0 : 1, 2), parts }];
}

function randomTurn(dice: Dice): NonNullable<AgentCommit["turns"]>[number] {
  const id = pick(dice, turnIds);
  return dice() < 0.4
    ? turnRow(id, "settled", at + between(dice, 0, 50))
    : turnRow(id, pick(dice, ["queued", "running"]));
}

function consumed(dice: Dice, record: Record): NonNullable<AgentCommit["consumed"]> {
  const waiting = [...(record?.inbox ?? [])].map(([id, { hash, turn }]) => ({
    id,
    hash,
    turn,
    at: at + between(dice, 0, 50),
  }));
  if (waiting.length === 0 && dice() < 0.9) return [];
  const direct = { id: pick(dice, commandIds), hash: "direct", turn: null, at };
  return dice() < 0.9 ? waiting.slice(0, 1) : [direct];
}

export function randomCommand(dice: Dice): Command {
  const id = pick(dice, commandIds);
  if (dice() < 0.2) return { v: 1, id, hash: "stop", at, kind: "stop", turn: pick(dice, turnIds) };
  return submit(id, dice() < 0.85 ? "same" : "other", { body: { odd: pick(dice, oddities) } });
}
