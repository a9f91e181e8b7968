// One file, several processes: who may serve it.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Ended, folder, perdure } from "./support/cli.ts";

const env = { PERDURE_MODEL: "openai-compatible:none", PERDURE_BASE_URL: "http://127.0.0.1:9/v1" };

function serve(data: string, ...flags: string[]) {
  return perdure(["serve", "--port", "0", "--data", data, ...flags], { env });
}

function oneLine({ stderr }: Ended): string {
  const lines = stderr.trimEnd().split("\n");
  expect(lines).toHaveLength(1);
  return lines[0] ?? "";
}

describe("two servers on one file", () => {
  it("[O1] the second is refused, in one line that names the holder", async () => {
    const data = join(folder(), "p.db");
    const holder = serve(data);
    await holder.url;
    const refused = await serve(data).ended;
    expect(refused.code).toBe(1);
    expect(oneLine(refused)).toMatch(new RegExp(`^perdure: .*${holder.pid}.*OWNER_ALIVE`));
    expect((await fetch(`${await holder.url}/readyz`)).status).toBe(200);
  });

  it("[O2] after kill -9 the file is taken at once", async () => {
    const data = join(folder(), "p.db");
    const holder = serve(data);
    await holder.url;
    await holder.kill("SIGKILL");
    const next = serve(data);
    expect((await fetch(`${await next.url}/readyz`)).status).toBe(200);
  });

  it("[O2] a standby takes over when the holder dies, and when it leaves in order", async () => {
    const data = join(folder(), "p.db");
    const holder = serve(data);
    const url = await holder.url;
    const port = new URL(url).port;
    const standby = () => perdure(["serve", "--port", port, "--data", data, "--wait", "30s"], { env });
    const [first, second] = [standby(), standby()];
    await sleep(1_000);
    await holder.kill("SIGKILL");
    const heir = await Promise.race([first, second].map((one) => one.url.then(() => one)));
    expect(await heir.url).toBe(url);
    const other = heir === first ? second : first;
    expect((await heir.kill("SIGTERM")).code).toBe(0);
    expect(await other.url).toBe(url);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
  });

  it("[O3] a stopped holder is not dead: others are refused, and wait in vain, until it is killed", async () => {
    const data = join(folder(), "p.db");
    const holder = serve(data);
    await holder.url;
    holder.child.kill("SIGSTOP");
    const [refused, waited] = await Promise.all([serve(data).ended, serve(data, "--wait", "400ms").ended]);
    expect([refused.code, waited.code]).toEqual([1, 1]);
    for (const one of [refused, waited]) expect(oneLine(one)).toContain(String(holder.pid));
    const standby = serve(data, "--wait", "30s");
    await sleep(500);
    await holder.kill("SIGKILL");
    expect((await fetch(`${await standby.url}/readyz`)).status).toBe(200);
  });
});
