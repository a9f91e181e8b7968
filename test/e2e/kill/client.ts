/**
 * The client of a run. Sends messages until they are acknowledged, reads their streams, and comes back after every
 * break: by `Last-Event-ID`, by `turn` and `after`, from 0, or by sending the same message again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Dice, pick } from "../../../src/testing/prng.ts";
import { endsLog, events, type Seen } from "./seen.ts";

export interface Message {
  readonly id: string;
  readonly role: "user";
  readonly parts: readonly { readonly type: "text"; readonly text: string }[];
}

export interface Connection {
  /** The address of the server that lives. */
  url(): Promise<string>;
  readonly agent: string;
  readonly seen: Seen;
  readonly dice: Dice;
  /** Aborted when the run is out of time. */
  readonly signal: AbortSignal;
}

export function message(id: string, text: string): Message {
  return { id, role: "user", parts: [{ type: "text", text }] };
}

/** What to wait for in a turn, seen from outside. */
export interface Watch {
  readonly acknowledged?: (turn: string) => void;
  readonly chunk?: (turn: string, count: number) => void;
}

/** Resolves with the turn's id once its whole log was read. */
export async function converse(connection: Connection, sent: Message, watch: Watch = {}): Promise<string> {
  const { signal, dice } = connection;
  let turn: string | null = null;
  for (;;) {
    signal.throwIfAborted();
    const response = await attempt(connection, sent, turn);
    if (response === null) {
      await sleep(5);
      continue;
    }
    if (turn === null) {
      turn = response.headers.get("x-perdure-turn") ?? "";
      watch.acknowledged?.(turn);
    }
    // Sometimes the client is the one that goes away (W5).
    const leaveAfter = dice() < 0.1 ? Math.floor(dice() * 12) : Number.POSITIVE_INFINITY;
    if (await read(connection, response, turn, leaveAfter, watch)) return turn;
  }
}

/** One request. Null: there was no answer, or the server said to come back. */
async function attempt(connection: Connection, sent: Message, turn: string | null): Promise<Response | null> {
  const { agent, seen, signal } = connection;
  const base = await connection.url();
  const response = await (turn === null ? post(connection, base, sent) : resume(connection, base, sent, turn)).catch(
    () => null,
  );
  if (response === null || response.status === 200) return response;
  const text = await response.text().catch(() => "");
  signal.throwIfAborted();
  if (turn !== null && response.status === 404) seen.lost.push(`${turn} was acknowledged, and is not there: ${text}`);
  // 204: nothing runs. It is an answer only to who does not name the turn.
  if (response.status === 503 || response.status === 204) return null;
  throw new Error(`${agent}: ${response.status} ${text}, after ${seen.received} chunks`);
}

function post({ agent, signal }: Connection, base: string, sent: Message): Promise<Response> {
  const body = JSON.stringify({ id: agent, messages: [sent], trigger: "submit-message" });
  return fetch(`${base}/agents/kill`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
    signal,
  });
}

function resume(connection: Connection, base: string, sent: Message, turn: string): Promise<Response> {
  const { agent, signal, dice, seen } = connection;
  const stream = `${base}/agents/kill/${agent}/stream`;
  const last = Math.max(-1, ...seen.turn(turn).texts.keys());
  const way = pick(dice, ["last-event-id", "last-event-id", "after", "zero", "message"] as const);
  switch (way) {
    case "message":
      return post(connection, base, sent);
    case "zero":
      return fetch(`${stream}?turn=${turn}`, { signal });
    case "after":
      return fetch(`${stream}?turn=${turn}${last < 0 ? "" : `&after=${last}`}`, { signal });
    case "last-event-id":
      return fetch(last < 0 ? `${stream}?turn=${turn}` : stream, {
        signal,
        headers: last < 0 ? {} : { "last-event-id": `${turn}:${last}` },
      });
  }
}

/** True: the log was read to its end. */
async function read(
  { seen }: Connection,
  response: Response,
  turn: string,
  leaveAfter: number,
  watch: Watch,
): Promise<boolean> {
  if (!response.body) throw new Error("a stream without a body");
  let next: number | null = null;
  let last = "";
  let count = 0;
  try {
    for await (const { id, data } of events(response.body)) {
      if (data === "[DONE]") {
        if (last !== "" && !endsLog(last)) seen.problems.push(`${turn} was done after ${last}`);
        seen.turn(turn).ends += 1;
        return true;
      }
      const offset = Number(id?.slice(id.lastIndexOf(":") + 1));
      if (id === null || id !== `${turn}:${offset}`) throw new Error(`an event of ${turn} has the id ${id}: ${data}`);
      if (next !== null && offset !== next) seen.problems.push(`${turn}: offset ${offset} came after ${next - 1}`);
      next = offset + 1;
      last = data;
      seen.chunk(turn, offset, data);
      count += 1;
      watch.chunk?.(turn, seen.turn(turn).texts.size);
      if (count >= leaveAfter) return false;
    }
  } catch (error) {
    if (error instanceof Error && error.message.startsWith("an event of")) throw error;
    return false;
  }
  // A clean end before the end of the log looks like a finished answer to stock clients (W3).
  seen.problems.push(
    `${turn}: the stream ended in order at offset ${next === null ? "none" : next - 1}, before its end`,
  );
  return false;
}
