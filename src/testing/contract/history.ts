/**
 * Random histories, run on the adapter and on the memory reference side by side: every answer and, now and then,
 * everything that is durable must be equal. A failure names its seed and the operation.
 */
import { MemoryDisk, MemoryStore } from "../../adapters/memory/store.ts";
import { between, type Dice, pick, prng } from "../prng.ts";
import { agents, commandIds, commitFor, messageIds, randomCommand, turnIds } from "./dice.ts";
import { at } from "./driver.ts";
import { snapshot } from "./snapshot.ts";
import type { ContractSubject, ContractWorld, FullStore, TestApi } from "./world.ts";

const label = { pid: 1, host: "model", startedAt: 0, version: "0" };

interface Run {
  readonly dice: Dice;
  readonly world: ContractWorld;
  readonly disk: MemoryDisk;
  store: FullStore;
  model: MemoryStore;
}

export function historyTests(subject: ContractSubject, api: TestApi): void {
  for (const seed of subject.seeds ?? [11, 22, 33, 44]) {
    const name = `[ST6] a random history leaves what the reference leaves (seed ${seed})`;
    const body = async (): Promise<void> => api.expect(await history(subject, seed)).toEqual([]);
    api.it(name, body, 120_000);
  }
}

/** Empty, or what differed first. */
async function history(subject: ContractSubject, seed: number): Promise<string[]> {
  const world = await subject.create();
  const disk = new MemoryDisk();
  const run: Run = { dice: prng(seed), world, disk, store: world.store, model: new MemoryStore(disk) };
  await run.model.open(label);
  try {
    for (let n = 0; n < (subject.operations ?? 600); n += 1) {
      const [operation, mine, reference] = await step(run);
      if (mine !== reference) return [`seed ${seed}, operation ${n}: ${operation}`, mine, reference];
      if (n % 25 === 24) await compare(run, `seed ${seed}, after operation ${n}`);
    }
    await compare(run, `seed ${seed}, at the end`);
    return [];
  } finally {
    await world.dispose();
  }
}

async function compare(run: Run, when: string): Promise<void> {
  const ids = { turns: turnIds, messages: messageIds, commands: commandIds };
  for (const agent of agents) {
    const [mine, reference] = [await snapshot(run.store, agent, ids), await snapshot(run.model, agent, ids)];
    const texts = [JSON.stringify(mine), JSON.stringify(reference)];
    if (texts[0] !== texts[1]) throw new Error(`${when}: ${agent} differs\n${texts[0]}\n${texts[1]}`);
  }
}

/** One operation on both: its name and both answers as text. */
async function step(run: Run): Promise<readonly [string, string, string]> {
  const { dice } = run;
  const both = async (name: string, ask: (store: FullStore) => Promise<unknown>): Promise<[string, string, string]> => {
    const [mine, reference] = [await ask(run.store), await ask(run.model)];
    return [name, JSON.stringify(mine), JSON.stringify(reference)];
  };
  const agent = pick(dice, agents);
  const throwOf = between(dice, 1, 100);
  if (throwOf <= 62) {
    const batch = Array.from({ length: between(dice, 1, 4) }, () => commitFor(dice, run.disk, pick(dice, agents)));
    const name = `commit ${JSON.stringify(batch)}`;
    return both(name, async (store) => (await store.commit(batch)).map((result) => result.kind));
  }
  if (throwOf <= 74) {
    const command = randomCommand(dice);
    return both(`enqueue ${agent} ${JSON.stringify(command)}`, (store) => store.enqueue(agent, command));
  }
  if (throwOf <= 84) return both(`claim ${agent}`, async (store) => summary(await store.claim(agent, at)));
  if (throwOf <= 89) {
    const epoch = (run.disk.agents.get(agent)?.head.epoch ?? 1) - (dice() < 0.2 ? 1 : 0);
    return both(`release ${agent} ${epoch}`, (store) => store.release(agent, epoch));
  }
  if (throwOf <= 93) return both("due and list", async (store) => [await store.due(60, 9), await keys(store)]);
  if (throwOf <= 95) return both("retain", (store) => retainAll(store, between(prng(throwOf), 1, 9)));
  if (throwOf <= 97) return both(`destroy ${agent}`, (store) => store.destroy(agent));
  run.store = await run.world.reopen();
  run.model = new MemoryStore(run.disk);
  await run.model.open(label);
  return ["reopen", "", ""];
}

function summary(claim: Awaited<ReturnType<FullStore["claim"]>>): unknown {
  return claim.kind === "held" ? claim.kind : [claim.kind, claim.head.epoch, claim.head.seq, claim.head.claims];
}

async function keys(store: FullStore): Promise<unknown> {
  return (await store.list(null, 9)).map((head) => [head.agent, head.epoch, head.seq, head.claims, head.wake]);
}

async function retainAll(store: FullStore, rowsMax: number): Promise<void> {
  while (await store.retain(at + 1_000, { chunksMs: 970, tombstonesMs: 990, rowsMax }));
}
