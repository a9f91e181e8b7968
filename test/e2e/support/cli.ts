/** `perdure` as a process: its lines, its address, its end. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export const root = fileURLToPath(new URL("../../../", import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Cli {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Resolves with the address once it is served; rejects when the process ends before. */
  readonly url: Promise<string>;
  readonly ended: Promise<Ended>;
  stderr(): string;
  kill(signal: NodeJS.Signals): Promise<Ended>;
}

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Flags of Node itself. */
  readonly node?: readonly string[];
}

/** Runs the command from the sources. Killed at the end of the test. */
export function perdure(args: readonly string[], { env = {}, node = [] }: CliOptions = {}): Cli {
  const cache = join(tmpdir(), "perdure-e2e-cache");
  const quiet = { NODE_NO_WARNINGS: "1", NODE_COMPILE_CACHE: cache, PERDURE_MODEL: "", PERDURE_BASE_URL: "" };
  const clean = { ...process.env, ...quiet, ...env };
  const options = { cwd: root, env: clean, stdio: ["ignore", "pipe", "pipe"] as ["ignore", "pipe", "pipe"] };
  const child = spawn(process.execPath, [...node, "src/cli/main.ts", ...args], options);
  let stdout = "";
  let stderr = "";
  child.stderr.on("data", (piece: Buffer) => {
    stderr += piece.toString();
  });
  const ended = once(child, "close").then(([code, signal]): Ended => ({ code, signal, stdout, stderr }));
  const url = new Promise<string>((resolve, reject) => {
    child.stdout.on("data", (piece: Buffer) => {
      stdout += piece.toString();
      const [, address] = / on (http:\S+) /.exec(stdout) ?? [];
      if (address) resolve(address);
    });
    ended.then(({ stderr }) => reject(new Error(`perdure ended before it listened: ${stderr}`)), reject);
  });
  url.catch(() => {});
  const kill = (signal: NodeJS.Signals): Promise<Ended> => {
    child.kill(signal);
    return ended;
  };
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) await kill("SIGKILL");
  });
  return { child, pid: child.pid ?? 0, url, ended, stderr: () => stderr, kill };
}

/** A folder for the time of the test. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "perdure-e2e-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
