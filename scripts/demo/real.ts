/** The same on a real model: deaths at random times, and judged only by what does not depend on what the model says. */
import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { answers, Client } from "./client.ts";
import { durableIn } from "./durable.ts";
import { type Check, check, type Facts } from "./facts.ts";
import type { Server, Stage } from "./stage.ts";
import { count, endOf, type Timeline } from "./timeline.ts";
import { until } from "./wait.ts";

const prompt =
  "First call the tool append_effect, once, with the line: The rider was here. Then write an essay of about 900 words " +
  "on how the mail was carried before the telegraph, in plain prose, without headings.";

const kills = 3;
const limitMs = 300_000;
const silenceMs = 60_000;
/** From the first new chunk to the kill. */
const livesMs = [200, 4_000] as const;

export async function runReal(stage: Stage, line: Timeline, facts: Facts, model: string): Promise<Check[]> {
  const env = { ...process.env, PERDURE_MODEL: model, PERDURE_EFFECTS_FILE: stage.effects };
  let server = await stage.server(env);
  line.say("start", `perdure serve (process ${server.pid}) on an empty file, with ${model}`);
  const client = new Client(stage.api, "demo");
  line.say("client", `asks: ${prompt.slice(0, 75)}...`);
  await client.send(prompt);
  await until("the model says something (is it reachable, and is its key right?)", silenceMs, () => hasContent(client));
  while (facts.kills < kills && (await livesOn(client))) {
    await kill(server, client, stage, line, facts);
    const { size } = client.tap.seen;
    server = await stage.server(env);
    client.reattach();
    line.say("restart", `perdure serve (process ${server.pid}) on the same file; the client reattaches`);
    await until("the turn goes on", limitMs, () => client.tap.seen.size > size || client.tap.done);
    const ms = Date.now() - server.spawnedAt;
    facts.recoveryMs = Math.max(facts.recoveryMs ?? 0, ms);
    line.say("client", `sees the next chunk ${ms} ms after the new process was spawned`);
  }
  const { turn, messages, lostChunks } = await client.finished(limitMs);
  facts.outcome = turn.outcome ?? turn.state;
  facts.seenChunks = client.tap.seen.size;
  facts.lostChunks = lostChunks;
  facts.assistantMessages = Math.max(answers(messages).length, answers(client.chat.messages).length);
  facts.effects = stage.effectLines();
  line.say("client", `has the whole answer, ${count(client.text.length, "character")}: ${endOf(client.text)}`);
  const end = [facts.outcome, turn.error].filter(Boolean).join(": ");
  return [
    check("the turn's end", end, facts.outcome === "completed"),
    check("chunks that were seen and lost", `${lostChunks} of ${facts.seenChunks}`, lostChunks === 0),
    check("assistant messages", facts.assistantMessages, facts.assistantMessages === 1),
  ];
}

function hasContent({ tap }: Client): boolean {
  return tap.done || tap.chunks.some(({ type }) => !/^(start|start-step)$/.test(type));
}

/** A random time later: whether the turn still runs. */
async function livesOn(client: Client): Promise<boolean> {
  await Promise.race([sleep(randomInt(...livesMs)), until("the turn ends", limitMs, () => client.tap.done)]);
  return !client.tap.done;
}

async function kill(server: Server, client: Client, stage: Stage, line: Timeline, facts: Facts): Promise<void> {
  server.kill();
  await stage.killed(server);
  await client.broken();
  facts.kills += 1;
  const { chunks, calls } = durableIn(stage.data);
  line.say("KILL", `no. ${facts.kills}: SIGKILL to process ${server.pid}, at a random time`);
  const last = String(chunks.at(-1)?.type ?? "nothing");
  line.say(
    "durable",
    `${count(chunks.length, "chunk")}, the last a ${last}; the client had seen ${client.tap.seen.size}`,
  );
  for (const { tool, state } of calls) line.more(`${tool}: ${state}`);
}
