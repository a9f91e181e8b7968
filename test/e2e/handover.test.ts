// SIGTERM: what a deploy does to a server that works.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { callUnknown } from "../../src/core/texts.ts";
import { type Provider, type Script, startProvider } from "../../src/testing/provider/index.ts";
import { type Cli, folder, perdure } from "./support/cli.ts";
import { Client, read, textOf, turnOf, until } from "./support/http.ts";

const long =
  "A letter that is carried by hand is read at the door. The bearer waits, turns his cap, and looks at the geese; whoever reads slowly is offered a chair. By the time the answer is written the geese have been counted twice, and the bearer has forgotten which of the two houses he was sent to first, so he walks back the way he came and asks there.";

async function provide(script: Script): Promise<Provider> {
  const provider = await startProvider({ script, manner: "exact" });
  onTestFinished(() => provider.close());
  return provider;
}

function scripted(provider: Provider): Record<string, string> {
  return { PERDURE_MODEL: "openai-compatible:scripted-1", PERDURE_BASE_URL: provider.url };
}

async function since(start: number, ended: Cli["ended"]): Promise<{ code: number | null; ms: number }> {
  const { code } = await ended;
  return { code, ms: performance.now() - start };
}

describe("a hand-over", () => {
  it("[K4] cuts the model's stream at once, and the answer goes on in the next process", async () => {
    const pace = { chunkChars: [5, 9], delayMs: [18, 25] } as Script["pace"];
    const provider = await provide({ turns: [{ when: "letter", steps: [{ text: long }] }], pace: pace ?? {} });
    const serve = ["serve", "--port", "0", "--data", join(folder(), "p.db"), "--grace", "8s"];
    const first = perdure(serve, { env: scripted(provider) });
    const sent = await new Client(await first.url, "assistant", "c1").send("u1", "the letter, please");
    let deltas = 0;
    let at = 0;
    const before = await read(sent, ({ chunk }) => {
      if (chunk.type === "text-delta") deltas += 1;
      if (deltas !== 5 || at > 0) return;
      at = performance.now();
      first.child.kill("SIGTERM");
    });
    expect(before.cut).toBe(true);
    const { code, ms } = await since(at, first.ended);
    expect(code).toBe(0);
    expect(ms).toBeLessThan(8_000);
    await until(() => provider.requests()[0]?.outcome === "cut_by_client");

    const second = perdure(serve, { env: scripted(provider) });
    const client = new Client(await second.url, "assistant", "c1");
    const incidents: unknown[] = [];
    const rest = await read(await client.resume(before.events.at(-1)?.id), () => {
      void client.status().then(
        ({ incident }) => incidents.push(incident?.attempt),
        () => {},
      );
    });
    expect(rest.cut).toBe(false);
    expect(rest.events[0]?.id).toBe(`${turnOf(sent)}:${before.events.length}`);
    expect(rest.events.at(-1)?.chunk.type).toBe("finish");
    expect((await client.messages()).map(textOf)).toEqual(["the letter, please", long]);
    // Nothing failed: no attempt is spent on a deploy.
    expect(second.stderr()).toMatch(/chat:recovery:attempt .*attempt=0 cause=handover/);
    expect(new Set(incidents.filter((attempt) => attempt !== undefined))).toEqual(new Set([0]));
    expect(provider.requests().map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual([
      "first cut_by_client",
      "continuation finished",
    ]);
    expect(provider.refusals()).toEqual([]);
  });

  it("[K4] lets a started tool finish within the grace; it ran once", async () => {
    const { first, second, effects, client } = await toolsUnderTerm({ ms: 700, grace: "8s" });
    expect(first.code).toBe(0);
    expect(first.ms).toBeLessThan(8_000);
    await client.idle();
    expect(effects().map((line) => line.split(" ").slice(0, 4).join(" "))).toEqual([
      "start report a 1",
      "start retry b 1",
      "end report a 1",
      "end retry b 1",
    ]);
    const [, answer] = await client.messages();
    expect(answer?.parts.filter(({ type }) => type.startsWith("tool-")).map((part) => part["output"])).toEqual([
      { line: "a" },
      { line: "b" },
    ]);
    expect(second.stderr()).toMatch(/chat:recovery:attempt .*attempt=0 cause=handover/);
  });

  it("[K4][C6] ends with its grace when a tool does not; by its policy the tool is reported or run again", async () => {
    const { first, second, effects, client } = await toolsUnderTerm({ ms: 2_500, grace: "300ms" });
    expect(first.code).toBe(0);
    expect(first.ms).toBeLessThan(2_200);
    await client.idle();
    const [, answer] = await client.messages();
    const [report, retry] = answer?.parts.filter(({ type }) => type.startsWith("tool-")) ?? [];
    expect(report).toMatchObject({ state: "output-error", errorText: callUnknown });
    expect(retry).toMatchObject({ state: "output-available", output: { line: "b" } });
    const lines = effects();
    expect(lines.filter((line) => line.startsWith("start report"))).toHaveLength(1);
    const retries = lines.filter((line) => line.startsWith("start retry")).map((line) => line.split(" "));
    expect(retries.map(([, , , run]) => run)).toEqual(["1", "2"]);
    expect(new Set(retries.map(([, , , , key]) => key)).size).toBe(1);
    expect(second.stderr()).toMatch(/chat:recovery:attempt .*attempt=0 cause=handover/);
  });
});

/** Two tools run when SIGTERM comes; then another process serves the same file. */
async function toolsUnderTerm({ ms, grace }: { ms: number; grace: string }) {
  const calls = [
    { name: "report", input: { line: "a", ms } },
    { name: "retry", input: { line: "b", ms } },
  ];
  const provider = await provide({ turns: [{ when: "do both", steps: [{ calls }, { text: "Both are done." }] }] });
  const place = folder();
  const file = join(place, "effects");
  const effects = () => (existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : []);
  const args = ["serve", "test/e2e/support/agents.ts", "--port", "0", "--data", join(place, "p.db"), "--grace", grace];
  const options = { env: { ...scripted(provider), EFFECTS: file }, node: ["--import", "./scripts/doors.ts"] };
  const first = perdure(args, options);
  await new Client(await first.url, "slow-tools", "c1").send("u1", "do both");
  await until(() => effects().length === 2);
  const start = performance.now();
  first.child.kill("SIGTERM");
  const ended = await since(start, first.ended);
  const second = perdure(args, options);
  return { first: ended, second, effects, client: new Client(await second.url, "slow-tools", "c1") };
}
