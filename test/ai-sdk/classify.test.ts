import { APICallError, InvalidPromptError, LoadAPIKeyError, UnsupportedFunctionalityError } from "@ai-sdk/provider";
import { DownloadError } from "@ai-sdk/provider-utils";
import { RetryError, StreamProviderError } from "ai";
import { describe, expect, test } from "vitest";
import { classify, type Stage } from "../../src/adapters/ai-sdk/classify.ts";
import type { Fault } from "../../src/core/fault.ts";
import { called, finish, lastOf, modelOf, type Part, playing, readAll } from "./support/model.ts";

interface Api {
  status?: number;
  retryable?: boolean;
  headers?: Record<string, string>;
  body?: string;
  message?: string;
  data?: unknown;
}

const api = ({ status, retryable, headers, body, message = "no", data }: Api): APICallError =>
  new APICallError({
    message,
    url: "https://api.example",
    requestBodyValues: { secret: "prompt" },
    ...(status === undefined ? {} : { statusCode: status }),
    ...(retryable === undefined ? {} : { isRetryable: retryable }),
    ...(headers ? { responseHeaders: headers } : {}),
    ...(body === undefined ? {} : { responseBody: body }),
    ...(data === undefined ? {} : { data }),
  });

const coded = (code: string): Error => Object.assign(new Error(code), { code });

/** building, start, stream without content, stream after content. */
const table: readonly [string, unknown, readonly [Fault["kind"], Fault["kind"], Fault["kind"], Fault["kind"]]][] = [
  ["429", api({ status: 429 }), ["busy", "busy", "busy", "cut"]],
  ["408", api({ status: 408 }), ["busy", "busy", "busy", "cut"]],
  ["409", api({ status: 409 }), ["busy", "busy", "busy", "cut"]],
  ["500", api({ status: 500 }), ["busy", "busy", "busy", "cut"]],
  ["529", api({ status: 529 }), ["busy", "busy", "busy", "cut"]],
  ["400", api({ status: 400 }), ["refused", "refused", "refused", "cut"]],
  ["401", api({ status: 401 }), ["refused", "refused", "refused", "cut"]],
  ["413", api({ status: 413 }), ["refused", "refused", "refused", "cut"]],
  ["422", api({ status: 422 }), ["refused", "refused", "refused", "cut"]],
  ["400 that says it may be retried", api({ status: 400, retryable: true }), ["busy", "busy", "busy", "cut"]],
  ["cannot connect", api({ retryable: true }), ["busy", "busy", "busy", "cut"]],
  ["200 that is no stream", api({ status: 200 }), ["refused", "busy", "cut", "cut"]],
  [
    "in-stream 400",
    new StreamProviderError({ message: "bad", statusCode: 400 }),
    ["refused", "refused", "refused", "cut"],
  ],
  ["in-stream 503", new StreamProviderError({ message: "over", statusCode: 503 }), ["busy", "busy", "busy", "cut"]],
  ["in-stream without status", new StreamProviderError({ message: "hm" }), ["refused", "busy", "cut", "cut"]],
  ["raw object with a status", { code: 429, text: "slow down" }, ["busy", "busy", "busy", "cut"]],
  ["raw text", "overloaded?", ["refused", "busy", "cut", "cut"]],
  ["nothing", undefined, ["refused", "busy", "cut", "cut"]],
  ["fetch failed", new TypeError("fetch failed", { cause: coded("ENOTFOUND") }), ["busy", "busy", "cut", "cut"]],
  ["reset", new TypeError("terminated", { cause: coded("UND_ERR_SOCKET") }), ["busy", "busy", "cut", "cut"]],
  [
    "reset, as the packages wrap it",
    new APICallError({
      message: "Cannot connect to API",
      url: "u",
      requestBodyValues: {},
      isRetryable: true,
      cause: coded("ECONNRESET"),
    }),
    ["busy", "busy", "cut", "cut"],
  ],
  ["time out of the user's own fetch", new DOMException("late", "TimeoutError"), ["busy", "busy", "cut", "cut"]],
  ["bad prompt", new InvalidPromptError({ prompt: [], message: "empty" }), ["refused", "refused", "cut", "cut"]],
  ["no key", new LoadAPIKeyError({ message: "no key" }), ["refused", "refused", "cut", "cut"]],
  ["unsupported", new UnsupportedFunctionalityError({ functionality: "x" }), ["refused", "refused", "cut", "cut"]],
  ["programmer's error", new TypeError("x is not a function"), ["refused", "refused", "cut", "cut"]],
  ["unknown error", new Error("?"), ["refused", "busy", "cut", "cut"]],
  ["download, gone", new DownloadError({ url: "u", statusCode: 404 }), ["refused", "refused", "refused", "cut"]],
  ["download, no answer", new DownloadError({ url: "u", cause: new Error("x") }), ["busy", "busy", "cut", "cut"]],
];

const stages: readonly Stage[] = ["building", "start", "stream", "content"];

describe("[F1] every failure is refused, busy or cut", () => {
  test.each(table)("%s", (_, error, kinds) => {
    expect(stages.map((stage) => classify(error, stage).kind)).toEqual(kinds);
  });

  test("a retried failure counts as its last one, with its status and its wait", () => {
    const last = api({ status: 503, headers: { "retry-after": "7" } });
    const error = new RetryError({
      message: "3 attempts",
      reason: "maxRetriesExceeded",
      errors: [new Error("first"), last],
    });
    expect(classify(error, "start")).toEqual({ kind: "busy", message: "no", status: 503, retryAfterMs: 7_000 });
  });
});

