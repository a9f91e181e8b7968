// The door behind a real Node server on a loopback port, and clients that see what is on the wire.
import { createServer, type IncomingMessage, request as nodeRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { afterEach } from "vitest";
import { type HttpDoor, type HttpDoorOptions, httpDoor } from "../../src/adapters/http/index.ts";
import { FakeGateway } from "./fake-gateway.ts";

export interface World {
  readonly gateway: FakeGateway;
  readonly door: HttpDoor;
  readonly server: Server;
  readonly port: number;
  readonly url: string;
}

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** `overrideGlobalObjects`: node-server's own Request and Response, which take another path through it. */
export async function serve(options: Partial<HttpDoorOptions> = {}, overrideGlobalObjects = false): Promise<World> {
  const gateway = (options.gateway as FakeGateway | undefined) ?? new FakeGateway();
  const door = httpDoor({ ...options, gateway });
  const listener = getRequestListener((request) => door.fetch(request), { overrideGlobalObjects });
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { gateway, door, server, port, url: `http://127.0.0.1:${port}` };
}

export interface Event {
  readonly id?: string;
  readonly data: string;
}

/** Parsed by hand, strictly: what is not an event of ours or a comment fails. */
export function events(text: string): Event[] {
  if (text !== "" && !text.endsWith("\n\n")) throw new Error(`cut inside an event: ${text.slice(-80)}`);
  const found: Event[] = [];
  for (const block of text.split("\n\n").slice(0, -1)) {
    if (block.startsWith(":")) continue;
    const parsed = /^(?:id: (?<id>[^\n]*)\n)?data: (?<data>[^\n]*)$/.exec(block);
    if (!parsed?.groups) throw new Error(`not an event: ${block}`);
    const { id, data } = parsed.groups;
    found.push(id === undefined ? { data: data! } : { id, data: data! });
  }
  return found;
}

export async function streamed(response: Response): Promise<Event[]> {
  return events(await response.text());
}

export function user(id: string, text: string): { id: string; role: "user"; parts: { type: "text"; text: string }[] } {
  return { id, role: "user", parts: [{ type: "text", text }] };
}

export function chatBody(message: unknown = user("u1", "Hello"), more: object = {}): object {
  return { id: "c1", messages: [message], trigger: "submit-message", ...more };
}

export async function post(world: World, body: unknown, init: RequestInit = {}): Promise<Response> {
  return fetch(`${world.url}/agents/chat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...init,
  });
}

export interface Raw {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
  /** The response ended as HTTP says that it must: the last chunk was seen. */
  readonly complete: boolean;
}

export interface RawRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A request with headers that `fetch` would not let us choose, read to its end, clean or not. */
export function raw(world: World, ask: RawRequest): Promise<Raw> {
  return opened(world, ask).then(({ response }) => drained(response));
}

export interface Opened {
  readonly response: IncomingMessage;
  hangUp(): void;
}

/** Resolves with the headers; the body is not read yet. */
export function opened(world: World, { method = "GET", path, headers = {}, body }: RawRequest): Promise<Opened> {
  return new Promise((resolve, reject) => {
    const sent = nodeRequest({ host: "127.0.0.1", port: world.port, method, path, headers, agent: false });
    sent.on("response", (response) => resolve({ response, hangUp: () => sent.destroy() }));
    sent.on("error", reject);
    sent.end(body);
  });
}

export function drained(response: IncomingMessage): Promise<Raw> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    response.on("data", (piece: Buffer) => pieces.push(piece));
    // A destroyed socket is an error to the client: what was seen until then is the answer.
    response.on("error", () => {});
    response.on("close", () => {
      const { statusCode, headers, complete } = response;
      resolve({ status: statusCode ?? 0, headers, text: Buffer.concat(pieces).toString("utf8"), complete });
    });
  });
}

/** Waits until something is so. */
export async function until(what: string, so: () => boolean, ms = 5_000): Promise<void> {
  const late = Date.now() + ms;
  while (!so()) {
    if (Date.now() > late) throw new Error(`not so in ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
