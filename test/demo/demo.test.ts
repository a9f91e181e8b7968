// `npm run demo`, as anybody runs it: real processes, real kills, the SDK's own client.
import { expect, it } from "vitest";
import { runProgram } from "../../scripts/program.ts";

const limitMs = 120_000;

it("[S5] the demo: three deaths of the server, one whole answer, one effect", {
  timeout: limitMs + 10_000,
}, async () => {
  // A key alone changes nothing.
  const env = { ...process.env, OPENAI_API_KEY: "sk-none", PERDURE_MODEL: "openai:none", NO_COLOR: "1" };
  const run = await runProgram(process.execPath, ["scripts/demo.ts", "--json"], process.cwd(), { limitMs, env });
  expect(run.code, `${run.stdout}\n${run.stderr}`).toBe(0);
  const facts = JSON.parse(run.stdout.trimEnd().split("\n").at(-1)!) as Record<string, unknown>;
  expect(facts).toEqual({
    outcome: "completed",
    kills: 3,
    seenChunks: expect.any(Number),
    lostChunks: 0,
    duplicatedText: false,
    assistantMessages: 1,
    modelCalls: 4,
    effects: 1,
    recoveryMs: expect.any(Number),
  });
  expect(facts["seenChunks"]).toBeGreaterThan(50);
});
