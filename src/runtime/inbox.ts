/**
 * Inbox: commands on their way into an agent's machine.
 *
 *   C1. A command is durable before it is acknowledged.
 *   C2. Consuming never waits.
 *   C3. Same id and content: the same answer, for as long as its tombstone or its message is kept. Other content: refused.
 */
import { PerdureError } from "../core/errors.ts";
import { canonical } from "../core/json.ts";
import { limits } from "../core/limits.ts";
import type { Command, Tombstone } from "../core/records.ts";
import { type StoredMessage, storedMessage, type UiMessage } from "../core/transcript.ts";
import type { Services } from "../ports/services.ts";
import type { MessageWrite } from "../ports/store.ts";
import { type Agent, type Fact, InstanceDead } from "./agent.ts";

/** How long a store is left alone that did not answer. */
const unansweredMs = 1_000;

export interface Received {
  readonly turn: string | null;
  /** False: it was accepted before. */
  readonly fresh: boolean;
}

interface Accepting {
  readonly hash: string;
  readonly turn: string | null;
  readonly landed: Promise<void>;
}

/** Commands whose commit is on its way, by id. */
const accepting = new WeakMap<Agent, Map<string, Accepting>>();

/** Consumes a command that comes from a door. */
export async function receive(agent: Agent, command: Command, services: Services): Promise<Received> {
  const checked = await check(agent, command, services, ways(agent));
  if ("fresh" in checked) return checked;
  const { turn, landed, meanwhile } = await take(agent, checked, services);
  if (meanwhile) return repeated(meanwhile, command);
  await landed;
  return { turn, fresh: true };
}

/** Consumes what lies in the durable inbox, where ids were checked. In its order: no look-up lets the next one past. */
export async function consume(agent: Agent, commands: readonly Command[], services: Services): Promise<void> {
  // Known by its id from here on: the same command from a door waits for the stored one, and never overtakes it.
  const stored = commands.map((command) => ({ command, way: reserve(agent, command) }));
  for (const { command, way } of stored) {
    const known = await patiently(agent, services, async () => {
      return factOf(agent, await storable(agent, command, services), services);
    });
    if (known === null) way.failed(new InstanceDead(agent.key));
    else agent.submit(known.fact, known.messages).then(way.landed, way.failed);
  }
}

function reserve(agent: Agent, command: Command): { landed(): void; failed(error: unknown): void } {
  const onItsWay = ways(agent);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const landed = promise.finally(() => onItsWay.delete(command.id));
  landed.catch(() => {});
  const turn = command.kind === "submit" || command.kind === "continue" ? command.turn : null;
  onItsWay.set(command.id, { hash: command.hash, turn, landed });
  return { landed: resolve, failed: reject };
}

/** A store that does not answer is asked again: nobody else would consume what it holds. Null: the agent is over. */
async function patiently<T>(agent: Agent, services: Services, look: () => Promise<T>): Promise<T | null> {
  while (agent.alive) {
    try {
      return await look();
    } catch {
      await new Promise<void>((resolve) => services.timers.after(unansweredMs, resolve));
    }
  }
  return null;
}

function ways(agent: Agent): Map<string, Accepting> {
  const known = accepting.get(agent) ?? new Map<string, Accepting>();
  accepting.set(agent, known);
  return known;
}

/** Hands a command to its agent, without waiting for the landing. `meanwhile`: somebody came in while we looked. */
async function take(
  agent: Agent,
  command: Command,
  services: Services,
): Promise<{ readonly turn: string | null; readonly landed?: Promise<void>; readonly meanwhile?: Accepting }> {
  const { fact, messages, turn } = await factOf(agent, command, services);
  const onItsWay = ways(agent);
  const meanwhile = onItsWay.get(command.id);
  if (meanwhile) return { turn, meanwhile };
  const landed = agent.submit(fact, messages).finally(() => onItsWay.delete(command.id));
  // Whoever waits for it hears of its failure; nobody has to.
  landed.catch(() => {});
  onItsWay.set(command.id, { hash: command.hash, turn, landed });
  return { turn, landed };
}

/** What of a stored command can still have an effect: a message that was accepted before makes no second turn (C3). */
async function storable(agent: Agent, command: Command, services: Services): Promise<Command> {
  if (command.kind !== "submit") return command;
  const novel = await withoutKnown(agent, command, services).catch((error: unknown) => {
    if (PerdureError.is(error, "CONTENT_CONFLICT")) return null;
    throw error;
  });
  if (novel && !("fresh" in novel)) return novel;
  const { v, id, hash, at } = command;
  return { v, id, hash, at, kind: "append", messages: [], mode: "append" };
}

