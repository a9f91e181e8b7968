/**
 * One server of a run: `node test/e2e/kill/server.ts <json>`. The real host over a real SQLite file; only its store is
 * watched, by a bomb. Says `{"url": ...}` when it listens.
 */
import module from "node:module";
import { join } from "node:path";
import { sqliteStore } from "../../../src/adapters/sqlite/index.ts";
import { serve } from "../../../src/node/index.ts";
import type { Directory } from "../../../src/ports/directory.ts";
import type { AgentCommit, CommitResult, Store } from "../../../src/ports/store.ts";
import { agentClass, type Env } from "./agent.ts";
import { Bomb, settledKeys, sights } from "./bomb.ts";
import type { Plan, PointKill } from "./plan.ts";

export interface ServerOptions {
  readonly folder: string;
  readonly provider: string;
  readonly conversation: string;
  readonly process: number;
  readonly plan: Pick<Plan, "hooks" | "prefill">;
  readonly armed: PointKill | null;
}

/** The same store, but for a `commit` in which the bomb may go off. */
function watched(store: Store & Directory, bomb: Bomb): Store & Directory {
  const commit = (batch: readonly AgentCommit[]): Promise<readonly CommitResult[]> => commitWatched(store, bomb, batch);
  return new Proxy(store, {
    get(target, name) {
      if (name === "commit") return commit;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

async function commitWatched(
  store: Store,
  bomb: Bomb,
  batch: readonly AgentCommit[],
): Promise<readonly CommitResult[]> {
  const { armed } = bomb;
  const sight = armed && sights[armed.point];
  if (!armed || !sight) return store.commit(batch);
  const at = batch.findIndex((one) => sight(one, armed.when) && bomb.counts(armed.point, armed.when));
  const item = batch[at];
  if (!item) return store.commit(batch);
  if (armed.point === "finish") await landing(store, batch.slice(0, at));
  else if (armed.when === "after") await landing(store, batch.slice(0, at + 1));
  else if (armed.split) await landing(store, batch.slice(0, at));
  bomb.explode(armed.when === "after" && armed.point !== "finish" ? settledKeys(item) : []);
}

/** What is not landed is not `after`: the process dies all the same, and the parent is told. */
async function landing(store: Store, batch: readonly AgentCommit[]): Promise<void> {
  if (batch.length === 0) return;
  const results = await store.commit(batch);
  const other = results.find(({ kind }) => kind !== "landed");
  if (other) throw new Error(`A commit before the kill did not land: ${JSON.stringify(other)}`);
}

const options = JSON.parse(process.argv[2] ?? "{}") as ServerOptions & { readonly warm?: true };
if (options.warm) {
  // So that the other processes of the campaign need not compile anything.
  module.flushCompileCache();
  process.exit(0);
}
const bomb = new Bomb(options.armed);
const { folder, provider, conversation } = options;
const env: Env = { folder, provider, conversation, process: options.process, bomb };
const host = await serve({
  agents: { kill: agentClass(options.plan) },
  store: watched(sqliteStore({ path: join(folder, "perdure.db") }), bomb),
  port: 0,
  env,
});
console.log(JSON.stringify({ url: host.url }));
