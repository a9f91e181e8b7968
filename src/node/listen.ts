/** A Node HTTP server around a web-standard `fetch`. */
import type { Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import { PerdureError } from "../core/errors.ts";

export interface Listening {
  readonly port: number;
  readonly url: string;
  /** Refuses new connections and destroys the open ones: a clean end would look like a finished answer. */
  close(): Promise<void>;
}

export async function listen(
  fetch: (request: Request) => Promise<Response>,
  host: string,
  port: number,
): Promise<Listening> {
  const server = createAdaptorServer({ fetch, overrideGlobalObjects: false }) as Server;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(cannotListen(error, host, port)));
    server.listen(port, host, resolve);
  });
  const address = server.address();
  const bound = typeof address === "object" && address !== null ? address.port : port;
  return {
    port: bound,
    url: `http://${host.includes(":") ? `[${host}]` : host}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code !== "EADDRINUSE") return error;
  return new PerdureError(
    {
      code: "PORT_IN_USE",
      message: `Port ${port} on ${host} is in use.`,
      next: "Nothing was started. Stop what listens there, or choose another port (0 takes a free one).",
    },
    { cause: error },
  );
}