/** The command as far as it is new, or the answer that it had before. */
async function check(
  agent: Agent,
  command: Command,
  services: Services,
  onItsWay: ReadonlyMap<string, Accepting>,
): Promise<Command | Received> {
  const before = onItsWay.get(command.id) ?? (await services.store.tombstone(agent.key, command.id));
  if (before) return repeated(before, command);
  const novel = command.kind === "submit" ? await withoutKnown(agent, command, services) : command;
  if (!("fresh" in novel)) refuseWhenFull(agent, novel);
  return novel;
}

async function repeated(before: Accepting | Tombstone, command: Command): Promise<Received> {
  if (before.hash !== command.hash) throw conflict();
  if ("landed" in before) await before.landed;
  return { turn: before.turn, fresh: false };
}

type Submit = Extract<Command, { kind: "submit" }>;

/**
 * A message that is stored was accepted once, however long ago. The last one decides, since it is what the turn answers;
 * others that are known are in the conversation already.
 */
async function withoutKnown(agent: Agent, command: Submit, services: Services): Promise<Submit | Received> {
  const messages: UiMessage[] = [];
  for (const message of command.messages) {
    const known = await services.store.message(agent.key, message.id);
    if (!known) messages.push(message);
    else if (!isSame(known, message)) throw conflict();
    else if (message === command.messages.at(-1)) return { turn: known.turn ?? null, fresh: false };
  }
  return { ...command, messages };
}

function isSame(known: StoredMessage, message: UiMessage): boolean {
  const parts = known.parts.map(({ part }) => part);
  return known.role === message.role && canonical(parts) === canonical(message.parts);
}

function refuseWhenFull(agent: Agent, command: Command): void {
  if (command.kind === "stop" || command.kind === "clear") return;
  const { queue, turn } = agent.state;
  // Messages without a turn wait only behind one.
  if (command.kind === "append" && !turn) return;
  const ids = "messages" in command ? command.messages.map(({ id }) => id) : [];
  const fits = JSON.stringify([queue, ids]).length < limits.queueBytesMax;
  const turns = queue.filter((item) => item.kind !== "append").length;
  if (fits && (command.kind === "append" || turns < limits.queuedTurnsMax)) return;
  throw new PerdureError({
    code: "INBOX_FULL",
    message: "Too many turns wait already.",
    next: "Nothing was accepted. Send it again when one of them has ended.",
    retriable: true,
  });
}

function conflict(): PerdureError {
  return new PerdureError({
    code: "CONTENT_CONFLICT",
    message: "A message with this id and other content was accepted before.",
    next: "Nothing was changed. Send new content under a new id.",
  });
}

interface Consumable {
  readonly fact: Fact;
  readonly messages: readonly MessageWrite[];
  readonly turn: string | null;
}

async function factOf(agent: Agent, command: Command, services: Services): Promise<Consumable> {
  const turn = command.kind === "submit" || command.kind === "continue" ? command.turn : null;
  const done = { id: command.id, hash: command.hash, turn, at: command.at };
  switch (command.kind) {
    case "submit": {
      const inputs = command.messages.map((message) => message.id);
      const body = command.body === undefined ? {} : { body: command.body };
      const messages = command.messages.map((message) => accepted(message, command.turn));
      return { fact: { type: "submit", done, turn: command.turn, inputs, ...body }, messages, turn };
    }
    case "continue": {
      const body = command.body === undefined ? {} : { body: command.body };
      return { fact: { type: "continue", done, turn: command.turn, ...body }, messages: [], turn };
    }
    case "append":
      return { ...(await appended(agent, command, services, done)), turn };
    case "stop":
      return {
        fact: { type: "stop", done, turn: command.turn, reason: command.reason ?? "stopped" },
        messages: [],
        turn,
      };
    case "clear":
      return { fact: { type: "clear", done }, messages: [], turn };
  }
}

/** New messages enter the conversation; known ones stay as they are, or are replaced (`upsert`). */
async function appended(
  agent: Agent,
  command: Extract<Command, { kind: "append" }>,
  services: Services,
  done: Tombstone,
): Promise<{ fact: Fact; messages: MessageWrite[] }> {
  const messages: MessageWrite[] = [];
  const placed: { id: string; role: UiMessage["role"] }[] = [];
  for (const message of command.messages) {
    if ((await services.store.message(agent.key, message.id)) === null) {
      messages.push(accepted(message, undefined));
      placed.push({ id: message.id, role: message.role });
    } else if (command.mode === "upsert") {
      const { parts, metadata } = storedMessage(message);
      messages.push({ op: "replace", id: message.id, parts, ...(metadata === undefined ? {} : { metadata }) });
    }
  }
  return { fact: { type: "append", done, messages: placed }, messages };
}

function accepted(message: UiMessage, turn: string | undefined): MessageWrite {
  const { parts, ...stored } = storedMessage(message);
  return { op: "put", message: turn === undefined ? stored : { ...stored, turn }, depth: null, parts };
}
