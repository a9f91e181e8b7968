/** Serves a recorded body up to a byte, then ends it cleanly or resets the connection: `/<bytes>/<manner>/...`. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

export type Manner = "eof" | "reset";

export interface CutServer {
  url(bytes: number, manner: Manner): string;
  close(): Promise<void>;
}

export async function serveCut(body: Uint8Array): Promise<CutServer> {
  const { origin, close } = await serve((request, response) => {
    const [, bytes, manner] = (request.url ?? "").split("/");
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    const sent = body.subarray(0, Number(bytes));
    if (manner === "reset") response.write(sent, () => response.socket?.destroy());
    else response.end(sent);
  });
  return { url: (bytes, manner) => `${origin}/${bytes}/${manner}`, close };
}

export async function serve(answer: RequestListener): Promise<{ origin: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    request.resume();
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
