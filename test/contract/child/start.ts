import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface Holder {
  readonly process: ChildProcess;
  readonly pid: number;
  /** The next line that it says. */
  heard(): Promise<string>;
  ask(line: string): Promise<string>;
  kill(signal: NodeJS.Signals): void;
  /** Resolves when it has ended. */
  ended(): Promise<void>;
}

/** Starts holder.ts; the first line that it says is "open", or the code of what it met. */
export function startHolder(path: string, wait = 0): Holder {
  const script = fileURLToPath(new URL("./holder.ts", import.meta.url));
  const child = spawn(process.execPath, [script, path, String(wait)], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const exit = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const heard = async (): Promise<string> => (await lines.next()).value ?? "ended";
  return {
    process: child,
    pid: child.pid!,
    heard,
    ask(line) {
      child.stdin!.write(`${line}\n`);
      return heard();
    },
    kill: (signal) => void child.kill(signal),
    ended: () => exit,
  };
}

/** A stopped process is not ended by anything but SIGKILL. */
export async function endHolder(holder: Holder): Promise<void> {
  holder.kill("SIGKILL");
  await holder.ended();
}
