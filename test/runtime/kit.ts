/** A process, its death and the next one, on one disk and in a time of its own. */
import { MemoryDisk, MemoryStore } from "../../src/adapters/memory/store.ts";
import { PerdureError } from "../../src/core/errors.ts";
import type { AgentState } from "../../src/core/state.ts";
import type { Chunk, UiMessage } from "../../src/core/transcript.ts";
import { nodeIds } from "../../src/node/platform.ts";
import type { Behaviour } from "../../src/ports/behaviour.ts";
import type { Ids } from "../../src/ports/clock.ts";
import type { Directory } from "../../src/ports/directory.ts";
import type { TurnEnd } from "../../src/ports/gateway.ts";
import type { Services } from "../../src/ports/services.ts";
import type { AgentCommit, CommitResult, Store } from "../../src/ports/store.ts";
import type { TelemetryEvent } from "../../src/ports/telemetry.ts";
import { RuntimeGateway } from "../../src/runtime/gateway.ts";
import { Runtime, type RuntimeOptions } from "../../src/runtime/runtime.ts";
import { FakeTime } from "./time.ts";

export type AnyStore = Store & Directory & { dump(agent: string): unknown };

export const owner = { pid: 1, host: "test", startedAt: 1, version: "0.0.0" };
/** The agent that most tests are about. */
export const key = "chat/a";

export interface WorldParts {
  /** What the class of an agent means; made once per load. */
  behaviour(key: string, world: World): Behaviour;
  /** Stands between the runtime and the store of each process. */
  wrap?(store: AnyStore): AnyStore;
  /** The store of a new process. Default: a memory store on the world's disk. */
  store?(): AnyStore;
  readonly options?: RuntimeOptions;
}

export class World {
  readonly time = new FakeTime();
  readonly disk = new MemoryDisk();
  readonly events: TelemetryEvent[] = [];
  /** Each commit that landed, of all processes. */
  readonly landed: AgentCommit[] = [];
  readonly #parts: WorldParts;
  readonly #ids: Ids;
  runtime!: Runtime;
  gateway!: RuntimeGateway;
  /** As the runtime has it. */
  store!: AnyStore;

  constructor(parts: WorldParts) {
    this.#parts = parts;
    let minted = 0;
    this.#ids = { mint: (kind) => `${kind}_${++minted}`, digest: nodeIds.digest, random: () => 0 };
  }

  static async open(parts: WorldParts): Promise<World> {
    const world = new World(parts);
    await world.open();
    return world;
  }

  /** A new process on the same data. */
  async open(options: RuntimeOptions = {}): Promise<void> {
    const bare = this.#parts.store?.() ?? (new MemoryStore(this.disk) as AnyStore);
    await bare.open(owner);
    const watched = this.#watched(bare);
    this.store = this.#parts.wrap?.(watched) ?? watched;
    const services: Services = {
      store: this.store,
      directory: this.store,
      clock: this.time,
      timers: this.time,
      ids: this.#ids,
      telemetry: { emit: (event) => this.events.push(event) },
      behaviour: (agent) => {
        if (agent.startsWith("chat/")) return this.#parts.behaviour(agent, this);
        throw new PerdureError({ code: "AGENT_NOT_FOUND", message: "No such class.", next: "Nothing was done." });
      },
      serves: (agent) => agent === "chat",
    };
    this.runtime = new Runtime(services, { ...this.#parts.options, ...options });
    this.gateway = new RuntimeGateway(this.runtime);
    this.runtime.start();
  }

  /** The process dies: nothing of it is said or done any more. */
  crash(): void {
    this.runtime.abandon();
  }

  async restart(options: RuntimeOptions = {}): Promise<void> {
    this.crash();
    await this.open(options);
  }

  /** The process ends in order, and its next one begins. */
  async deploy(graceMs = 0): Promise<void> {
    const over = this.runtime.handOver(graceMs);
    await this.time.advance(graceMs + 200);
    await over;
    await this.open();
  }

  async submit(id: string, agent = key, text = "hi"): Promise<string> {
    return (await this.time.of(this.gateway.submit(agent, { messages: [user(id, text)] }), `submit ${id}`)).turn;
  }

  ended(turn: string, agent = key): Promise<TurnEnd> {
    return this.time.of(this.gateway.ended(agent, turn), `the end of ${turn}`);
  }

  /** A turn from its message to its end. */
  async turn(id: string, agent = key): Promise<TurnEnd> {
    return this.ended(await this.submit(id, agent), agent);
  }

  /** The durable state. */
  async state(agent = key): Promise<AgentState> {
    return (await this.store.peek(agent)) as unknown as AgentState;
  }

  /** The turn's whole log, as it is stored. */
  async log(turn: string, agent = key): Promise<Chunk[]> {
    const page = await this.store.chunks(agent, turn, 0, Number.MAX_SAFE_INTEGER);
    return page.segments.flatMap((segment) => segment.chunks);
  }

  async messages(agent = key): Promise<readonly UiMessage[]> {
    const page = await this.gateway.messages(agent, -1, 1_000);
    return page.map(({ message }) => ({
      id: message.id,
      role: message.role,
      parts: message.parts.map(({ part }) => part),
    }));
  }

  /** The text of each message of the conversation. */
  async texts(agent = key): Promise<string[]> {
    return (await this.messages(agent)).map((message) => textIn(message.parts));
  }

  told(type: string): TelemetryEvent[] {
    return this.events.filter((event) => event.type === type);
  }

  #watched(store: AnyStore): AnyStore {
    return overriding(store, {
      commit: async (batch) => {
        const results = await store.commit(batch);
        for (const [index, item] of batch.entries()) if (results[index]?.kind === "landed") this.landed.push(item);
        return results;
      },
    });
  }
}

/** A store with some of its methods replaced. */
export function overriding(store: AnyStore, methods: Partial<AnyStore>): AnyStore {
  return new Proxy(store, {
    get(target, name) {
      const own = methods[name as keyof AnyStore] ?? target[name as keyof AnyStore];
      return typeof own === "function" ? (own as (...args: unknown[]) => unknown).bind(target) : own;
    },
  });
}

/** Commits go through this one. `next` asks the store. */
export type Judge = (
  batch: readonly AgentCommit[],
  next: (batch: readonly AgentCommit[]) => Promise<readonly CommitResult[]>,
) => Promise<readonly CommitResult[]>;

export function judged(judge: Judge): (store: AnyStore) => AnyStore {
  return (store) => overriding(store, { commit: (batch) => judge(batch, (some) => store.commit(some)) });
}

/** A door that a test opens. */
export class Gate {
  #open!: () => void;
  readonly opened: Promise<void> = new Promise((resolve) => {
    this.#open = resolve;
  });

  open(): void {
    this.#open();
  }
}

export function user(id: string, text = "hi"): UiMessage {
  return { id, role: "user", parts: [{ type: "text", text }] };
}

export function textIn(parts: readonly { readonly type: string; readonly [field: string]: unknown }[]): string {
  return parts.map((part) => (part.type === "text" ? String(part["text"]) : "")).join("");
}

/** The text that a log shows. */
export function spoken(chunks: readonly Chunk[]): string {
  return chunks.map((chunk) => (chunk.type === "text-delta" ? String(chunk["delta"]) : "")).join("");
}

export const types = (chunks: readonly Chunk[]): string => chunks.map((chunk) => chunk.type).join(" ");
