/** The gateway that the doors talk to. Everything it answers is landed state (R1). */
import { PerdureError } from "../core/errors.ts";
import { type AgentKey, idFault, incidentId, messageIdOf, splitKey } from "../core/ids.ts";
import { canonical, type Json, type JsonObject } from "../core/json.ts";
import { limits } from "../core/limits.ts";
import type { Command, CommandBody, PlacedMessage, TurnRow } from "../core/records.ts";
import { type SnapshotEnd, snapshotChunks } from "../core/snapshot.ts";
import type { AgentState } from "../core/state.ts";
import { type UiMessage, uiMessage } from "../core/transcript.ts";
import type { AgentStatus, Gateway, SubmitInput, Submitted, TurnEnd, TurnSource, TurnView } from "../ports/gateway.ts";
import { InstanceDead } from "./agent.ts";
import { closed } from "./closed.ts";
import { type Received, receive } from "./inbox.ts";
import { stateOf } from "./load.ts";
import { Reader } from "./reader.ts";
import type { Runtime } from "./runtime.ts";

export class RuntimeGateway implements Gateway {
  readonly #runtime: Runtime;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  ready(): boolean {
    return this.#runtime.ready;
  }

  has(agent: string): boolean {
    return this.#runtime.services.serves(agent);
  }

  async submit(key: AgentKey, input: SubmitInput): Promise<Submitted> {
    const { ids } = this.#runtime.services;
    const last = input.messages.at(-1);
    if (!last) throw new Error("a submit has at least one message");
    const turn = ids.mint("turn");
    const body = input.body === undefined ? {} : { body: input.body };
    const content = input.messages.map(({ id, role, parts }) => ({ id, role, parts }));
    const received = await this.#send(key, `message:${last.id}`, content, {
      kind: "submit",
      turn,
      messages: input.messages,
      ...body,
    });
    return this.#submitted(key, received);
  }

  /** Goes on with the last assistant message. */
  async continue(key: AgentKey, body?: JsonObject): Promise<Submitted> {
    const turn = this.#runtime.services.ids.mint("turn");
    const rest = body === undefined ? {} : { body };
    return this.#submitted(key, await this.#send(key, `continue:${turn}`, turn, { kind: "continue", turn, ...rest }));
  }

  async append(key: AgentKey, messages: readonly UiMessage[], mode: "append" | "upsert"): Promise<void> {
    const id = this.#runtime.services.ids.mint("command");
    await this.#send(key, `append:${id}`, id, { kind: "append", messages, mode });
  }

  async stop(key: AgentKey, turn: string | null, reason = "stopped"): Promise<boolean> {
    const state = await this.#state(key);
    const waits = state.queue.some((item) => item.kind !== "append" && item.turn === turn);
    if (!waits && (!state.turn || (turn !== null && state.turn.id !== turn))) return false;
    const id = this.#runtime.services.ids.mint("command");
    await this.#send(key, `stop:${id}`, id, { kind: "stop", turn, reason });
    return true;
  }

  async clear(key: AgentKey): Promise<void> {
    const id = this.#runtime.services.ids.mint("command");
    await this.#send(key, `clear:${id}`, id, { kind: "clear" });
  }

  async status(key: AgentKey): Promise<AgentStatus> {
    return statusOf(await this.#state(key));
  }

  async turn(key: AgentKey, turn: string): Promise<TurnView | null> {
    const row = await this.#row(key, turn);
    if (!row) return null;
    const state = row.status === "settled" ? null : await this.#state(key);
    return turnView(row, state?.turn?.id === turn ? statusOf(state).status : row.status);
  }

  async current(key: AgentKey, withinMs: number): Promise<string | null> {
    const state = await this.#state(key);
    if (state.turn) return state.turn.id;
    if (!state.last) return null;
    const row = await this.#row(key, state.last.turn);
    const age = this.#runtime.services.clock.now() - (row?.endedAt ?? 0);
    return row && age < withinMs ? row.id : null;
  }

  async source(key: AgentKey, turn: string, from: number): Promise<TurnSource> {
    const row = await this.#row(key, turn);
    if (!row) throw notFound(turn);
    const { store } = this.#runtime.services;
    if (row.status === "settled" && !(await this.#hasChunks(key, turn))) {
      const message = await store.message(key, row.messageId);
      const final = message ? uiMessage(message) : { id: row.messageId, role: "assistant" as const, parts: [] };
      return { kind: "snapshot", turn, chunks: snapshotChunks(final, endChunk(row)) };
    }
    return { kind: "chunks", turn, reader: new Reader(store, this.#runtime.hub, key, turn, from) };
  }

  messages(key: AgentKey, after: number, countMax: number): Promise<readonly PlacedMessage[]> {
    return this.#runtime.services.store.messages(key, after, countMax);
  }

  /** Whether a turn is in flight, as this process knows it. */
  runs(key: AgentKey, turn: string): boolean {
    return this.#runtime.loaded(key)?.state.turn?.id === turn;
  }

  /** Keeps a value with a turn in flight. */
  stash(key: AgentKey, turn: string, data: unknown): void {
    const text = JSON.stringify(data) ?? "null";
    if (text.length > limits.stashBytesMax)
      throw new RangeError(`stash() holds at most ${limits.stashBytesMax} characters of JSON`);
    this.#runtime.loaded(key)?.report({ type: "stashed", turn, data: JSON.parse(text) as Json });
  }

  /** How a turn ended. Waits for it, through the death of instances. */
  async ended(key: AgentKey, turn: string): Promise<TurnEnd> {
    const { hub } = this.#runtime;
    while (!hub.closed) {
      let forget = (): void => {};
      const landed = new Promise<void>((resolve) => {
        forget = hub.once(key, resolve);
      });
      try {
        const row = await this.#row(key, turn);
        if (row?.status === "settled" && row.outcome) return endOf(row, row.outcome);
        if (!row) throw notFound(turn);
        await landed;
      } finally {
        forget();
      }
    }
    throw closed();
  }

  async #hasChunks(key: AgentKey, turn: string): Promise<boolean> {
    const page = await this.#runtime.services.store.chunks(key, turn, 0, 1);
    // A damaged segment is none, and more may follow it.
    return page.segments.length > 0 || page.more;
  }

  #row(key: AgentKey, turn: string): Promise<TurnRow | null> {
    return this.#runtime.services.store.turn(key, turn);
  }

  /** Landed state, without loading an agent that is not in memory. */
  async #state(key: AgentKey): Promise<AgentState> {
    const loaded = this.#runtime.loaded(key);
    if (loaded) return loaded.landed;
    return stateOf(key, await this.#runtime.services.directory.peek(key));
  }

  async #send(key: AgentKey, id: string, content: unknown, body: CommandBody): Promise<Received> {
    const { clock, ids, serves } = this.#runtime.services;
    const { agent: name, id: agentId } = splitKey(key);
    if (!serves(name)) throw unknownAgent(name);
    const messageIds = "messages" in body ? body.messages.map((message) => message.id) : [];
    checkIds([agentId, ...messageIds]);
    if (new Set(messageIds).size < messageIds.length) throw badRequest("Two of the messages have the same id.");
    if (!this.#runtime.open) throw closed();
    const given = plain({ content, body });
    const command = { v: 1, id, hash: ids.digest(canonical(given.content)), at: clock.now(), ...given.body } as Command;
    for (;;) {
      const agent = await this.#runtime.agent(key);
      try {
        return await receive(agent, command, this.#runtime.services);
      } catch (error) {
        // Nobody knows whether it landed: the next instance does, by the command's id.
        if (!(error instanceof InstanceDead)) throw error;
      }
    }
  }

  async #submitted(key: AgentKey, received: Received): Promise<Submitted> {
    const { turn } = received;
    if (turn === null) throw unanswered();
    const row = received.fresh ? null : await this.#row(key, turn);
    if (!received.fresh && !row) throw notFound(turn);
    return { turn, messageId: row?.messageId ?? messageIdOf(turn), accepted: received.fresh };
  }
}

export function statusOf(state: AgentState): AgentStatus {
  const { turn, queue, last } = state;
  const queued = queue.filter((item) => item.kind !== "append").length;
  const pending: JsonObject[] = [];
  if (!turn) return { status: "idle", turn: null, incident: null, pending, last };
  const { incident, phase } = turn;
  const recovering = phase.kind === "recovering" || phase.kind === "handed-over";
  const shown = { id: turn.id, messageId: turn.messageId, queued };
  if (incident.kind === "none")
    return { status: recovering ? "recovering" : "running", turn: shown, incident: null, pending, last };
  const { ledger } = incident;
  return {
    status: "recovering",
    turn: shown,
    incident: {
      id: incidentId(turn.id, turn.inputs.at(-1) ?? ""),
      attempt: ledger.attempt,
      maxAttempts: ledger.policy.maxAttempts,
      cause: ledger.cause,
      since: ledger.openedAt,
      ...(incident.kind === "waiting" ? { until: incident.until } : {}),
    },
    pending,
    last,
  };
}

function turnView(row: TurnRow, status: string): TurnView {
  const { id, messageId, createdAt, startedAt, endedAt, outcome, reason, error } = row;
  const fields = { startedAt, endedAt, outcome, reason, error };
  const known = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  return { id, messageId, state: (status === "idle" ? "running" : status) as TurnView["state"], createdAt, ...known };
}

/** The last chunk of the turn's log, said again. */
function endChunk(row: TurnRow): SnapshotEnd {
  switch (row.outcome) {
    case "failed":
    case "sealed":
      return { type: "error", errorText: row.error ?? "" };
    case "stopped":
      return { type: "abort", reason: row.reason ?? "stopped" };
    default:
      return { type: "finish", finishReason: row.finishReason ?? "stop" };
  }
}

function endOf(row: TurnRow, outcome: NonNullable<TurnRow["outcome"]>): TurnEnd {
  const reason = row.reason === undefined ? {} : { reason: row.reason };
  const error = row.error === undefined ? {} : { error: row.error };
  return { turn: row.id, messageId: row.messageId, outcome, ...reason, ...error };
}

function notFound(turn: string): PerdureError {
  return new PerdureError({
    code: "TURN_NOT_FOUND",
    message: `There is no turn "${turn}" here.`,
    next: "Nothing was changed. Look at the agent's status for the turn in flight.",
  });
}

/** `addMessages` put it there. */
function unanswered(): PerdureError {
  return new PerdureError({
    code: "CONTENT_CONFLICT",
    message: "This message is in the conversation already, and no turn answers it.",
    next: "Nothing was changed. Send a new message under a new id, or call continueLastTurn().",
  });
}

function checkIds(ids: readonly string[]): void {
  for (const id of ids) {
    const fault = idFault(id);
    if (fault === null) continue;
    throw new PerdureError({
      code: "BAD_ID",
      message: `The id ${JSON.stringify(String(id)).slice(0, 80)} ${fault}.`,
      next: "Nothing was accepted. Use printable text of up to 256 characters.",
    });
  }
}

/** A copy as JSON has it: what is hashed is what is stored, and nobody changes it afterwards. */
function plain<T>(value: T): T {
  try {
    return JSON.parse(JSON.stringify(value)) as T;
  } catch {
    throw badRequest("The messages cannot be stored, since they are not JSON.");
  }
}

function badRequest(message: string): PerdureError {
  return new PerdureError({ code: "BAD_REQUEST", message, next: "Nothing was accepted. Correct the call." });
}

function unknownAgent(agent: string): PerdureError {
  return new PerdureError({
    code: "AGENT_NOT_FOUND",
    message: `No agent class "${agent}" is served here.`,
    next: "Nothing was accepted. Check the name in the route against the classes that the host was given.",
  });
}
