/**
 * World: one seed played out. Clients, a machine, a disk, a scripted model and its tools, and everything that goes
 * wrong, on one queue and one clock. Ends with the first rule that is broken, or when nothing is left to happen.
 */

import { MemoryDisk, MemoryStore } from "../../adapters/memory/store.ts";
import { blank } from "../../core/state.ts";
import { Clients } from "./clients.ts";
import { isWrite } from "./facade.ts";
import { type Fault, faultsOf, type Strike } from "./faults.ts";
import { checkEnd } from "./final.ts";
import { type Disk, Machine } from "./machine.ts";
import { type Scenario, scenarioOf } from "./scenario.ts";
import { Scene, type Violation } from "./scene.ts";
import type { Step } from "./schedule.ts";

export interface WorldOptions {
  readonly seed: number;
  readonly scenario?: Scenario;
  readonly faults?: readonly Fault[];
  readonly disk?: Disk;
  readonly onStep?: (line: string) => void;
  readonly bootMs?: number;
  /** Read what is durable of each agent at the end. */
  readonly dump?: boolean;
}

export interface StoreCall {
  readonly port: string;
  readonly write: boolean;
}

export interface WorldResult {
  readonly seed: number;
  readonly violation: Violation | null;
  readonly faults: readonly Fault[];
  readonly steps: number;
  readonly virtualMs: number;
  readonly calls: readonly StoreCall[];
  /** By agent, where it was asked for and the adapter can. */
  readonly dumps: ReadonlyMap<string, unknown>;
  readonly scene: Scene;
}

/** More steps than any world of this size needs: something goes round and round. */
const stepsMax = 30_000;
/** Longer than it takes a process to let go of a quiet agent. */
const quietMs = 90_000;
/** Longer than all deadlines of all steps of all turns, one after the other. */
const virtualMsMax = 4 * 24 * 3_600_000;

export async function runWorld(options: WorldOptions): Promise<WorldResult> {
  const world = new World(options);
  return world.run();
}

export function memoryDisk(): Disk {
  const disk = new MemoryDisk();
  return {
    name: "memory",
    open: async () => {
      const store = new MemoryStore(disk);
      await store.open({ pid: 1, host: "world", startedAt: 0, version: "0" });
      return store;
    },
    dispose: async () => {},
  };
}

type Striking = Extract<Fault, { at: Strike }>;

function nameOf(at: Strike): string {
  return "step" in at ? `step ${at.step}` : `${at.side} ${at.call}`;
}

class World {
  readonly #scene: Scene;
  readonly #machine: Machine;
  readonly #clients: Clients;
  readonly #disk: Disk;
  readonly #faults: readonly Fault[];
  readonly #strikes = new Map<string, Striking[]>();
  readonly #calls: StoreCall[] = [];
  readonly #bootMs: number;
  readonly #dump: boolean;
  readonly #dumps = new Map<string, unknown>();
  #quietAt = 0;

  constructor(options: WorldOptions) {
    const { seed, scenario = scenarioOf(seed), faults = faultsOf(seed), disk = memoryDisk() } = options;
    this.#faults = faults;
    this.#disk = disk;
    for (const fault of faults)
      if ("at" in fault) this.#strikes.set(nameOf(fault.at), [...(this.#strikes.get(nameOf(fault.at)) ?? []), fault]);
    this.#scene = new Scene(seed, scenario, faults, options.onStep);
    this.#scene.mirror.durable.add(blank);
    this.#machine = new Machine(this.#scene, disk);
    this.#clients = new Clients(this.#scene, this.#machine);
    this.#dump = options.dump ?? false;
    this.#bootMs = options.bootMs ?? Math.floor(this.#scene.dice("boot")() * 40);
  }

