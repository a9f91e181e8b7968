/** A failing seed, told: what broke, the command that shows it again, the faults that are needed, and the last steps. */
import { type Fault, faultsOf } from "./faults.ts";
import { runWorld, type WorldResult } from "./world.ts";

/** Leaves out every fault that the violation of the same rule does not need. */
export async function shrink(failed: WorldResult): Promise<readonly Fault[]> {
  const rule = failed.violation?.rule;
  let faults = failed.faults;
  for (let index = faults.length - 1; index >= 0; index--) {
    const fewer = faults.filter((_, at) => at !== index);
    const again = await runWorld({ seed: failed.seed, scenario: failed.scene.scenario, faults: fewer });
    if (again.violation?.rule === rule) faults = fewer;
  }
  return faults;
}

export async function explain(failed: WorldResult, linesMax = 60): Promise<string> {
  const faults = await shrink(failed);
  const all = faultsOf(failed.seed);
  const kept = faults.map((fault) => all.findIndex((candidate) => JSON.stringify(candidate) === JSON.stringify(fault)));
  const lines: string[] = [];
  const shown = await runWorld({
    seed: failed.seed,
    scenario: failed.scene.scenario,
    faults,
    onStep: (line) => lines.push(line),
  });
  const { violation } = shown.violation ? shown : failed;
  return [
    `[${violation?.rule}] ${violation?.text}`,
    `reproduce: npm run sim -- --seed ${failed.seed} --keep ${kept.length > 0 ? kept.join(",") : "none"} --trace`,
    `faults (${faults.length} of ${failed.faults.length} are needed):`,
    ...faults.map((fault) => `  ${JSON.stringify(fault)}`),
    `the last of ${lines.length} steps:`,
    ...lines.slice(-linesMax),
  ].join("\n");
}
