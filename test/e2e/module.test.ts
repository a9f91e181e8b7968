// `perdure serve ./agents.ts`: a user's own classes, under the names of their routes.
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startProvider } from "../../src/testing/provider/index.ts";
import { folder, perdure } from "./support/cli.ts";
import { Client, read, textOf } from "./support/http.ts";

it("serves each class that a module exports", async () => {
  const script = { turns: [{ when: "hello", steps: [{ text: "Hello from your own class." }] }] };
  const provider = await startProvider({ script });
  onTestFinished(() => provider.close());
  const args = ["serve", "test/e2e/support/agents.ts", "--port", "0", "--data", join(folder(), "p.db")];
  const env = { PERDURE_BASE_URL: provider.url };
  const server = perdure(args, { env, node: ["--import", "./scripts/doors.ts"] });
  const url = await server.url;
  for (const agent of ["plain-chat", "slow-tools"]) {
    const client = new Client(url, agent, "c1");
    const { events } = await read(await client.send("u1", "hello"));
    expect(events.at(-1)?.chunk).toEqual({ type: "finish", finishReason: "stop" });
    expect((await client.messages()).map(textOf)).toEqual(["hello", "Hello from your own class."]);
  }
  expect((await fetch(`${url}/agents/assistant/c1`)).status).toBe(404);
  const { code, stdout, stderr } = await server.kill("SIGTERM");
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("/agents/plain-chat, /agents/slow-tools");
});
