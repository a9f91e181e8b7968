/** The host: one process that serves agents from one store. Here runtime, class and adapters are brought together. */
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { createEngine } from "../adapters/ai-sdk/index.ts";
import { type HttpDoorOptions, httpDoor } from "../adapters/http/index.ts";
import { sqliteStore } from "../adapters/sqlite/index.ts";
import { PerdureError } from "../core/errors.ts";
import { agentKey, splitKey } from "../core/ids.ts";
import type { Directory } from "../ports/directory.ts";
import type { Services } from "../ports/services.ts";
import type { Store } from "../ports/store.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import { RuntimeGateway } from "../runtime/gateway.ts";
import { Runtime, type RuntimeOptions } from "../runtime/runtime.ts";
import { ThinkBehaviour } from "../think/behaviour.ts";
import type { Think } from "../think/think.ts";
import { type AgentClass, type Agents, namedAgents } from "./agents.ts";
import { type AgentHandle, handle } from "./handle.ts";
import { type Listening, listen } from "./listen.ts";
import { nodeClock, nodeIds, nodeTimers } from "./platform.ts";
import { version } from "./version.ts";

export interface ServeOptions extends Omit<RuntimeOptions, "onLost"> {
  /** The classes to serve: by the names of their routes, or as a list (`MyAgent` becomes `my-agent`). */
  readonly agents: Agents;
  /** Path of the SQLite file, or a store. Default: `perdure.db`. */
  readonly store?: string | (Store & Directory);
  /** Port to listen on; 0 takes a free one. Default 4437. Null: no port is opened, `fetch` is the door. */
  readonly port?: number | null;
  /** Address to listen on. Default 127.0.0.1. Others need `authorize`. */
  readonly host?: string;
  /** Judges every request. Without it only loopback addresses may be listened on. */
  readonly authorize?: HttpDoorOptions["authorize"];
  /** Origins of pages on other hosts that may call. */
  readonly origins?: readonly string[];
  /** Names beside loopback under which the host is called. */
  readonly hosts?: readonly string[];
  /** Given to every agent as `env`. */
  readonly env?: unknown;
  /** Longest time that `close` waits for started tools, in milliseconds. Default 10 000. */
  readonly graceMs?: number;
  /** How long to stand by for a live owner to let the file and the port go, in milliseconds. Default 0: refused at once. */
  readonly waitMs?: number;
  /** SIGTERM and SIGINT close the host and end the process. Default true when a port is opened. */
  readonly signals?: boolean;
  readonly telemetry?: Telemetry;
}

