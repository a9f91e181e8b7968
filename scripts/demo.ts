// npm run demo [-- --json] [--keep] [--model openai:<model>]
// One chat turn on a real server, in real processes, that are killed three times while a client reads. No keys, no
// network: the model is scripted, unless --model names one. Exits with 0 only when everything held.
import { parseArgs } from "node:util";
import { type Check, type Facts, Missed, noFacts } from "./demo/facts.ts";
import { runReal } from "./demo/real.ts";
import { ScriptedRun } from "./demo/scripted.ts";
import { Stage } from "./demo/stage.ts";
import { bad, good, Timeline } from "./demo/timeline.ts";

/** A kill that missed its place shows nothing: another run, as long as there is time. */
const tries = { count: 5, lastStartS: 35 } as const;

const flags = flagsOf();
const line = new Timeline();
const stages: Stage[] = [];
let facts: Facts = noFacts();

function flagsOf() {
  try {
    const options = { json: { type: "boolean" }, keep: { type: "boolean" }, model: { type: "string" } } as const;
    return parseArgs({ options }).values;
  } catch (error) {
    console.error(`${messageOf(error)}\nnpm run demo [-- --json] [--keep] [--model openai:<model>]`);
    return process.exit(2);
  }
}

async function attempt(): Promise<Check[]> {
  const stage = new Stage(flags.keep ?? false);
  stages.push(stage);
  facts = noFacts();
  if (flags.keep) line.say("keep", stage.folder);
  try {
    if (flags.model !== undefined) return await runReal(stage, line, facts, flags.model);
    return await new ScriptedRun(stage, line, facts).run();
  } catch (error) {
    if (error instanceof Missed) throw error;
    const output = stage.output("server");
    throw messageOf(error).includes(output)
      ? error
      : new Error(`${messageOf(error)}\nThe server's last words:\n${output}`, { cause: error });
  } finally {
    stage.sweep();
  }
}

async function demo(): Promise<Check[]> {
  for (let number = 1; ; number += 1) {
    try {
      return await attempt();
    } catch (error) {
      const again = error instanceof Missed && number < tries.count && line.seconds < tries.lastStartS;
      if (!again) throw error;
      line.say("again", `a kill missed its place (${error.message}); this shows nothing, so it is all done again`);
    }
  }
}

function verdict(checks: readonly Check[]): boolean {
  line.plain();
  for (const { what, found, holds } of checks) {
    line.plain(`  ${holds ? good("holds") : bad("BROKEN")}  ${what.padEnd(36)} ${found}`);
  }
  const broken = checks.filter(({ holds }) => !holds);
  const recovery = facts.recoveryMs === null ? "" : ` The slowest recovery took ${facts.recoveryMs} ms.`;
  const one = `One turn, ${facts.kills} deaths, one answer.`;
  line.plain();
  if (broken.length === 0) line.plain(good(`${one}${recovery} (${line.seconds.toFixed(1)} s)`));
  else line.plain(bad(`Broken: ${broken.map(({ what, found }) => `${what}: ${found}`).join("; ")}`));
  return broken.length === 0;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

process.on("exit", () => {
  for (const stage of stages) stage.sweep();
});
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const) {
  process.once(signal, () => process.exit(code));
}

// Whoever read it has left: `npm run demo | head`.
process.stdout.on("error", () => process.exit(1));

let holds = false;
try {
  line.plain("One chat turn. The process that answers it is killed three times.\n");
  holds = verdict(await demo());
} catch (error) {
  console.error(bad(`\nThe demo broke: ${messageOf(error)}`));
}
if (flags.json) console.log(JSON.stringify(facts));
process.exit(holds ? 0 : 1);
