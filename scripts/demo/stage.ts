/** The processes and files of one run. Everything that was started or made here is gone when the demo is, unless kept. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const bootMs = 30_000;

export interface Server {
  readonly pid: number;
  /** Wall clock, milliseconds: the provider's log has the same. */
  readonly spawnedAt: number;
  /** Resolves with the signal that ended it, or its exit code. */
  readonly ended: Promise<string>;
  /** SIGKILL, if it still runs. */
  kill(): void;
}

export class Stage {
  readonly folder = mkdtempSync(join(tmpdir(), "perdure-demo-"));
  readonly data = join(this.folder, "demo.db");
  readonly effects = join(this.folder, "effects.txt");
  /** Of the agent class: what the client is given. Set by the first start; every restart listens there again. */
  api = "";
  #port = 0;
  readonly #children = new Set<ChildProcess>();
  readonly #keep: boolean;

  constructor(keep: boolean) {
    this.#keep = keep;
    writeFileSync(this.effects, "");
  }

  /** The scripted provider. Answers its base URL. */
  async provider(): Promise<string> {
    const args = ["src/testing/provider/main.ts", "--port", "0", "--manner", "exact", "--keep-bodies"];
    const { line } = await this.#start("provider", args, bareEnv(), /^\{"url":/);
    return (JSON.parse(line) as { url: string }).url;
  }

  /** `perdure serve [module]` on the run's file, at the run's address. */
  async server(env: NodeJS.ProcessEnv, module?: string): Promise<Server> {
    const command = ["src/cli/main.ts", "serve", ...(module === undefined ? [] : [module])];
    const args = [...command, "--port", String(this.#port), "--data", this.data, "--wait", "10s"];
    const spawnedAt = Date.now();
    const { line, child, ended } = await this.#start("server", args, env, /\/agents\/assistant on http/);
    const url = /http:\S+/.exec(line)?.[0] ?? "";
    this.#port = Number(new URL(url).port);
    this.api = `${url}/agents/assistant`;
    return { pid: child.pid ?? 0, spawnedAt, ended, kill: () => void child.kill("SIGKILL") };
  }

  /** Once it is dead. Throws when it was not killed, but ended by itself. */
  async killed(server: Server): Promise<void> {
    const how = await server.ended;
    if (how !== "SIGKILL") throw new Error(`The server ended by itself (${how}).`);
  }

  effectLines(): number {
    return existsSync(this.effects) ? readFileSync(this.effects, "utf8").split("\n").length - 1 : 0;
  }

  /** The last lines that a child wrote. */
  output(name: "server" | "provider", lines = 12): string {
    const path = join(this.folder, `${name}.log`);
    return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n").slice(-lines).join("\n") : "";
  }

  /** Ends what runs and removes what was made. Synchronous: it also runs while the process exits. */
  sweep(): void {
    for (const child of this.#children) child.kill("SIGKILL");
    this.#children.clear();
    if (!this.#keep) rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 40 });
  }

  async #start(name: string, args: string[], env: NodeJS.ProcessEnv, ready: RegExp) {
    const child = spawn(process.execPath, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
    this.#children.add(child);
    const ended = once(child, "exit").then(([code, signal]) => {
      this.#children.delete(child);
      return String(signal ?? code);
    });
    const line = await new Promise<string>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`The ${name} was not ready in ${bootMs / 1_000} s.`)), bootMs);
      let written = "";
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding("utf8").on("data", (text: string) => {
          written += text;
          if (existsSync(this.folder)) appendFileSync(join(this.folder, `${name}.log`), text);
          const found = written
            .split("\n")
            .slice(0, -1)
            .find((one) => ready.test(one));
          if (found !== undefined) resolve(found);
        });
      }
      child.once("close", () => reject(new Error(`The ${name} ended before it was ready:\n${written.trimEnd()}`)));
      child.once("error", reject);
      ended.finally(() => clearTimeout(late)).catch(reject);
    });
    return { line, child, ended };
  }
}

/** The environment without what could lead a child astray: no model, no keys, no proxy in front of loopback. */
export function bareEnv(): NodeJS.ProcessEnv {
  const unwanted = /^PERDURE_|_API_KEY$|^NODE_USE_ENV_PROXY$|^NODE_OPTIONS$/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !unwanted.test(name)));
}
