/** Keeps the server of one run alive: spawns it, kills it at random times, and starts it again with the next kill armed. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { LastWord } from "./bomb.ts";
import { adopt } from "./children.ts";
import type { Cell, Plan } from "./plan.ts";
import type { ServerOptions } from "./server.ts";

const module = fileURLToPath(new URL("./server.ts", import.meta.url));

export interface Death {
  readonly cell: Cell;
  readonly at: number;
  readonly settled: readonly string[];
}

export interface Life {
  readonly spawnedAt: number;
  /** The kill that ended the life before. */
  readonly after: Cell | null;
}

export interface SupervisorOptions {
  readonly plan: Plan;
  readonly folder: string;
  readonly provider: string;
  readonly conversation: string;
  /** Environment of the servers. */
  readonly env: NodeJS.ProcessEnv;
}

export class Supervisor {
  readonly deaths: Death[] = [];
  readonly lives: Life[] = [];
  /** Ends that were not ordered. */
  readonly troubles: string[] = [];
  readonly #options: SupervisorOptions;
  #child: ChildProcess | null = null;
  #ready: Promise<string> = new Promise(() => {});
  #closed = false;
  #randomTimer: NodeJS.Timeout | null = null;
  #randomAt = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** The address of the server that lives, now or after the next restart. */
  url(): Promise<string> {
    return this.#ready;
  }

  start(): void {
    const { plan, folder, provider, conversation, env } = this.#options;
    const number = this.lives.length;
    const kill = this.#closed ? undefined : plan.kills[this.deaths.length];
    const armed = kill && kill.point !== "random" ? kill : null;
    const options: ServerOptions = {
      folder,
      provider,
      conversation,
      process: number,
      plan: { hooks: plan.hooks, prefill: plan.prefill },
      armed,
    };
    const stderr = openSync(join(folder, `server-${number}.log`), "w");
    const stdio = ["ignore", "pipe", stderr] as ["ignore", "pipe", number];
    const child = adopt(spawn(process.execPath, [module, JSON.stringify(options)], { stdio, env }));
    closeSync(stderr);
    this.#child = child;
    this.lives.push({ spawnedAt: Date.now(), after: this.deaths.at(-1)?.cell ?? null });
    if (number > 0) this.armRandom();
    this.#ready = this.#watch(child, number);
    this.#ready.catch(() => {});
  }

  /** Random kills count from the first message, and from each restart. */
  armRandom(): void {
    const kill = this.#options.plan.kills[this.deaths.length];
    if (kill?.point !== "random" || this.#randomTimer || this.#closed) return;
    const child = this.#child;
    this.#randomTimer = setTimeout(() => {
      this.#randomAt = Date.now();
      child?.kill("SIGKILL");
    }, kill.afterMs);
  }

  /** Kills that have not come to pass are called off. */
  disarm(): void {
    this.#closed = true;
    if (this.#randomTimer) clearTimeout(this.#randomTimer);
    this.#randomTimer = null;
  }

  /** Another process, after the end of the one that lives. */
  async replace(): Promise<void> {
    this.disarm();
    await this.#end("SIGTERM");
    this.start();
  }

  async stop(): Promise<void> {
    this.disarm();
    await this.#end("SIGKILL");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  }

  #watch(child: ChildProcess, number: number): Promise<string> {
    let last: LastWord | null = null;
    return new Promise<string>((resolve, reject) => {
      const lines = createInterface(child.stdout as NonNullable<ChildProcess["stdout"]>);
      lines.on("line", (line) => {
        const said = JSON.parse(line) as { url: string } | LastWord;
        if ("url" in said) resolve(said.url);
        else last = said;
      });
      // `close`: the last word was read, too.
      child.once("close", () => {
        if (this.#child !== child) return;
        // Who waits for this life waits for the next one.
        this.#onDeath(child, last, number)
          .then(() => this.#ready)
          .then(resolve, reject);
      });
    });
  }

  async #onDeath(child: ChildProcess, last: LastWord | null, number: number): Promise<void> {
    const at = Date.now();
    if (last) this.deaths.push({ cell: { point: last.killed, when: last.when }, at, settled: last.settled });
    else if (this.#randomAt > 0) this.deaths.push({ cell: { point: "random", when: "after" }, at, settled: [] });
    else
      this.troubles.push(
        `server ${number} ended by itself (${child.exitCode ?? child.signalCode}): ${this.#log(number)}`,
      );
    this.#randomAt = 0;
    if (this.#randomTimer) clearTimeout(this.#randomTimer);
    this.#randomTimer = null;
    if (this.troubles.length > 2) throw new Error("the server does not stay alive");
    await sleep(this.#options.plan.restartMs);
    if (this.#child === child) this.start();
  }

  #log(number: number): string {
    return readFileSync(join(this.#options.folder, `server-${number}.log`), "utf8").slice(-1_000);
  }
}
