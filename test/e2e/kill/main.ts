/**
 * The kill campaign: real SIGKILLs of the real server, judged from outside.
 *
 *   npm run e2e:kill -- --count 200 --seed 1 [--point name] [--run i] [--jobs n] [--keep]
 *
 * Exits with 1 when anything that must be 0 is not, or a point was hit too rarely.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { adopt } from "./children.ts";
import { judge } from "./judge.ts";
import { type Cell, cellName, chosen, hitsDue, planOf } from "./plan.ts";
import { forget, keep, runPlan, summary, type World } from "./run.ts";
import { script } from "./script.ts";
import { failure, faulty, hitsOf, type Judged, table } from "./table.ts";

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    point: { type: "string" },
    run: { type: "string" },
    jobs: { type: "string", default: String(2 * availableParallelism()) },
    keep: { type: "boolean", default: false },
  },
});
const seed = numberOf("seed", values.seed);
const among = chosen(values.point ?? null);
const single = values.run === undefined ? null : numberOf("run", values.run);
const runs = single === null ? Array.from({ length: numberOf("count", values.count) }, (_, run) => run) : [single];
const due = single === null ? hitsDue(runs.length, among.length) : 0;
const extra = values.point === undefined ? "" : ` --point ${values.point}`;

function numberOf(name: string, text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  console.error(`--${name} takes a whole number, not "${text}".`);
  process.exit(2);
}

interface Campaign {
  readonly world: World;
  stop(): void;
}

async function begin(): Promise<Campaign> {
  const folder = mkdtempSync(join(tmpdir(), "perdure-kill-"));
  const file = join(folder, "script.json");
  writeFileSync(file, JSON.stringify(script));
  const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, "cache"), NODE_NO_WARNINGS: "1" };
  const server = fileURLToPath(new URL("./server.ts", import.meta.url));
  spawnSync(process.execPath, [server, JSON.stringify({ warm: true })], { env, stdio: "inherit" });
  const strict = await provider(file, []);
  const prefill = await provider(file, ["--prefill"]);
  const stop = (): void => {
    strict.child.kill("SIGKILL");
    prefill.child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  };
  return { world: { strict: strict.url, prefill: prefill.url, env, runMs: 150_000 }, stop };
}

async function provider(file: string, flags: readonly string[]): Promise<{ child: ChildProcess; url: string }> {
  const path = fileURLToPath(new URL("../../../src/testing/provider/main.ts", import.meta.url));
  const args = [path, "--script", file, "--seed", String(seed), "--keep-bodies", ...flags];
  const child = adopt(spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] }));
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return { child, url: (JSON.parse(line) as { url: string }).url };
}

async function runAll(world: World, left: number[]): Promise<Judged[]> {
  const all: Judged[] = [];
  const work = async (): Promise<void> => {
    for (let run = left.shift(); run !== undefined; run = left.shift()) {
      const evidence = await runPlan(planOf(run, seed, among), world);
      const judged = { evidence, findings: await judge(evidence), cell: among[run % among.length] as Cell };
      all.push(judged);
      if (!faulty(judged) && !values.keep) forget(evidence);
      else keep(evidence);
      if (faulty(judged)) console.log(failure(judged, extra));
      else if (values.keep) console.log(`${summary(evidence)}: ${evidence.folder}`);
    }
  };
  await Promise.all(Array.from({ length: numberOf("jobs", values.jobs) }, work));
  return all;
}

/** Cells that are missing hits, and how many. A busy machine passes some points too fast to be hit as planned. */
function missing(all: readonly Judged[]): { cell: Cell; hits: number }[] {
  const hits = hitsOf(all);
  const found = among.map((cell) => ({ cell, hits: hits.get(cellName(cell)) ?? 0 }));
  return found.filter(({ hits }) => hits < due);
}

/** The next runs whose plan begins with these cells. */
function furtherRuns(cells: readonly { cell: Cell; hits: number }[], round: number): number[] {
  const base = Math.ceil(runs.length / among.length) + round * 5;
  return cells.flatMap(({ cell, hits }) =>
    Array.from({ length: due - hits }, (_, more) => (base + more) * among.length + among.indexOf(cell)),
  );
}

const startedAt = performance.now();
const campaign = await begin();
try {
  const all = await runAll(campaign.world, [...runs]);
  for (let round = 0; round < 2 && missing(all).length > 0; round += 1) {
    all.push(...(await runAll(campaign.world, furtherRuns(missing(all), round))));
  }
  console.log(table(all));
  const rare = missing(all);
  for (const { cell, hits } of rare) console.log(`TOO RARE ${cellName(cell)} was hit ${hits} times of ${due}`);
  const failed = all.filter(faulty).map(({ evidence }) => evidence.plan.run);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  const verdict =
    failed.length > 0 ? `failed: runs ${failed.sort((a, b) => a - b).join(", ")}` : "nothing lost, nothing done twice";
  console.log(`${all.length} runs with seed ${seed} in ${seconds} s: ${verdict}.`);
  process.exitCode = failed.length > 0 || rare.length > 0 ? 1 : 0;
} finally {
  campaign.stop();
}
