/** What each route does, once the request was let in. */
import { PerdureError } from "../../core/errors.ts";
import { type AgentKey, agentKey } from "../../core/ids.ts";
import { uiMessage } from "../../core/transcript.ts";
import { parseSubmit } from "../../wire/submit.ts";
import { json, Refused, refuse } from "./answer.ts";
import { idSegment, pageOf, placeOf, segment } from "./ask.ts";
import { readBody } from "./body.ts";
import type { Ask, Settings } from "./options.ts";
import type { Streams } from "./stream.ts";

export interface Room {
  readonly settings: Settings;
  readonly streams: Streams;
}

/** `POST /agents/:agent`: answers once the turn is durable, with its stream from the first chunk. */
export async function postTurn(room: Room, request: Request): Promise<Response> {
  const { gateway, bodyBytesMax } = room.settings;
  const agent = servedClass(room, request);
  const submit = parseSubmit(await readBody(request, bodyBytesMax));
  if (submit.kind === "rejected") throw new Refused(submit);
  const key = await authorized(room, { request, agent, id: submit.id, action: "submit" });
  const { message, body } = submit;
  const { turn } = await gateway.submit(key, { messages: [message], ...(body === undefined ? {} : { body }) });
  return answerTurn(room, key, turn, 0);
}

/** `GET /agents/:agent/:id/stream`: what runs or has just ended, or a named turn from an exact place on. */
export async function getStream(room: Room, request: Request): Promise<Response> {
  const key = await agentOf(room, request);
  const place = placeOf(request);
  if (place !== null) return answerTurn(room, key, place.turn, place.from);
  const { gateway, recentMs } = room.settings;
  const turn = await gateway.current(key, recentMs);
  if (turn === null) return nothing();
  try {
    return await answerTurn(room, key, turn, 0);
  } catch (error) {
    // The conversation was cleared since we asked.
    if (PerdureError.is(error, "TURN_NOT_FOUND")) return nothing();
    throw error;
  }
}

/** `GET /agents/:agent/:id/messages`. */
export async function getMessages(room: Room, request: Request): Promise<Response> {
  const key = await agentOf(room, request);
  const { after, limit } = pageOf(request);
  // One more than is shown: whether there is a next page is then known, not guessed.
  const placed = await room.settings.gateway.messages(key, after, limit + 1);
  const shown = placed.slice(0, limit);
  const next = placed.length > limit ? shown.at(-1)?.depth : undefined;
  const page = { messages: shown.map(({ message }) => uiMessage(message)) };
  return json(JSON.stringify(next === undefined ? page : { ...page, next: String(next) }));
}

/** `GET /agents/:agent/:id`. */
export async function getStatus(room: Room, request: Request): Promise<Response> {
  return json(JSON.stringify(await room.settings.gateway.status(await agentOf(room, request))));
}

/** `GET /agents/:agent/:id/turns/:turn`. */
export async function getTurn(room: Room, request: Request): Promise<Response> {
  const key = await agentOf(room, request);
  const turn = await room.settings.gateway.turn(key, idSegment(request, 4));
  if (turn === null) refuse("TURN_NOT_FOUND", "This agent has no such turn.", "Ask for a turn id that it has given.");
  return json(JSON.stringify(turn));
}

async function answerTurn({ settings, streams }: Room, key: AgentKey, turn: string, from: number): Promise<Response> {
  const { gateway } = settings;
  const source = await gateway.source(key, turn, from);
  return streams.answer(source, async () => (await gateway.turn(key, turn))?.state === "settled");
}

function nothing(): Response {
  return new Response(null, { status: 204, headers: { "cache-control": "no-store" } });
}

/** The class in the path, if it is served. */
function servedClass({ settings }: Room, request: Request): string {
  const agent = segment(request, 1);
  if (!settings.gateway.has(agent)) {
    refuse("AGENT_NOT_FOUND", "No agent class of this name is served here.", "See which classes the server was given.");
  }
  return agent;
}

/** The agent in the path, if the caller may read it. */
async function agentOf(room: Room, request: Request): Promise<AgentKey> {
  const agent = servedClass(room, request);
  return authorized(room, { request, agent, id: idSegment(request, 2), action: "read" });
}

async function authorized({ settings }: Room, ask: Ask): Promise<AgentKey> {
  // Strictly true: an `authorize` that forgot to answer lets nobody in.
  if (settings.authorize !== undefined && (await settings.authorize(ask)) !== true) {
    refuse("FORBIDDEN", "You may not do this with this agent.", "Ask whoever runs this server for access.");
  }
  return agentKey(ask.agent, ask.id);
}
