/** A worker thread that tries to open the store of its process, and says how that went. */
import { parentPort, workerData } from "node:worker_threads";
import { sqliteStore } from "../../../src/adapters/sqlite/index.ts";

const store = sqliteStore({ path: workerData as string });
const owner = { pid: process.pid, host: "thread", startedAt: 0, version: "0" };
const said = await store.open(owner).then(
  () => "open",
  (error: { code?: string }) => error.code,
);
parentPort?.postMessage(said);