  async run(): Promise<WorldResult> {
    const scene = this.#scene;
    const { schedule } = scene;
    const unhandled = (error: unknown): void =>
      scene.fail("unhandled", `nobody handles: ${error instanceof Error ? error.stack : String(error)}`);
    process.on("unhandledRejection", unhandled);
    try {
      this.#machine.start(this.#bootMs);
      this.#clients.start();
      for (
        let step = schedule.next();
        step && !scene.violation && !scene.quarantined && !this.#over();
        step = schedule.next()
      )
        await this.#play(step);
      await new Promise((resolve) => setImmediate(resolve));
      if (!scene.violation && !scene.quarantined) await this.#end();
    } finally {
      process.off("unhandledRejection", unhandled);
    }
    const { violation } = scene;
    return {
      seed: scene.seed,
      violation,
      faults: this.#faults,
      steps: schedule.steps,
      virtualMs: schedule.now,
      calls: this.#calls,
      dumps: this.#dumps,
      scene,
    };
  }

  /** Everybody has what they waited for, and the process was left alone for long enough to let go of its agents. */
  #over(): boolean {
    const { mirror, schedule } = this.#scene;
    if (this.#clients.busy > 0) {
      this.#quietAt = schedule.now;
      return false;
    }
    const idle = [...mirror.agents.values()].every(({ state, outbox }) => !state?.turn && outbox.size === 0);
    if (!idle) this.#quietAt = schedule.now;
    return schedule.now > this.#quietAt + quietMs;
  }

  async #play(step: Step): Promise<void> {
    const { schedule } = this.#scene;
    const index = schedule.steps + 1;
    const call = step.port === undefined ? 0 : this.#calls.push({ port: step.port, write: isWrite(step.port) });
    await this.#strike(`step ${index}`);
    if (call > 0) await this.#strike(`before ${call}`);
    if (!step.owner.dead && !step.owner.frozen) await schedule.make(step);
    else if (step.owner.frozen) schedule.put(step);
    if (call > 0) await this.#strike(`after ${call}`);
    this.#look();
    if (schedule.steps > stepsMax) this.#scene.fail("K3", `a world of ${stepsMax} steps is not at its end`);
    if (schedule.now > virtualMsMax)
      this.#scene.fail("T1", `after ${schedule.now} ms of virtual time a turn has not ended`);
  }

  async #strike(now: string): Promise<void> {
    for (const fault of this.#strikes.get(now) ?? []) {
      this.#scene.faults.strike(fault.kind);
      if (fault.kind === "death") this.#machine.kill(fault.downMs);
      else if (fault.kind === "hand-over") this.#machine.handOver(fault.graceMs, fault.downMs);
      else if (fault.kind === "freeze") this.#machine.freeze(fault.thawMs, fault.downMs);
      else if (fault.kind === "outage")
        this.#scene.outage = { until: this.#scene.schedule.now + fault.ms, reads: fault.reads };
      else await this.#machine.fence(this.#scene.scenario.agents[fault.agent]?.key ?? "");
    }
  }

  /** What the process takes for landed has landed (R1). */
  #look(): void {
    const process = this.#machine.current;
    if (!process) return;
    for (const { key } of this.#scene.scenario.agents) {
      const agent = process.runtime.loaded(key);
      if (agent && !this.#scene.mirror.durable.has(agent.landed))
        this.#scene.fail("R1", `${key} shows a state that is not durable`);
    }
  }

  async #end(): Promise<void> {
    const scene = this.#scene;
    if (this.#clients.busy > 0) {
      const states = [...scene.mirror.agents.values()].map(
        ({ key, state }) => `${key}: ${JSON.stringify(state?.turn?.phase ?? "idle")}`,
      );
      return scene.fail("T1", `nothing is left to happen, and clients wait. ${states.join("; ")}`);
    }
    const store = await this.#disk.open();
    await checkEnd(scene, store, this.#clients.promised);
    if (this.#dump) for (const { key } of scene.scenario.agents) this.#dumps.set(key, store.dump?.(key));
    await store.close();
  }
}
