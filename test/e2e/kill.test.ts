// The kill campaign, small: `npm run e2e:kill` is the whole of it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import { textFault } from "./kill/message.ts";
import { cells, chosen, planOf } from "./kill/plan.ts";
import { root } from "./support/cli.ts";

// About 8 s; the rest is for machines that do other things beside.
it("[S5] six runs with real kills leave no violation", { timeout: 120_000 }, async () => {
  const child = spawn(process.execPath, ["test/e2e/kill/main.ts", "--count", "6", "--seed", "7"], { cwd: root });
  onTestFinished(() => void child.kill("SIGTERM"));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (piece: Buffer) => {
      output += piece.toString();
    });
  }
  const [code] = await once(child, "close");
  expect(code, output).toBe(0);
  expect(output).toContain("6 runs with seed 7");
});

it("plans are values of seed and run, and 40 runs plan every point before and after", () => {
  const plans = (seed: number) => Array.from({ length: 40 }, (_, run) => planOf(run, seed, cells));
  expect(plans(1)).toEqual(plans(1));
  expect(plans(1)).not.toEqual(plans(2));
  expect(cells.length).toBeLessThanOrEqual(40);
  for (const [run, { kills }] of plans(1).entries()) {
    expect(kills.length).toBeGreaterThanOrEqual(1);
    expect(kills.map(({ point }) => point)).toContain(cells[run % cells.length]?.point);
  }
  expect(chosen("mid-text")).toHaveLength(2);
  expect(() => chosen("nowhere")).toThrow(/There is no point "nowhere"/);
});

it("the judge of texts allows what the provider sent twice, and nothing else", () => {
  const script = "one two three four five six seven eight";
  const fault = (text: string, ...continuations: { at: number; repeated: number }[]) =>
    textFault(text, script, continuations);
  expect(fault(script)).toBeNull();
  expect(fault(script, { at: 13, repeated: 0 }, { at: 20, repeated: 0 })).toBeNull();
  expect(fault("one two three three four five six seven eight", { at: 13, repeated: 6 })).toBeNull();
  // Cut inside of the repeat, and gone on with from there.
  expect(
    fault("one two three th four five six seven eight", { at: 13, repeated: 6 }, { at: 16, repeated: 0 }),
  ).toBeNull();
  // A repeat of 16 is to be trimmed, one that the provider did not send is ours.
  expect(fault("one two three two three four five six seven eight", { at: 13, repeated: 6 })).toContain("was due");
  expect(fault("one two three three four five six seven eight")).toContain("was due");
  expect(fault("one two three four fone two three four five six seven eight", { at: 20, repeated: 20 })).toContain(
    "was due",
  );
  expect(fault("one two three")).toContain("it ends before");
  expect(fault(script, { at: 20, repeated: 0 }, { at: 13, repeated: 0 })).toContain("began at 13");
});
