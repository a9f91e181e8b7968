// Installs the packed package as a stranger would, and runs the README's first program on the oldest and the newest Node.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { printed, programs } from "./fences.ts";
import { runProgram } from "./program.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const nodes = ["22.18.0", "26.12.1"];
const work = mkdtempSync(join(tmpdir(), "perdure-pack-"));

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  exports: Record<string, unknown>;
  devDependencies: Record<string, string>;
};

/** npm runs on the Node that runs this script, which trusts the certificates of the machine only when told to. */
function npm(cwd: string, ...args: string[]): string {
  const env = { ...process.env, NODE_USE_SYSTEM_CA: "1" };
  return execFileSync("npm", args, {
    cwd,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 300_000,
  });
}

/** The stranger's folder: the tarball, the SDK and one provider, nothing of ours beside them. */
function project(): string {
  const folder = join(work, "app");
  mkdirSync(folder);
  npm(root, "run", "build");
  npm(root, "pack", "--pack-destination", work);
  const tarball = readdirSync(work).find((name) => name.endsWith(".tgz")) ?? "no tarball";
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "app", private: true, type: "module" }));
  const peers = ["ai", "@ai-sdk/openai-compatible"].map((name) => `${name}@${manifest.devDependencies[name]}`);
  npm(folder, "install", "--no-audit", "--no-fund", join(work, tarball), ...peers);
  return folder;
}

function installNode(version: string): string {
  const folder = join(work, `node-${version}`);
  const name = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }));
  npm(folder, "install", "--no-audit", "--no-fund", "--ignore-scripts", `${name}@${version}`);
  return join(folder, "node_modules", name, "bin/node");
}

async function must(what: string, node: string, args: string[], cwd: string, expected?: string): Promise<void> {
  const run = await runProgram(node, args, cwd);
  if (run.code === 0 && (expected === undefined || printed(expected, run.stdout))) return console.log(`  ok  ${what}`);
  const wanted = expected === undefined ? "" : `\n--- expected\n${expected}`;
  throw new Error(`${what} ended with ${run.code}${wanted}\n--- printed\n${run.stdout}\n--- stderr\n${run.stderr}`);
}

try {
  const [program] = programs(readFileSync(join(root, "README.md"), "utf8"));
  if (!program) throw new Error("README.md has no `js run` or `ts run` fence to check the package with");
  const app = project();
  writeFileSync(join(app, `program.${program.language}`), program.code);
  const doors = Object.keys(manifest.exports).filter((door) => !door.endsWith(".json"));
  writeFileSync(join(app, "doors.js"), doors.map((door) => `import "${door.replace(".", "perdure")}";`).join("\n"));
  for (const version of nodes) {
    const node = installNode(version);
    console.log(`Node ${version}`);
    await must(`${doors.length} doors open`, node, ["doors.js"], app);
    await must("perdure --help", node, ["node_modules/perdure/dist/cli/main.js", "--help"], app);
    await must(
      "the README's program prints what the README says",
      node,
      [`program.${program.language}`],
      app,
      program.expected,
    );
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}
