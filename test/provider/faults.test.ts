import { afterEach, expect, test } from "vitest";
import { type Fault, type Provider, startProvider } from "../../src/testing/provider/index.ts";
import { ask, until, user, weather } from "./helper.ts";

let provider: Provider;
afterEach(() => provider.close());

const start = async (fault: Fault, control?: Fault) => {
  const pace = { chunkChars: [5, 5] as [number, number] };
  const turns = [{ when: "weather", steps: [{ text: weather, fault }] }];
  provider = await startProvider({ script: { turns, pace }, ...(control === undefined ? {} : { fault: control }) });
};
const weatherNow = (signal?: AbortSignal) => ask(provider, [user("weather")], {}, signal);

test("eof: a clean end without finish, once", async () => {
  await start({ kind: "eof", afterChunks: 3 });
  const cut = await weatherNow();
  expect(cut).toMatchObject({ status: 200, text: weather.slice(0, 10), finish: null, done: false, broken: false });
  expect(await weatherNow()).toMatchObject({ text: weather, done: true });
  expect(provider.requests()).toMatchObject([
    { outcome: "fault", fault: "eof", sent: { text: 10, chunks: 3 } },
    { outcome: "finished", fault: null },
  ]);
});

test("eof at 0 is an empty 200; past the end it strikes before the finish", async () => {
  await start({ kind: "eof", afterChunks: 0 });
  expect(await weatherNow()).toMatchObject({ status: 200, deltas: [], done: false });
  provider.setFault({ kind: "eof", afterChunks: 1000 });
  expect(await weatherNow()).toMatchObject({ text: weather, finish: null, done: false });
});

test("reset: the connection breaks after the chunks, or before the first byte", async () => {
  await start({ kind: "reset", afterChunks: 4 });
  expect(await weatherNow()).toMatchObject({ status: 200, text: weather.slice(0, 15), broken: true });
  provider.setFault({ kind: "reset", afterChunks: 0 });
  await expect(weatherNow()).rejects.toThrow("fetch failed");
});

test("stall: silent with the socket open, until the client leaves", async () => {
  await start({ kind: "stall", afterChunks: 2 });
  const leave = new AbortController();
  const asked = weatherNow(leave.signal);
  await until(() => provider.requests()[0]?.fault === "stall");
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(provider.requests()[0]).toMatchObject({ endedAt: null, sent: { text: 5 } });
  leave.abort();
  expect(await asked).toMatchObject({ text: weather.slice(0, 5), broken: true });
  await until(() => provider.requests()[0]?.endedAt !== null);
});

test("stall at 0: not even headers; close() ends it", async () => {
  await start({ kind: "stall", afterChunks: 0 });
  const asked = weatherNow();
  asked.catch(() => {});
  await until(() => provider.requests()[0]?.fault === "stall");
  expect(provider.requests()[0]?.firstByteAt).toBeNull();
  await provider.close();
  await expect(asked).rejects.toThrow("fetch failed");
});

test("status: code, retry-after, times; a 429 may be sent again", async () => {
  await start({ kind: "status", status: 429, retryAfterS: 2, times: 2 });
  const refused = await weatherNow();
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "2"]);
  expect(refused.error).toMatchObject({ type: "rate_limit_error", code: "scripted" });
  expect((await weatherNow()).status).toBe(429);
  expect((await weatherNow()).text).toBe(weather);
  expect(provider.refusals()).toEqual([]);
});

test("status: a final 4xx that is sent again unchanged is a resent_refusal", async () => {
  await start({ kind: "status", status: 413, message: "Too long." });
  expect((await weatherNow()).error).toMatchObject({ message: "Too long.", type: "invalid_request_error" });
  expect((await weatherNow()).status).toBe(200);
  expect(provider.refusals()).toMatchObject([{ code: "resent_refusal", request: 1 }]);
});

test("a control fault goes before the scripted one and counts over all conversations", async () => {
  await start({ kind: "status", status: 500 }, { kind: "status", status: 503, times: 2 });
  const statuses = [];
  for (const text of ["weather a", "weather b", "weather a", "weather b", "weather a"]) {
    statuses.push((await ask(provider, [user(text)])).status);
  }
  expect(statuses).toEqual([503, 503, 500, 500, 200]);
});
