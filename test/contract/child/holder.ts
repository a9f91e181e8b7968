/**
 * A process that holds a store, for tests that kill, stop and wake it. It answers each line on stdin with one line.
 *
 *   node holder.ts <path> [wait in ms]
 */
import { createInterface } from "node:readline";
import { sqliteStore } from "../../../src/adapters/sqlite/index.ts";
import { type Driver, drive, state, submit } from "../../../src/testing/contract/driver.ts";

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const codeOf = (error: unknown): string => (error as { code?: string }).code ?? String(error);
const store = sqliteStore({ path: process.argv[2] as string, wait: Number(process.argv[3] ?? 0) });
let owner: Driver | undefined;
let count = 0;

async function answer(line: string): Promise<string> {
  if (line === "claim") {
    owner = await drive(store, "chat/child");
    return `claimed ${owner.epoch}`;
  }
  if (line === "commit") return (await owner?.send({ state: state({ child: ++count }) }))?.kind ?? "no owner";
  if (line === "flood") {
    for (;;) {
      const kind = (await owner?.send({ state: state({ child: ++count }) }))?.kind;
      say(`${kind} ${count}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  if (line === "enqueue") return (await store.enqueue("chat/child", submit(`c${++count}`))).kind;
  if (line === "close") await store.close();
  return "closed";
}

try {
  await store.open({ pid: process.pid, host: "child-host", startedAt: 42, version: "1.2.3" });
  say("open");
} catch (error) {
  say(codeOf(error));
}
for await (const line of createInterface({ input: process.stdin })) say(await answer(line).catch(codeOf));
