/**
 * The HTTP door: a web-standard `fetch` over the gateway. It checks, translates and streams; what is true is the
 * gateway's to say.
 */
import { Hono } from "hono";
import { errorAnswer, hostClosed, json, notAllowed, refuse } from "./answer.ts";
import { guard, preflight, share } from "./guard.ts";
import { type HttpDoorOptions, settle } from "./options.ts";
import { getMessages, getStatus, getStream, getTurn, postTurn, type Room } from "./routes.ts";
import { openStreams } from "./stream.ts";

export interface HttpDoor {
  /** Answers one request. Never rejects. */
  fetch(request: Request): Promise<Response>;
  /** Destroys every open stream and refuses what comes after. Called before the gateway closes. */
  close(): void;
}

/** Opens the door. Its routes are those of the SDK's `DefaultChatTransport` with `api: "/agents/<class>"`, and more. */
export function httpDoor(options: HttpDoorOptions): HttpDoor {
  const settings = settle(options);
  const streams = openStreams(settings);
  let closed = false;
  const app = routes({ settings, streams }, () => !closed && settings.gateway.ready());
  const answer = async (request: Request, origin: string | null): Promise<Response> => {
    if (closed && !isProbe(request)) hostClosed();
    return preflight(request, origin) ?? (await app.fetch(request));
  };
  return {
    async fetch(request) {
      let origin: string | null = null;
      try {
        // Probes come by the address of the machine, and say nothing that is worth guarding.
        if (!isProbe(request)) origin = guard(request, settings);
        return share(await answer(request, origin), origin);
      } catch (error) {
        return share(errorAnswer(error, settings.onError), origin);
      }
    },
    close() {
      closed = true;
      streams.close();
    },
  };
}

function isProbe(request: Request): boolean {
  const { pathname } = new URL(request.url);
  return pathname === "/healthz" || pathname === "/readyz";
}

type Handler = (room: Room, request: Request) => Promise<Response>;

/** Method, path, handler, and what `Allow` says. HEAD comes with GET, but for a stream, whose body nobody would read. */
const table: readonly (readonly ["GET" | "POST", string, Handler, string])[] = [
  ["POST", "/agents/:agent", postTurn, "POST"],
  ["GET", "/agents/:agent/:id", getStatus, "GET, HEAD"],
  ["GET", "/agents/:agent/:id/stream", getStream, "GET"],
  ["GET", "/agents/:agent/:id/messages", getMessages, "GET, HEAD"],
  ["GET", "/agents/:agent/:id/turns/:turn", getTurn, "GET, HEAD"],
];

function routes(room: Room, ready: () => boolean): Hono {
  const app = new Hono();
  for (const [method, path, handler, allow] of table) {
    app.on(method, path, ({ req: { raw } }) => {
      // Hono runs GET for HEAD and drops the body unread: a stream's reader would stay open for ever.
      return raw.method === "HEAD" && !allow.includes("HEAD") ? notAllowed(allow) : handler(room, raw);
    });
    app.all(path, () => notAllowed(allow));
  }
  app.get("/healthz", () => json('{"ok":true}'));
  app.get("/readyz", () => (ready() ? json('{"ready":true}') : json('{"ready":false}', 503)));
  app.all("/healthz", () => notAllowed("GET, HEAD"));
  app.all("/readyz", () => notAllowed("GET, HEAD"));
  app.notFound(() => refuse("BAD_REQUEST", "There is no such route.", "See the route table of the HTTP door.", 404));
  // Errors are answered outside: Hono's own handler would print them.
  app.onError((error) => {
    throw error;
  });
  return app;
}
