// Puts a plan on the wire, with its pauses and its fault.

import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { Plan } from "./plan.ts";
import type { Fault, RequestRecord } from "./types.ts";
import type { Usage } from "./usage.ts";

export interface Show {
  plan: Plan;
  fault: Fault | null;
  id: string;
  model: string;
  /** Null if the client did not ask for it. */
  usage: Usage | null;
}

/** Resolves when the response is over, in whatever way. */
export async function play(res: ServerResponse, show: Show, record: RequestRecord): Promise<void> {
  const { plan, fault } = show;
  const strikeAt = fault === null ? Number.POSITIVE_INFINITY : Math.min(fault.afterChunks ?? 1, plan.deltas.length);
  await pause(plan.firstByteMs);
  if (res.destroyed) return;
  if (fault !== null && strikeAt === 0) return strike(res, fault, record);

  sendHead(res, record);
  const send = sender(res, show);
  for (const [index, delta] of plan.deltas.entries()) {
    await pause(delta.waitMs);
    if (res.destroyed) return;
    await send({ choices: [{ index: 0, delta: delta.json, finish_reason: null }] });
    record.sent.text += delta.text;
    record.sent.reasoning += delta.reasoning;
    record.sent.args += delta.args;
    record.sent.chunks += 1;
    if (fault !== null && index + 1 === strikeAt) return strike(res, fault, record);
  }
  await send({ choices: [{ index: 0, delta: {}, finish_reason: plan.finish }] });
  if (show.usage !== null) await send({ choices: [], usage: show.usage });
  res.end("data: [DONE]\n\n");
}

function sender(res: ServerResponse, { id, model }: Show) {
  const created = Math.floor(Date.now() / 1000);
  const head = JSON.stringify({ id, object: "chat.completion.chunk", created, model }).slice(0, -1);
  return async (rest: Record<string, unknown>): Promise<void> => {
    if (res.destroyed || res.write(`data: ${head},${JSON.stringify(rest).slice(1)}\n\n`)) return;
    const over = new AbortController();
    const either = ["drain", "close"].map((event) => once(res, event, { signal: over.signal }));
    await Promise.race(either);
    over.abort();
  };
}

function sendHead(res: ServerResponse, record: RequestRecord): void {
  res.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
  res.flushHeaders();
  record.firstByteAt = Date.now();
}

async function strike(res: ServerResponse, fault: Fault, record: RequestRecord): Promise<void> {
  record.outcome = "fault";
  record.fault = fault.kind;
  switch (fault.kind) {
    case "stall":
      // The socket stays open; `close` of client or server ends it.
      return;
    case "reset":
      // What was written must leave first: a reset may overtake it.
      await pause(5);
      res.socket?.resetAndDestroy();
      return;
    case "eof":
      if (!res.headersSent) sendHead(res, record);
      res.end();
      return;
    case "status":
      throw new Error("A status fault is answered before the stream.");
  }
}

/** Not cut short when the client leaves: an abort signal per chunk costs more than the chunk. */
function pause(ms: number): Promise<void> | undefined {
  return ms > 0 ? new Promise((resolve) => setTimeout(resolve, ms).unref()) : undefined;
}
