// The house rules (ARCHITECTURE.md), as one test. The rules are in rules.ts, the measuring is in house.ts.
import { describe, expect, it } from "vitest";
import { doors } from "../../scripts/doors.ts";
import { files, measure, read } from "./house.ts";
import { bannedGlobals, check, checkWords, exceptions, excused, excuses, type Finding, rooms, sizes } from "./rules.ts";

const sources = ["src", "test", "scripts", "examples"]
  .flatMap((folder) => files(folder, /\.tsx?$/))
  .map((path) => measure(path));
const entries = [...Object.values(doors), "src/cli/main.ts"];
const shipped = files(".", /\.(tsx?|[cm]?js|json|md|ya?ml|sh)$|^\.ci\/|^\.npmrc$|^LICENSE$/);
const all: readonly Finding[] = [
  ...check(sources, entries),
  ...shipped.flatMap((path) => checkWords(path, read(path))),
];

function show(rules: readonly Finding["rule"][]): string[] {
  return all
    .filter((finding) => rules.includes(finding.rule) && !excused(finding))
    .map(({ path, line, text }) => `${path}:${line} ${text}`);
}

describe("house rules", () => {
  it("every file is in a room, and imports only the rooms and packages that its room may", () => {
    expect(show(["room", "import", "package"])).toEqual([]);
  });

  it("files and functions stay small", () => {
    const large = sources.filter(({ path, lines }) => path.startsWith("src/") && lines > sizes.fileSoft);
    for (const { path, lines } of large) console.log(`over ${sizes.fileSoft} lines: ${path} ${lines}`);
    expect(show(["file-size", "function-size"])).toEqual([]);
  });

  it("core and runtime read no clock, timer, dice or machine, and no module holds state", () => {
    expect(show(["global", "state"])).toEqual([]);
  });

  it("every file of src is a door or is imported", () => {
    expect(show(["dead"])).toEqual([]);
  });

  it("no file holds a machine's path, a hidden test or a promise of later work", () => {
    expect(show(["word"])).toEqual([]);
  });

  it("every exception has a reason and is still needed", () => {
    const idle = exceptions.filter((exception) => !all.some((finding) => excuses(exception, finding)));
    expect(idle).toEqual([]);
    expect(exceptions.filter(({ reason }) => reason.length < 20)).toEqual([]);
  });
});

describe("the rules themselves", () => {
  const found = (path: string, text: string): string[] => check([measure(path, text)], [path]).map(({ rule }) => rule);

  it.each([
    ["src/core/a.ts", `import { x } from "../ports/store.ts";`, "import"],
    ["src/core/a.ts", `import type { X } from "node:fs";`, "package"],
    ["src/ports/a.ts", `import type { X } from "ai";`, "package"],
    ["src/runtime/a.ts", `export const x = import("../wire/frame.ts");`, "import"],
    ["src/think/a.ts", `import { streamText } from "ai";`, "package"],
    ["src/adapters/sqlite/a.ts", `export * from "../memory/store.ts";`, "import"],
    ["src/adapters/http/a.ts", `import type { X } from "../../runtime/loop.ts";`, "import"],
    ["src/client/a.ts", `import { X } from "../ports/store.ts";`, "import"],
    ["src/nowhere/a.ts", "", "room"],
    ["src/core/a.ts", "export const x = () => new Date();", "global"],
    ["src/core/a.ts", "export const x = () => queueMicrotask(() => {});", "global"],
    ["src/runtime/a.ts", "export const x = () => Date.now() + Math.random();", "global"],
    ["src/runtime/a.ts", "export const x = { setTimeout };", "global"],
    ["src/node/a.ts", "let x = 1; export { x };", "state"],
    ["src/node/a.ts", "const x = new Map<string, string>(); export { x };", "state"],
    ["src/node/a.ts", `export function x() {${"\n".repeat(70)}}`, "function-size"],
    ["src/node/a.ts", `${"\n".repeat(400)}export {};`, "file-size"],
    ["examples/a/main.ts", `import { x } from "../../src/index.ts";`, "import"],
  ])("%s breaks a rule (%#)", (path, text, rule) => {
    expect(found(path, text)).toContain(rule);
  });

  it.each([
    ["src/core/a.ts", "export const x = (at: number) => new Date(at).toISOString();"],
    ["src/runtime/a.ts", "export const x = (timers: { setTimeout(): void }) => timers.setTimeout();"],
    ["src/think/a.ts", `import type { UIMessage } from "ai"; export type X = UIMessage;`],
    ["src/adapters/sqlite/a.ts", `import { DatabaseSync } from "node:sqlite"; export { DatabaseSync };`],
    ["src/adapters/sqlite/a.ts", `import type { Store } from "../../ports/store.ts"; export type { Store };`],
    ["src/node/a.ts", "const memo = new WeakMap<object, string>(); export { memo };"],
    ["src/node/a.ts", `export const known = new Set(["a"]);`],
    ["src/testing/a.ts", `export const x = (it: any) => { it("y", () => {${"\n".repeat(80)}}); };`],
  ])("%s is fine (%#)", (path, text) => {
    expect(found(path, text)).toEqual([]);
  });

  it("bans only in rooms that exist", () => {
    expect(Object.keys(bannedGlobals).filter((room) => !(room in rooms))).toEqual([]);
  });
});
