import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Provider, providerControl } from "../../src/testing/provider/index.ts";
import { ask, assistant, script, user, weather } from "./helper.ts";

const main = fileURLToPath(new URL("../../src/testing/provider/main.ts", import.meta.url));
let folder: string;
let child: ChildProcess;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-provider-"));
});
afterEach(async () => {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  rmSync(folder, { recursive: true });
});

/** Enough of a Provider for `ask`. */
async function spawnProvider(...args: string[]): Promise<Provider> {
  child = spawn(process.execPath, [main, "--port", "0", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(createInterface(child.stdout!), "line")) as [string];
  return JSON.parse(line) as Provider;
}

test("main.ts: one line with the url, plays the file, ends on SIGTERM", async () => {
  writeFileSync(join(folder, "script.json"), JSON.stringify(script));
  const args = ["--script", join(folder, "script.json"), "--seed", "3", "--prefill", "--manner", "exact"];
  const provider = await spawnProvider(...args);
  expect(provider.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
  expect((await ask(provider, [user("weather"), assistant(weather.slice(0, 7))])).text).toBe(weather.slice(7));
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([0, null]);
});

test("control: script, fault, log, reset from another process", async () => {
  const provider = await spawnProvider();
  const control = providerControl(provider.url);
  expect((await ask(provider, [user("weather")])).error?.code).toBe("no_script");
  await control.setScript(script);
  await control.setFault({ kind: "status", status: 503 });
  expect((await ask(provider, [user("weather")])).status).toBe(503);
  expect((await ask(provider, [user("weather")])).text).toBe(weather);

  const log = await control.log();
  expect(log.requests.map((record) => record.outcome)).toEqual(["refused", "fault", "finished"]);
  expect(log.refusals).toMatchObject([{ code: "no_script", request: 0 }]);
  expect((await control.log(1)).requests.map((record) => record.index)).toEqual([1, 2]);
  await control.reset();
  expect(await control.log()).toEqual({ requests: [], refusals: [] });

  await expect(control.setScript({ turns: "none" } as unknown as typeof script)).rejects.toThrow("script.turns");
  await expect(control.setFault({ kind: "fire" } as never)).rejects.toThrow("fault.kind");
  expect((await fetch(new URL("/nowhere", provider.url))).status).toBe(404);
});
