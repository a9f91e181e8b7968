/**
 * Who may talk to the door at all. A server on loopback is reachable by every page that a browser on this machine
 * shows: through a name that its owner points at 127.0.0.1 (DNS rebinding: the Host check), and by blind cross-site
 * requests (the Origin check, and JSON only, which browsers ask about first).
 */
import { refuse } from "./answer.ts";
import type { Settings } from "./options.ts";

/** Throws for a host or an origin that is not allowed. Answers the origin that the response must name, if any. */
export function guard(request: Request, settings: Settings): string | null {
  const url = new URL(request.url);
  // A request line may hold a whole URL, with a host of its own beside the header's.
  const host = request.headers.get("host") ?? url.host;
  for (const name of [host, url.host]) {
    if (!isAllowedHost(name, settings.hosts)) {
      refuse(
        "FORBIDDEN",
        "This host name is not served here.",
        "Call by a loopback name, or allow the name in `hosts`.",
      );
    }
  }
  const origin = request.headers.get("origin");
  if (origin === null || isSameHost(origin, host)) return null;
  if (settings.origins.includes(origin)) return origin;
  refuse(
    "FORBIDDEN",
    "Pages of this origin may not call here.",
    "Allow the origin in `origins`, or call from this host.",
  );
}

function isAllowedHost(host: string, allowed: readonly string[]): boolean {
  const name = hostname(host);
  if (name === null) return false;
  if (name === "localhost" || name === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(name)) return true;
  return allowed.some((one) => one.toLowerCase() === name || one.toLowerCase() === host.toLowerCase());
}

/** The name of a `Host` header in its normal form; null for what is none. */
function hostname(host: string): string | null {
  // Only what a host may hold: a `Host` with a path or a user in it would parse as another one.
  if (!/^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d*)?$/i.test(host) || !URL.canParse(`http://${host}`)) return null;
  return new URL(`http://${host}`).hostname;
}

function isSameHost(origin: string, host: string): boolean {
  if (!/^https?:\/\//.test(origin) || !URL.canParse(origin)) return false;
  const { protocol, host: own } = new URL(origin);
  // By the origin's scheme, so that a default port written out is the same host.
  return URL.canParse(`${protocol}//${host}`) && new URL(`${protocol}//${host}`).host === own;
}

/** The answer to a browser that asks before it sends; null when it did not ask. */
export function preflight(request: Request, origin: string | null): Response | null {
  if (request.method !== "OPTIONS" || origin === null) return null;
  if (!request.headers.has("access-control-request-method")) return null;
  const headers = {
    "access-control-allow-methods": "GET, POST",
    // The origin was allowed by name: what it sends is up to it.
    "access-control-allow-headers": request.headers.get("access-control-request-headers") ?? "content-type",
    "access-control-max-age": "600",
  };
  return new Response(null, { status: 204, headers });
}

/** Lets a page of an allowed origin read the answer. */
export function share(response: Response, origin: string | null): Response {
  if (origin === null) return response;
  response.headers.set("access-control-allow-origin", origin);
  response.headers.set("access-control-expose-headers", "x-perdure-turn, retry-after");
  response.headers.set("vary", "origin");
  return response;
}
