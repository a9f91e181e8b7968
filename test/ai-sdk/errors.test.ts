import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ModelPart } from "../../src/ports/behaviour.ts";
import { recorded } from "./support/bodies.ts";
import { called, chunksOf, lastOf, readAll } from "./support/model.ts";
import { serve } from "./support/server.ts";

const packages = recorded.filter(({ name }) => !name.includes("text only"));

/** An error frame as each API streams it. */
const frames: Record<string, { overload: unknown; refusal: unknown }> = {
  "openai.chat": {
    overload: { error: { message: "slow down", type: "rate_limit_error", code: "rate_limit_exceeded" } },
    refusal: { error: { message: "too long", type: "invalid_request_error", code: "context_length_exceeded" } },
  },
  "openai.responses": {
    overload: { type: "error", code: "server_error", message: "sorry", param: null, sequence_number: 1 },
    refusal: { type: "error", code: "context_length_exceeded", message: "too long", param: null, sequence_number: 1 },
  },
  anthropic: {
    overload: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    refusal: { type: "error", error: { type: "invalid_request_error", message: "too long" } },
  },
  google: {
    overload: { error: { code: 503, message: "overloaded", status: "UNAVAILABLE" } },
    refusal: { error: { code: 400, message: "too long", status: "INVALID_ARGUMENT" } },
  },
  "openai-compatible": {
    overload: { error: { message: "slow down", code: 429 } },
    refusal: { error: { message: "too long", code: 400 } },
  },
};

describe.each(packages)("[F1] $name", ({ name, model, body }) => {
  let answer: (response: ServerResponse) => void;
  let server: Awaited<ReturnType<typeof serve>>;
  beforeAll(async () => {
    server = await serve((_, response) => answer(response));
  });
  afterAll(() => server.close());

  const ask = async (how: (response: ServerResponse) => void): Promise<ModelPart[]> => {
    answer = how;
    return readAll(await called({ model: model(server.origin) }));
  };
  const status = (code: number, headers: Record<string, string> = {}) =>
    ask((response) => {
      response.writeHead(code, { "content-type": "application/json", ...headers });
      response.end('{"any":"body"}');
    });
  const streamed = (text: string) =>
    ask((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(text);
    });
  const frame = (kind: "overload" | "refusal") => `data: ${JSON.stringify(frames[name]?.[kind])}\n\n`;

  test("answers with a status before anything else", async () => {
    expect(await status(429, { "retry-after": "3" })).toMatchObject([
      { kind: "fault", fault: { kind: "busy", status: 429, retryAfterMs: 3_000 } },
    ]);
    expect(await status(503)).toMatchObject([{ kind: "fault", fault: { kind: "busy", status: 503 } }]);
    const [refused] = await status(400);
    expect(refused).toMatchObject({ kind: "fault", fault: { kind: "refused", status: 400 } });
    expect(refused?.kind === "fault" && refused.fault.message).toMatch(/\{"any":"body"\}/);
    expect(await status(401)).toMatchObject([{ kind: "fault", fault: { kind: "refused" } }]);
  });

  test("cannot be reached", async () => {
    const gone = await serve(() => {});
    await gone.close();
    const [only] = await readAll(await called({ model: model(gone.origin) }));
    expect(only).toMatchObject({ kind: "fault", fault: { kind: "busy" } });
  });

  test("hangs up before it answers", async () => {
    expect(await ask((response) => response.socket?.destroy())).toMatchObject([
      { kind: "fault", fault: { kind: "busy" } },
    ]);
  });

  test("streams an error before anything else", async () => {
    expect(lastOf(await streamed(frame("overload")))).toMatchObject({ kind: "fault", fault: { kind: "busy" } });
    expect(lastOf(await streamed(frame("refusal")))).toMatchObject({ fault: { kind: "refused", status: 400 } });
  });

  test("streams an error after content", async () => {
    const begun = body.slice(0, body.indexOf("\n\n", body.indexOf("Grüße")) + 2);
    for (const kind of ["overload", "refusal"] as const) {
      const parts = await streamed(begun + frame(kind));
      expect(chunksOf(parts).some((chunk) => chunk.type === "text-delta")).toBe(true);
      expect(lastOf(parts)).toMatchObject({ kind: "fault", fault: { kind: "cut" } });
    }
  });

  test("sends what is no event of its protocol", async () => {
    expect(lastOf(await streamed('data: {"what":"?"}\n\n')).kind).toBe("fault");
    expect(lastOf(await streamed("")).kind).toBe("fault");
    expect(lastOf(await streamed('{"error":"this is no stream"}')).kind).toBe("fault");
  });
});
