// Who may talk to the door: hosts, origins, authorize.
import { describe, expect, it } from "vitest";
import type { Ask } from "../../src/adapters/http/index.ts";
import { chatBody, post, raw, serve, type World } from "./server.ts";

const body = JSON.stringify(chatBody());

function ask(world: World, headers: Readonly<Record<string, string>>, method = "POST") {
  const path = method === "POST" ? "/agents/chat" : "/agents/chat/c1";
  const sent = { "content-type": "application/json", ...headers };
  // A refusal ends at once; a turn that was taken would be streamed for ever.
  world.gateway.submit = async (agent, input) => {
    world.gateway.submits.push({ agent, input });
    const turn = world.gateway.open(agent);
    world.gateway.settle(turn);
    return { turn, messageId: "m", accepted: true };
  };
  return raw(world, method === "POST" ? { method, path, headers: sent, body } : { method, path, headers: sent });
}

describe("Host: names that an attacker can point at loopback are refused", () => {
  it.each(["localhost", "LOCALHOST:3000", "127.0.0.1", "127.0.0.1:1", "127.9.9.9", "[::1]", "[::1]:3000"])(
    "%s is let in",
    async (host) => {
      const world = await serve();
      expect((await ask(world, { host })).status).toBe(200);
      expect((await ask(world, { host }, "GET")).status).toBe(200);
    },
  );

  it.each([
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evil.example:3000",
    "192.168.0.1",
    "[::2]",
    "localhost.",
    "a.localhost",
  ])("%s is 403", async (host) => {
    const world = await serve();
    for (const method of ["POST", "GET"]) {
      const answer = await ask(world, { host }, method);
      expect([answer.status, JSON.parse(answer.text).error.code]).toEqual([403, "FORBIDDEN"]);
    }
    expect([world.gateway.submits, world.gateway.asked]).toEqual([[], []]);
  });

  it("a whole URL in the request line is judged too", async () => {
    const world = await serve();
    const answer = await raw(world, { path: "http://evil.example/agents/chat/c1", headers: { host: "localhost" } });
    expect(answer.status).toBe(403);
  });

  it("hosts adds names, with a port only that one", async () => {
    const world = await serve({ hosts: ["api.example.com", "Other.example:8443"] });
    const statuses = ["API.example.com", "api.example.com:9", "other.example:8443", "other.example", "example.com"].map(
      async (host) => (await ask(world, { host })).status,
    );
    expect(await Promise.all(statuses)).toEqual([200, 200, 200, 403, 403]);
  });
});

describe("Origin: pages of other hosts are refused", () => {
  it.each([
    ["http://localhost:3000", "localhost:3000", 200],
    ["http://localhost", "localhost:80", 200],
    ["https://localhost", "localhost:443", 200],
    ["https://localhost:3000", "localhost:3000", 200],
    ["http://localhost:3001", "localhost:3000", 403],
    ["http://127.0.0.1:3000", "localhost:3000", 403],
    ["https://evil.example", "localhost", 403],
    ["null", "localhost", 403],
    ["file://", "localhost", 403],
    ["http://localhost.evil.example", "localhost", 403],
  ])("%s to %s is %i", async (origin, host, status) => {
    const world = await serve();
    expect((await ask(world, { origin, host })).status).toBe(status);
    expect((await ask(world, { origin, host }, "GET")).status).toBe(status);
    expect(world.gateway.submits.length).toBe(status === 200 ? 1 : 0);
  });

  it("an allowed origin may ask first, call, and read the answer and its errors", async () => {
    const origin = "https://app.example.com";
    const world = await serve({ origins: [origin] });
    const before = await raw(world, {
      method: "OPTIONS",
      path: "/agents/chat",
      headers: {
        origin,
        host: "localhost",
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,x-mine",
      },
    });
    expect(before.status).toBe(204);
    expect(before.headers).toMatchObject({
      "access-control-allow-origin": origin,
      "access-control-allow-methods": "GET, POST",
      "access-control-allow-headers": "content-type,x-mine",
      vary: "origin",
    });
    const answer = await ask(world, { origin, host: "localhost" });
    expect([answer.status, answer.headers["access-control-allow-origin"]]).toEqual([200, origin]);
    const refused = await ask(world, { origin, host: "localhost", "content-type": "text/plain" });
    expect([refused.status, refused.headers["access-control-allow-origin"]]).toEqual([415, origin]);
    const other = await ask(world, { origin: "https://other.example.com", host: "localhost" });
    expect([other.status, other.headers["access-control-allow-origin"]]).toEqual([403, undefined]);
  });
});

describe("authorize", () => {
  it("is told who asks for what, and lets in on true only", async () => {
    const asks: Omit<Ask, "request">[] = [];
    const headers: unknown[] = [];
    let verdict: unknown = true;
    const world = await serve({
      authorize: ({ request, ...asked }) => {
        asks.push(asked);
        headers.push(request.headers.get("authorization"));
        return verdict as boolean;
      },
    });
    expect((await ask(world, { authorization: "Bearer t" })).status).toBe(200);
    expect((await fetch(`${world.url}/agents/chat/a%2Fb`)).status).toBe(200);
    for (verdict of [false, undefined, Promise.resolve(false)]) {
      for (const path of ["c1", "c1/stream", "c1/messages", "c1/turns/t"]) {
        const response = await fetch(`${world.url}/agents/chat/${path}`);
        expect(response.status).toBe(403);
      }
    }
    expect((await post(world, chatBody())).status).toBe(403);
    expect(asks.slice(0, 2)).toEqual([
      { agent: "chat", id: "c1", action: "submit" },
      { agent: "chat", id: "a/b", action: "read" },
    ]);
    expect(headers[0]).toBe("Bearer t");
    expect(world.gateway.submits).toHaveLength(1);
    expect(world.gateway.asked).toEqual(["source 0", "status"]);
  });

  it("one that throws lets nobody in", async () => {
    const errors: unknown[] = [];
    const authorize = () => {
      throw new Error("session store is down");
    };
    const world = await serve({ authorize, onError: (error) => errors.push(error) });
    const response = await post(world, chatBody());
    expect([response.status, await response.text()]).toEqual([500, expect.not.stringContaining("session")]);
    expect([world.gateway.submits, errors.length]).toEqual([[], 1]);
  });
});
