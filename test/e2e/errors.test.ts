// What the command says when it cannot serve: one clear line, an exit code, no stack.
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type CliOptions, folder, perdure } from "./support/cli.ts";

const model = { env: { PERDURE_MODEL: "openai-compatible:none" } };

/** The line on stderr. Commander adds a second one, in brackets, that names the help. */
async function refusal(args: readonly string[], options: CliOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await perdure(["serve", "--port", "0", ...args], options).ended;
  expect(code, stderr).toBe(1);
  expect(stdout).toBe("");
  const [line = "", ...more] = stderr.trimEnd().split("\n");
  expect(more.filter((one) => one !== "" && !one.startsWith("("))).toEqual([]);
  expect(stderr).not.toMatch(/^\s+at /m);
  return line;
}

function file(name: string, text: string): string {
  const path = join(folder(), name);
  writeFileSync(path, text);
  return path;
}

const nothing = (): string => join(folder(), "p.db");

/** What is wrong, how to be wrong in this way, and what the line says. */
const cases: readonly [string, () => Parameters<typeof refusal>, RegExp][] = [
  ["--port is no number", () => [["--port", "http"]], /^error: .*--port.*'http'.*a port is a number/],
  ["--wait is no duration", () => [["--wait", "soon"]], /^error: .*--wait.*'soon'.*a duration is a number/],
  ["an option is unknown", () => [["--pork", "1"]], /^error: unknown option '--pork'/],
  [
    "the folder of the data file is missing",
    () => [["--data", join(folder(), "no", "folder", "p.db")], model],
    /^perdure: The store .*p\.db.*STORE_UNWRITABLE/,
  ],
  ["the data file is a folder", () => [["--data", folder()], model], /^perdure: The store .*STORE_UNWRITABLE/],
  [
    "the data file is none of ours",
    () => [["--data", file("notes.txt", "not a database, whatever it may be, ".repeat(40))], model],
    /^perdure: The store .*notes\.txt.*STORE_DAMAGED/,
  ],
  [
    "no model is named",
    () => [[]],
    /^perdure: PERDURE_MODEL is not set.*openai-compatible:<model>.*MODEL_NOT_CONFIGURED/,
  ],
  [
    "the model's name has no provider",
    () => [[], { env: { PERDURE_MODEL: "gpt-5" } }],
    /^perdure: PERDURE_MODEL is "gpt-5".*MODEL_NOT_CONFIGURED/,
  ],
  [
    "the provider's package is not installed",
    () => [[], { env: { PERDURE_MODEL: "anthropic:claude-haiku-4-5" }, node: ["--import", file("hide.mjs", hide)] }],
    /^perdure: The package of provider "anthropic".*npm install @ai-sdk\/anthropic.*PROVIDER_PACKAGE_MISSING/,
  ],
  [
    "the module exports no class",
    () => [[file("empty.ts", "export const answer = 42;\n")]],
    /^perdure: .*empty\.ts exports no class that extends Think/,
  ],
  ["there is no such module", () => [[join(folder(), "agents.ts")]], /^perdure: There is no module .*agents\.ts/],
  [
    "the module throws",
    () => [[file("broken.mjs", `throw new Error("the config is missing");\n`)]],
    /^perdure: .*the config is missing/,
  ],
  [
    "the address is open to others",
    () => [["--host", "0.0.0.0", "--data", nothing()], model],
    /^perdure: Listening on 0\.0\.0\.0 .*FORBIDDEN/,
  ],
];

const hide = `import { registerHooks } from "node:module";
registerHooks({ resolve(specifier, context, next) {
  if (specifier !== "@ai-sdk/anthropic") return next(specifier, context);
  throw Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
} });`;

describe("perdure serve says in one line", () => {
  it.each(cases)("that %s", async (_what, args, line) => {
    expect(await refusal(...args())).toMatch(line);
  });

  it("that the port is in use", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const line = await refusal(["--port", String(port), "--data", nothing()], model);
    expect(line).toMatch(new RegExp(`^perdure: Port ${port} on 127.0.0.1 is in use.*PORT_IN_USE`));
  });
});
