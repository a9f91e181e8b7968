import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Judge } from "./judge.ts";
import { play } from "./play.ts";
import { parseFault, parseScript } from "./script.ts";
import type { Provider, ProviderLog, ProviderOptions, RequestRecord } from "./types.ts";

/** Starts a scripted, seeded, strict OpenAI chat-completions provider. Rejects if the port is taken. */
export async function startProvider(options: ProviderOptions): Promise<Provider> {
  const judge = new Judge({ ...options, script: parseScript(options.script) });
  const server = createServer((req, res) => {
    route(judge, req, res).catch((error: unknown) => {
      if (res.headersSent) res.destroy();
      else answer(res, 500, errorBody("server_error", null, null, String(error)));
    });
  });
  const host = options.host ?? "127.0.0.1";
  const port = await listen(server, options.port ?? 0, host);
  return {
    url: `http://${host}:${port}/v1`,
    port,
    requests: () => judge.memory.requests,
    refusals: () => judge.memory.refusals,
    setScript: (script) => judge.setScript(parseScript(script)),
    setFault: (fault) => judge.setFault(fault),
    reset: () => judge.reset(),
    close: () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}

async function route(judge: Judge, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const url = new URL(req.url ?? "/", "http://provider");
  switch (`${req.method} ${url.pathname}`) {
    case "POST /v1/chat/completions":
      return complete(judge, req, res);
    case "GET /_log": {
      const since = Number(url.searchParams.get("since") ?? 0);
      const { requests, refusals } = judge.memory;
      const log: ProviderLog = {
        requests: requests.slice(since),
        refusals: refusals.filter((refusal) => refusal.request >= since),
      };
      return answer(res, 200, log);
    }
    case "POST /_script":
      return control(req, res, (body) => judge.setScript(parseScript(body)));
    case "POST /_fault":
      return control(req, res, (body) => judge.setFault(body === null ? null : parseFault(body)));
    case "POST /_reset":
      return control(req, res, () => judge.reset());
    default:
      return answer(
        res,
        404,
        errorBody("invalid_request_error", null, "not_found", `No route ${req.method} ${req.url}.`),
      );
  }
}

async function complete(judge: Judge, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const startedAt = Date.now();
  const raw = await readBody(req);
  const conversation = req.headers["x-conversation"];
  const verdict = judge.judge(raw, typeof conversation === "string" ? conversation : null, startedAt);
  const { record } = verdict;
  watchEnd(res, record);
  if (verdict.kind === "play") return play(res, verdict.show, record);

  record.firstByteAt = Date.now();
  if (verdict.kind === "refused") {
    const { code, param, message } = verdict.reason;
    return answer(res, 400, errorBody("invalid_request_error", param, code, message));
  }
  const { status = 500, retryAfterS, message = "Scripted failure." } = verdict.fault;
  record.outcome = "fault";
  record.fault = "status";
  if (retryAfterS !== undefined) res.setHeader("retry-after", String(retryAfterS));
  const type = status === 429 ? "rate_limit_error" : status >= 500 ? "server_error" : "invalid_request_error";
  answer(res, status, errorBody(type, null, "scripted", message));
}

function watchEnd(res: ServerResponse, record: RequestRecord): void {
  const end = (outcome: "finished" | "cut_by_client") => () => {
    record.endedAt ??= Date.now();
    if (record.outcome === "open") record.outcome = outcome;
  };
  // `finish` means that the last byte was handed to the system, not that the client read it.
  res.once("finish", end("finished"));
  res.once("close", end("cut_by_client"));
}

async function control(req: IncomingMessage, res: ServerResponse, act: (body: unknown) => void): Promise<void> {
  const text = new TextDecoder().decode(await readBody(req));
  try {
    act(text === "" ? null : JSON.parse(text));
  } catch (error) {
    return answer(res, 400, errorBody("invalid_request_error", null, "bad_control", String(error)));
  }
  answer(res, 200, { ok: true });
}

async function readBody(req: IncomingMessage): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of req) pieces.push(piece as Uint8Array);
  return Buffer.concat(pieces);
}

function errorBody(type: string, param: string | null, code: string | null, message: string) {
  return { error: { message, type, param, code } };
}

function answer(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { "content-type": "application/json" });
  res.end(JSON.stringify(body));
}
