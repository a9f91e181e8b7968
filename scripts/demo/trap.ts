/**
 * Kills a process the instant that a file grows: after an effect, before anything can be made of it. A thread of its
 * own, asleep between looks, so that neither this program's reading nor a busy machine holds it up.
 */
import { statSync } from "node:fs";
import { isMainThread, Worker, workerData } from "node:worker_threads";

interface Prey {
  readonly pid: number;
  readonly path: string;
  readonly fromBytes: number;
}

const lookMs = 0.1;

/** Resolves once the trap is set. It goes off at most once. */
export async function setTrap(prey: Prey): Promise<{ remove(): Promise<unknown> }> {
  const worker = new Worker(new URL(import.meta.url), { workerData: prey });
  await new Promise((resolve, reject) => worker.once("online", resolve).once("error", reject));
  worker.unref();
  return { remove: () => worker.terminate() };
}

function lieInWait({ pid, path, fromBytes }: Prey): void {
  const nap = new Int32Array(new SharedArrayBuffer(4));
  for (;;) {
    const file = statSync(path, { throwIfNoEntry: false });
    if (file === undefined) return;
    if (file.size > fromBytes) break;
    Atomics.wait(nap, 0, 0, lookMs);
  }
  process.kill(pid, "SIGKILL");
}

if (!isMainThread) lieInWait(workerData as Prey);