export interface Host {
  /** Null when no port was opened. */
  readonly url: string | null;
  readonly port: number | null;
  /** The web-standard door. */
  fetch(request: Request): Promise<Response>;
  /** An agent for code: its public methods, each as a promise. */
  agent<T extends Think>(agent: AgentClass<T>, name: string): AgentHandle<T>;
  /** Hands over: model streams are cut, started tools may finish within the grace, and the store is let go. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

const loopback = new Set(["127.0.0.1", "::1", "localhost"]);

/**
 * Serves agents. Resolves when the store is held and the port listens; recovery goes on beside.
 *
 * Errors: OWNER_ALIVE, STORE_NEWER, STORE_DAMAGED, STORE_UNWRITABLE, UNSUPPORTED_FILESYSTEM, PORT_IN_USE, FORBIDDEN,
 * BAD_ID, DUPLICATE_AGENT.
 */
export async function serve(options: ServeOptions): Promise<Host> {
  const address = options.host ?? "127.0.0.1";
  if (options.port !== null && !loopback.has(address) && !options.authorize) throw notLoopback(address);
  const classes = namedAgents(options.agents);
  const waitMs = options.waitMs ?? 0;
  const store =
    typeof options.store === "object"
      ? options.store
      : sqliteStore({ path: options.store ?? "perdure.db", wait: waitMs });
  await store.open({ pid: process.pid, host: hostname(), startedAt: Date.now(), version });
  const services = servicesOf(store, classes, options, () => gateway);
  let closing: Promise<void> | null = null;
  const close = (graceMs = options.graceMs ?? 10_000): Promise<void> => {
    closing ??= closeAll(runtime, listening, door, store, graceMs);
    return closing;
  };
  const runtime = new Runtime(services, { ...options, onLost: () => void close(0) });
  const gateway: RuntimeGateway = new RuntimeGateway(runtime);
  const { authorize, origins, hosts } = options;
  const door = httpDoor({
    gateway,
    ...(authorize ? { authorize } : {}),
    ...(origins ? { origins } : {}),
    ...(hosts ? { hosts } : {}),
  });
  const listening =
    options.port === null ? null : await listenOrClose(door.fetch, address, options.port ?? 4437, waitMs, store);
  runtime.start();
  const forget = listening && options.signals !== false ? onSignals(close) : () => {};
  return {
    url: listening?.url ?? null,
    port: listening?.port ?? null,
    fetch: door.fetch,
    agent: (agent, name) => handle(runtime, nameOf(classes, agent), name),
    close: ({ graceMs } = {}) => close(graceMs).finally(forget),
  };
}

async function listenOrClose(
  fetch: (request: Request) => Promise<Response>,
  host: string,
  port: number,
  waitMs: number,
  store: Store,
): Promise<Listening> {
  const until = Date.now() + waitMs;
  for (;;) {
    try {
      return await listen(fetch, host, port);
    } catch (error) {
      // The one that let the file go may not have let the port go yet.
      if (PerdureError.is(error, "PORT_IN_USE") && Date.now() < until) await sleep(20);
      else {
        await store.close();
        throw error;
      }
    }
  }
}

/** Readers see what lands until the hand-over is done; then their sockets are destroyed, never ended (W3). */
async function closeAll(
  runtime: Runtime,
  listening: Listening | null,
  door: ReturnType<typeof httpDoor>,
  store: Store,
  graceMs: number,
): Promise<void> {
  await runtime.handOver(graceMs);
  door.close();
  await listening?.close();
  await store.close();
}

function onSignals(close: () => Promise<void>): () => void {
  const end = (): void => {
    close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.once("SIGTERM", end);
  process.once("SIGINT", end);
  return () => {
    process.off("SIGTERM", end);
    process.off("SIGINT", end);
  };
}

function servicesOf(
  store: Store & Directory,
  classes: ReadonlyMap<string, AgentClass>,
  options: ServeOptions,
  gateway: () => RuntimeGateway,
): Services {
  const engine = createEngine();
  return {
    store,
    directory: store,
    clock: nodeClock,
    timers: nodeTimers,
    ids: nodeIds,
    telemetry: options.telemetry ?? { emit: () => {} },
    serves: (agent) => classes.has(agent),
    behaviour(key) {
      const { agent, id } = splitKey(key);
      const Class = classes.get(agent);
      if (!Class) throw notServed(agent);
      const door = gateway();
      const think = new Class(
        { key, name: id, gateway: door, stash: (turn, data) => door.stash(key, turn, data) },
        options.env,
      );
      return new ThinkBehaviour(key, think, engine, (turn) => door.runs(key, turn));
    },
  };
}

function nameOf(classes: ReadonlyMap<string, AgentClass>, agent: AgentClass): (id: string) => string {
  for (const [name, known] of classes) if (known === agent) return (id) => agentKey(name, id);
  throw notServed(agent.name);
}

function notServed(agent: string): PerdureError {
  return new PerdureError({
    code: "AGENT_NOT_FOUND",
    message: `No agent class "${agent}" is served here.`,
    next: "Its turns stay as they are, and go on when a host serves the class again. Add it to `agents`.",
  });
}

function notLoopback(address: string): PerdureError {
  return new PerdureError({
    code: "FORBIDDEN",
    message: `Listening on ${address} would let everybody in who can reach it.`,
    next: "Nothing was started. Listen on 127.0.0.1, or give `authorize`.",
  });
}
