/** Machine: the computer that the process runs on. It starts processes, lets them die, and carries what clients ask. */
import { createHash } from "node:crypto";
import type { Command } from "../../core/records.ts";
import type { Ids } from "../../ports/clock.ts";
import { RuntimeGateway } from "../../runtime/gateway.ts";
import { Runtime } from "../../runtime/runtime.ts";
import { ScriptedBehaviour } from "./behaviour.ts";
import { Facade, type FullStore } from "./facade.ts";
import type { ModelPlan } from "./scenario.ts";
import type { Scene } from "./scene.ts";
import type { Owner } from "./schedule.ts";

/** What survives a process. */
export interface Disk {
  readonly name: string;
  /** The disk as a new process finds it. Whoever had it before is dead, or is fenced from now on. */
  open(): Promise<FullStore>;
  dispose(): Promise<void>;
}

/** The wall clock at the beginning of a world. */
export const epochMs = Date.UTC(2026, 0, 1);

/** How long a process that came back without owning anything is left to notice. */
const zombieMs = 5_000;

/** The process at the other end has died, or the answer got lost on its way. */
export class ConnectionLost extends Error {}

export interface Process {
  readonly owner: Owner;
  readonly store: FullStore;
  readonly runtime: Runtime;
  readonly gateway: RuntimeGateway;
  readonly asked: Set<() => void>;
  closing: boolean;
}

export class Machine {
  current: Process | null = null;
  readonly #scene: Scene;
  readonly #disk: Disk;
  #starts = 0;

  constructor(scene: Scene, disk: Disk) {
    this.#scene = scene;
    this.#disk = disk;
  }

