// kill -9 while messages wait, through the CLI.
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { isObject } from "../../src/core/json.ts";
import { type Provider, type Script, startProvider } from "../../src/testing/provider/index.ts";
import { folder, perdure } from "./support/cli.ts";
import { Client, read, textOf, turnOf } from "./support/http.ts";

const first =
  "Of the three bridges the middle one is the oldest. It was a ford before, then a raft on a rope, and the toll house still stands on the wrong bank, where the raft used to lie at night.";
const second = "The raft is in the museum now, rope and all.";

async function world(): Promise<{ provider: Provider; serve: () => ReturnType<typeof perdure> }> {
  const script: Script = {
    turns: [
      { when: "bridges", steps: [{ text: first }] },
      { when: "raft", steps: [{ text: second }] },
    ],
    pace: { chunkChars: [4, 8], delayMs: [10, 15] },
  };
  const provider = await startProvider({ script, manner: "exact", keepBodies: true });
  onTestFinished(() => provider.close());
  const data = join(folder(), "p.db");
  const env = { PERDURE_MODEL: "openai-compatible:scripted-1", PERDURE_BASE_URL: provider.url };
  return { provider, serve: () => perdure(["serve", "--port", "0", "--data", data], { env }) };
}

function sent(provider: Provider, index: number): string[] {
  const body = provider.requests()[index]?.body;
  const messages = isObject(body) ? (body["messages"] as { role: string; content: unknown }[]) : [];
  return messages.filter(({ role }) => role !== "system").map(({ role, content }) => `${role}: ${String(content)}`);
}

it("[T12] a message that waited behind an interrupted turn runs after it, with the whole of it as history", async () => {
  const { provider, serve } = await world();
  const server = serve();
  const client = new Client(await server.url, "assistant", "c1");
  let waiting: Promise<string> | null = null;
  let deltas = 0;
  const before = await read(await client.send("u1", "the bridges?"), ({ chunk }) => {
    if (chunk.type !== "text-delta") return;
    deltas += 1;
    if (deltas === 2) waiting = client.send("u2", "and the raft?").then(turnOf);
    if (deltas === 6) void waiting?.then(() => server.child.kill("SIGKILL"));
  });
  expect(before.cut).toBe(true);
  const turn = await waiting;

  const again = new Client(await serve().url, "assistant", "c1");
  const rest = await read(await again.resume(before.events.at(-1)?.id));
  expect(rest.events.at(-1)?.chunk.type).toBe("finish");
  const answer = await read(await fetch(`${again.base}/c1/stream?turn=${turn}`));
  expect(answer.events.at(-1)?.chunk.type).toBe("finish");
  const messages = await again.messages();
  expect(messages.map((message) => `${message.role}: ${textOf(message)}`)).toEqual([
    "user: the bridges?",
    `assistant: ${first}`,
    "user: and the raft?",
    `assistant: ${second}`,
  ]);
  expect(provider.requests().map(({ userText, kind }) => `${userText} ${kind}`)).toEqual([
    "the bridges? first",
    "the bridges? continuation",
    "and the raft? first",
  ]);
  expect(sent(provider, 2)).toEqual(["user: the bridges?", `assistant: ${first}`, "user: and the raft?"]);
  expect(provider.refusals()).toEqual([]);
});

it("[C1] a message whose server dies right after the acknowledgement runs, though nobody sends it again", async () => {
  const { provider, serve } = await world();
  const server = serve();
  const response = await new Client(await server.url, "assistant", "c1").send("u1", "the bridges?");
  server.child.kill("SIGKILL");
  await Promise.all([server.ended, read(response)]);

  const again = new Client(await serve().url, "assistant", "c1");
  const whole = await read(await fetch(`${again.base}/c1/stream?turn=${turnOf(response)}`));
  expect(whole.events.at(-1)?.chunk.type).toBe("finish");
  expect((await again.messages()).map(textOf)).toEqual(["the bridges?", first]);
  expect(await again.turn(turnOf(response))).toMatchObject({ state: "settled", outcome: "completed" });
  expect(provider.refusals()).toEqual([]);
  // Sent again all the same, it is the same turn.
  const repeated = await again.send("u1", "the bridges?");
  expect(turnOf(repeated)).toBe(turnOf(response));
  expect((await read(repeated)).events).toEqual(whole.events);
});
