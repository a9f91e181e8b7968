// npm run sim -- --count 1000 --seed 1     worlds of many seeds; the first broken rule of each is told
// npm run sim -- --seed 7 --trace          one world, step by step
import { parseArgs } from "node:util";
import { faultsOf } from "../src/testing/world/faults.ts";
import { explain } from "../src/testing/world/report.ts";
import { runWorld, type WorldResult } from "../src/testing/world/world.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    count: { type: "string", default: "1" },
    trace: { type: "boolean", default: false },
    keep: { type: "string" },
    "failures-max": { type: "string", default: "5" },
  },
});
const first = Number(values.seed);
const count = Number(values.count);

function faults(seed: number): ReturnType<typeof faultsOf> {
  const all = faultsOf(seed);
  if (values.keep === undefined) return all;
  const kept = values.keep === "none" ? [] : values.keep.split(",").map(Number);
  return all.filter((_, index) => kept.includes(index));
}

const begun = performance.now();
const marks = new Map<string, number>();
const add = (name: string, more: number): void => void marks.set(name, (marks.get(name) ?? 0) + more);
const broken = new Map<string, number[]>();
const told: WorldResult[] = [];
let steps = 0;
for (let seed = first; seed < first + count; seed++) {
  const result = await runWorld({
    seed,
    faults: faults(seed),
    ...(values.trace ? { onStep: (line: string) => console.log(line) } : {}),
  });
  steps += result.steps;
  for (const [name, times] of result.scene.cover.marks) add(name, times);
  for (const [name, times] of result.scene.faults.struck) add(`fault: ${name}`, times);
  if (!result.violation) continue;
  const { rule } = result.violation;
  broken.set(rule, [...(broken.get(rule) ?? []), seed]);
  if ((broken.get(rule)?.length ?? 0) === 1 && told.length < Number(values["failures-max"])) told.push(result);
}
const seconds = (performance.now() - begun) / 1000;
for (const result of told) console.log(`${await explain(result)}\n`);
if (count > 1)
  for (const name of [...marks.keys()].sort()) console.log(`${String(marks.get(name)).padStart(9)}  ${name}`);
for (const [rule, seeds] of broken)
  console.log(`[${rule}] broken by ${seeds.length} seeds: ${seeds.slice(0, 12).join(" ")}`);
const failures = [...broken.values()].reduce((sum, seeds) => sum + seeds.length, 0);
console.log(
  `${count} seeds, ${failures} broken, ${steps} steps, ${seconds.toFixed(1)} s, ${(count / seconds).toFixed(0)} seeds/s`,
);
process.exitCode = failures > 0 ? 1 : 0;