describe("[F1] the wait that a provider asks for", () => {
  const wait = (headers: Record<string, string>) => classify(api({ status: 429, headers }), "start").retryAfterMs;

  test.each([
    [{ "retry-after-ms": "1250", "retry-after": "9" }, 1_250],
    [{ "Retry-After": "2.5" }, 2_500],
    [{ "retry-after": "0" }, 0],
    [{ date: "Wed, 21 Oct 2026 07:28:00 GMT", "retry-after": "Wed, 21 Oct 2026 07:28:30 GMT" }, 30_000],
    [{ date: "Wed, 21 Oct 2026 07:28:40 GMT", "retry-after": "Wed, 21 Oct 2026 07:28:30 GMT" }, 0],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after-ms": "soon", "retry-after": "3" }, 3_000],
    [{ "retry-after": "-5" }, undefined],
    [{}, undefined],
  ])("%j is %s ms", (headers, expected) => {
    expect(wait(headers as Record<string, string>)).toBe(expected);
  });

  test("a date without the server's clock is measured against ours", () => {
    expect(wait({ "retry-after": new Date(Date.now() + 60_000).toUTCString() })).toBeGreaterThan(50_000);
  });

  test("is left out of faults that are not waited out", () => {
    expect(classify(api({ status: 400, headers: { "retry-after": "5" } }), "start")).not.toHaveProperty("retryAfterMs");
  });
});

describe("[F1] the text of a fault", () => {
  test("has the body where it did not fit the package's schema, and nothing of the request", () => {
    const { message } = classify(api({ status: 400, message: "Bad Request", body: '{"error":"too long"}' }), "start");
    expect(message).toBe('Bad Request: {"error":"too long"}');
  });

  test("is the provider's where it was understood, no page of HTML, and never empty", () => {
    expect(classify(api({ status: 400, message: "why", body: "{}", data: {} }), "start").message).toBe("why");
    expect(classify(api({ status: 502, message: "Bad Gateway", body: "<html>" }), "start").message).toBe("Bad Gateway");
    expect(classify(api({ status: 502, message: "" }), "start").message).toBe("HTTP 502");
    expect(classify(api({ status: 400, message: "x".repeat(9_000) }), "start").message.length).toBe(2_000);
  });
});

describe("[F1] a call never rejects", () => {
  const failing = (error: unknown) => modelOf(() => Promise.reject(error));
  const text: Part[] = [
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "Hello" },
  ];

  test("a refused start is the first part of its stream, and the only one, however often it is read", async () => {
    const error = api({ status: 400 });
    const stream = await called({ model: failing(error) });
    const first = await stream.read();
    expect(first).toMatchObject({ kind: "fault", fault: { kind: "refused", status: 400 }, error });
    expect(await stream.read()).toBe(first);
  });

  test("a start that failed is asked once: the runtime retries", async () => {
    let calls = 0;
    const model = modelOf(() => {
      calls++;
      return Promise.reject(api({ status: 503 }));
    });
    expect(lastOf(await readAll(await called({ model })))).toMatchObject({ fault: { kind: "busy", status: 503 } });
    expect(calls).toBe(1);
  });

  test("a request that cannot be built is refused, and the provider is not asked", async () => {
    let calls = 0;
    const model = modelOf(async () => {
      calls++;
      throw new Error("unreachable");
    });
    const call = { type: "tool-call", toolCallId: "1", toolName: "x", input: {} };
    for (const messages of [
      [],
      undefined,
      [{ role: "assistant", content: [call] }],
      [{ role: "robot", content: "x" }],
    ]) {
      const parts = await readAll(await called({ model, messages: messages as unknown[] }));
      expect(lastOf(parts)).toMatchObject({ kind: "fault", fault: { kind: "refused" } });
    }
    expect(calls).toBe(0);
  });

  test("a model that throws at once is refused", async () => {
    const model = modelOf(() => {
      throw new TypeError("undefined is not a function");
    });
    expect(lastOf(await readAll(await called({ model })))).toMatchObject({ fault: { kind: "refused" } });
  });

  test("an error part is judged by whether anything was shown", async () => {
    const overload: Part = {
      type: "error",
      error: new StreamProviderError({ message: "Overloaded", statusCode: 529 }),
    };
    const early = await readAll(await called({ model: playing([{ type: "stream-start", warnings: [] }, overload]) }));
    expect(early).toMatchObject([{ kind: "fault", fault: { kind: "busy", status: 529 } }]);
    const envelope: Part = { type: "custom", kind: "anthropic.message_start" };
    const begun = await readAll(await called({ model: playing([envelope, overload]) }));
    expect(begun).toMatchObject([{ kind: "chunk" }, { kind: "fault", fault: { kind: "busy" } }]);
    const late = await readAll(await called({ model: playing([...text, overload, finish("error")]) }));
    expect(late.map((part) => part.kind)).toEqual(["chunk", "chunk", "fault"]);
    expect(lastOf(late)).toMatchObject({ fault: { kind: "cut" } });
  });

  test("a tool choice that the model did not keep is refused, and says so: a whole answer is not paid for again", async () => {
    const parts = await readAll(await called({ model: playing([...text, finish()]), toolChoice: "required" }));
    const last = lastOf(parts);
    expect(last.kind === "fault" && last.fault.kind).toBe("refused");
    expect(last.kind === "fault" && last.fault.message).toMatch(/tool/i);
  });
});