  /** A process starts after some time. */
  start(afterMs: number): void {
    const { schedule, outside, downs } = this.#scene;
    downs.push({ from: schedule.now, to: schedule.now + afterMs });
    schedule.after(afterMs, { owner: outside, label: "start", run: () => this.#begin() });
  }

  async #begin(): Promise<void> {
    const { schedule, scenario } = this.#scene;
    const index = this.#starts++;
    const owner: Owner = { name: `p${index}`, dead: false };
    const inner = await this.#disk.open();
    const store = new Facade(inner, this.#scene, owner);
    const model = scenario.models[Math.min(index, scenario.models.length - 1)] as ModelPlan;
    const runtime = new Runtime(
      {
        store,
        directory: store,
        clock: { now: () => epochMs + schedule.now + model.skewMs, elapsed: () => schedule.now },
        timers: { after: (ms, run) => this.#timer(owner, ms, run) },
        ids: idsOf(this.#scene),
        telemetry: { emit: (event) => this.#scene.cover.mark(`event: ${event.type}`) },
        behaviour: (agent) => new ScriptedBehaviour(this.#scene, owner, agent, model),
        serves: () => true,
      },
      { idleMs: scenario.idleMs },
    );
    this.current = {
      owner,
      store: inner,
      runtime,
      gateway: new RuntimeGateway(runtime),
      asked: new Set(),
      closing: false,
    };
    runtime.start();
  }

  #timer(owner: Owner, ms: number, run: () => void): () => void {
    return this.#scene.schedule.after(ms, { owner, label: `timer ${ms}`, run });
  }

  /** The process dies, whatever it is doing. */
  kill(downMs: number): void {
    const process = this.#take();
    if (!process) return;
    this.#scene.schedule.note(`${process.owner.name} DIES`);
    process.owner.dead = true;
    this.#scene.cover.unclean++;
    this.#lose(process);
    this.start(downMs);
  }

  /** The process ends in order. It may still die before it has. */
  handOver(graceMs: number, downMs: number): void {
    const process = this.current;
    if (!process || process.closing) return;
    const { schedule, outside } = this.#scene;
    schedule.note(`${process.owner.name} HANDS OVER`);
    process.closing = true;
    const begun = schedule.now;
    void process.runtime.handOver(graceMs).then(() => {
      if (process.owner.dead || this.current !== process) return;
      this.current = null;
      if (!this.#scene.zombies && schedule.now - begun > 2 * graceMs + 200_000)
        this.#scene.fail("K4", "a hand-over took longer than its grace");
      process.owner.dead = true;
      this.#lose(process);
      this.#handedOver(process.owner.name);
      schedule.put({
        owner: outside,
        label: `${process.owner.name} has handed over`,
        run: () => process.store.close(),
      });
      this.start(downMs);
    });
  }

  /** Whatever was in flight is recorded as handed over, unless the store took nothing (K4). */
  #handedOver(by: string): void {
    const { mirror, outage, schedule, cover, zombies } = this.#scene;
    const left = [...mirror.agents.values()].filter((agent) => {
      const turn = agent.by === by ? agent.state?.turn : null;
      if (!turn) return false;
      if (turn.phase.kind === "recovering") return turn.incident.kind === "consulting";
      return turn.phase.kind !== "handed-over" && turn.phase.kind !== "failing";
    });
    if (left.length === 0) return;
    cover.unclean++;
    const refused = outage.until > schedule.now - 10_000;
    if (!refused && !zombies)
      this.#scene.fail("K4", `after a hand-over ${left[0]?.key} is ${left[0]?.state?.turn?.phase.kind}`);
  }

  /** The process stops; another one takes its disk; then it goes on for a while, as if nothing had been. */
  freeze(thawMs: number, downMs: number): void {
    const process = this.#take();
    if (!process) return;
    const { schedule, outside } = this.#scene;
    schedule.note(`${process.owner.name} FREEZES`);
    this.#scene.zombies = true;
    this.#scene.cover.unclean += 2;
    schedule.freeze(process.owner);
    this.#lose(process);
    this.start(downMs);
    const exit = (): void => {
      process.owner.dead = true;
    };
    const thaw = (): void => {
      schedule.thaw(process.owner);
      schedule.after(zombieMs, { owner: outside, label: `${process.owner.name} exits`, run: exit });
    };
    schedule.after(downMs + thawMs, { owner: outside, label: `${process.owner.name} thaws`, run: thaw });
  }

  /** Somebody else claims an agent that this process has in memory. */
  async fence(agent: string): Promise<void> {
    const process = this.current;
    if (!process?.runtime.loaded(agent)) return;
    this.#scene.zombies = true;
    this.#scene.cover.unclean += 2;
    this.#scene.schedule.note(`${agent} IS CLAIMED by another owner`);
    await process.store.claim(agent, epochMs + this.#scene.schedule.now);
  }

  /** A command from another process, while this machine runs none. False: it runs one. */
  async drop(agent: string, command: Command): Promise<boolean> {
    if (this.current) return false;
    const store = await this.#disk.open();
    await store.enqueue(agent, command);
    await store.close();
    return true;
  }

  /** A client asks the process that is there now, or `on`. Answers and losses arrive through the world's queue. */
  ask<T>(label: string, call: (process: Process) => Promise<T>, on?: Process): Promise<T> {
    const { schedule, outside, faults } = this.#scene;
    return new Promise((resolve, reject) => {
      const lost = (): void =>
        schedule.put({ owner: outside, label: `  lost: ${label}`, run: () => reject(new ConnectionLost()) });
      const arrive = (): void => {
        const process = this.current;
        if (!process || (on && process !== on)) return lost();
        process.asked.add(lost);
        const answered = (settle: () => void): void => {
          if (!process.asked.delete(lost)) return;
          const n = faults.count("rpc");
          if (faults.find("answer", ({ rpc }) => rpc === n)) lost();
          else schedule.put({ owner: outside, label: `  answered: ${label}`, run: settle });
        };
        call(process).then(
          (value) => answered(() => resolve(value)),
          (error: unknown) => answered(() => reject(error)),
        );
      };
      schedule.put({ owner: outside, label, run: arrive });
    });
  }

  #take(): Process | null {
    const process = this.current;
    this.current = null;
    return process;
  }

  #lose(process: Process): void {
    for (const agent of this.#scene.mirror.agents.values()) this.#scene.cover.row(agent);
    for (const lost of process.asked) lost();
    process.asked.clear();
  }
}

export function idsOf(scene: Scene): Ids {
  const dice = scene.dice("ids");
  return {
    mint: (kind) => `${kind}_${String(scene.faults.count("ids")).padStart(5, "0")}`,
    digest,
    random: () => dice(),
  };
}

export function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
