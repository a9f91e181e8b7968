import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { explain, faultsOf, runWorld } from "../../src/testing/world/index.ts";
import { root } from "../tidy/house.ts";
import { seeds } from "./seeds.ts";

const run = promisify(execFile);

/** Null, or everything that is needed to look into it. */
async function verdict(seed: number): Promise<string | null> {
  const result = await runWorld({ seed });
  return result.violation ? explain(result) : null;
}

async function traceOf(seed: number): Promise<string> {
  const lines: string[] = [];
  await runWorld({ seed, onStep: (line) => lines.push(line) });
  return lines.join("\n");
}

describe("seeded worlds", () => {
  const blocks = Array.from({ length: 10 }, (_, block) => block * 50 + 1);
  it.each(blocks)("[S4] 50 seeds from %i on leave no violation", { timeout: 120_000 }, async (first) => {
    for (let seed = first; seed < first + 50; seed++) expect(await verdict(seed)).toBe(null);
  });

  it.each(seeds)("[S4] seed $seed: $was", async ({ seed }) => {
    expect(await verdict(seed)).toBe(null);
  });

  it("[S1] the same seed gives the same trace in one process", async () => {
    for (const seed of [3, 7, 11]) {
      const trace = await traceOf(seed);
      expect(trace.length).toBeGreaterThan(1_000);
      expect(await traceOf(seed)).toBe(trace);
    }
    expect(await traceOf(3)).not.toBe(await traceOf(7));
  });

  it("[S1] the same seed gives the same trace in two processes", { timeout: 60_000 }, async () => {
    const sim = ["scripts/sim.ts", "--seed", "7", "--trace"];
    const world = (): Promise<{ stdout: string }> => run(process.execPath, sim, { cwd: root, maxBuffer: 2 ** 26 });
    const [one, two] = await Promise.all([world(), world()]);
    const trace = (text: string): string =>
      text
        .split("\n")
        .filter((line) => !line.includes("seeds/s"))
        .join("\n");
    expect(trace(one.stdout)).toContain("commit play/a0");
    expect(trace(two.stdout)).toBe(trace(one.stdout));
    expect(trace(one.stdout)).toContain(await traceOf(7));
  });

  it("a violation is told with its rule, its command, the faults it needs and its trace", async () => {
    const faults = faultsOf(7);
    const result = await runWorld({ seed: 7, faults });
    const broken = { ...result, violation: { rule: "T1", text: "something", atMs: 0, step: 1 } };
    const text = await explain(broken, 5);
    expect(text).toContain("[T1] something\nreproduce: npm run sim -- --seed 7 --keep ");
    expect(text).toContain(`of ${faults.length} are needed`);
    expect(join(root, "scripts/sim.ts")).toContain("sim.ts");
  });
});
