// The house rules as data: who may import whom, how large things may be, what the pure rooms may not touch.
import { dirname, posix } from "node:path";
import type { Source } from "./house.ts";

export interface Finding {
  readonly rule: "room" | "import" | "package" | "file-size" | "function-size" | "global" | "state" | "word" | "dead";
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

/** What is allowed although a rule forbids it. A reason is due, and an entry that excuses nothing fails the test. */
export const exceptions: readonly { rule: Finding["rule"]; path: string; about?: string; reason: string }[] = [];

export const sizes = {
  fileSoft: 300,
  fileHard: 400,
  testFileHard: 500,
  functionHard: 70,
  methodsSoft: 10,
  fieldsSoft: 7,
} as const;

interface Room {
  readonly rooms: readonly string[];
  readonly packages?: readonly string[];
  readonly types?: readonly string[];
}

const everything = ["index", "core", "ports", "wire", "runtime", "think", "adapters/*", "client", "testing", "node"];
const sdk = ["ai", "ai/*", "@ai-sdk/*"];

/** A room may always import itself. `x/*` stands for everything below x. Rooms without packages import none, node: included. */
export const rooms: { readonly [room: string]: Room } = {
  index: { rooms: ["core", "ports", "runtime", "think", "adapters/ai-sdk"] },
  core: { rooms: [] },
  ports: { rooms: ["core"] },
  wire: { rooms: ["core"] },
  runtime: { rooms: ["core", "ports"] },
  think: { rooms: ["core", "ports", "runtime"], packages: ["node:async_hooks"], types: sdk },
  "adapters/memory": { rooms: ["core", "ports", "wire"] },
  "adapters/sqlite": { rooms: ["core", "ports", "wire"], packages: ["node:*"] },
  "adapters/ai-sdk": { rooms: ["core", "ports", "wire"], packages: [...sdk, "zod"] },
  "adapters/http": { rooms: ["core", "ports", "wire"], packages: ["hono", "hono/*", "@hono/node-server", "zod"] },
  "adapters/websocket": { rooms: ["core", "ports", "wire"], packages: ["hono", "hono/*", "@hono/node-server"] },
  client: { rooms: ["core", "wire"], types: sdk },
  testing: { rooms: everything, packages: [...sdk, "node:*"], types: ["vitest"] },
  node: { rooms: everything, packages: [...sdk, "node:*", "hono", "hono/*", "@hono/node-server", "uuidv7", "zod"] },
  cli: { rooms: everything, packages: [...sdk, "node:*", "hono", "hono/*", "commander", "uuidv7", "zod"] },
};

const outside = ["performance", "crypto", "process", "globalThis", "console", "fetch"].flatMap((name) => [
  name,
  `${name}.*`,
]);
const clocks = ["Date", "Date.now", "new Date()", "Math.random", "setTimeout", "setInterval", "setImmediate"];
const aborts = ["AbortSignal.timeout", "AbortSignal.any"];

/** Names that a pure room never reads. A Date made from a number, and Date.parse, are values: they may be. */
export const bannedGlobals: { readonly [room: string]: readonly string[] } = {
  core: [...outside, ...clocks, ...aborts, "queueMicrotask"],
  runtime: [...outside, ...clocks, ...aborts],
};

/** Text that is found in no file that we ship or test. */
export const words: readonly { readonly in: RegExp; readonly not: RegExp; readonly reason: string }[] = [
  { in: /./, not: /(?<![\w.])\/(work|home|root|Users)\/\w/, reason: "a path of somebody's machine" },
  { in: /^package-lock\.json$/, not: /"resolved":/, reason: "a registry host in the lock file" },
  { in: /\.tsx?$/, not: /\.(only|skip)\(/, reason: "a test that hides others, or is hidden" },
  { in: /^src\//, not: /\b(TODO|FIXME|XXX)\b/, reason: "work that is only promised" },
];

export function roomOf(path: string): string | undefined {
  if (path === "src/index.ts") return "index";
  const [, first = "", second = ""] = path.split("/");
  const room = first === "adapters" ? `adapters/${second}` : first;
  return room in rooms ? room : undefined;
}

function matches(list: readonly string[] | undefined, name: string): boolean {
  return (list ?? []).some((entry) => entry === name || (entry.endsWith("*") && name.startsWith(entry.slice(0, -1))));
}

function checkImports(source: Source): Finding[] {
  const finding = (rule: Finding["rule"], line: number, text: string): Finding[] => [
    { rule, path: source.path, line, text },
  ];
  const room = roomOf(source.path);
  if (!room) return finding("room", 1, "this file is in no known room: add the room to test/tidy/rules.ts");
  const may = rooms[room] as Room;
  return source.imports.flatMap(({ specifier, typeOnly, line }) => {
    if (!specifier.startsWith(".")) {
      if (matches(may.packages, specifier) || (typeOnly && matches(may.types, specifier))) return [];
      return finding("package", line, `${room} may not import ${typeOnly ? "types of " : ""}"${specifier}"`);
    }
    const target = posix.join(dirname(source.path), specifier);
    const other = roomOf(target);
    if (other === room || (other && matches(may.rooms, other))) return [];
    return finding("import", line, `${room} may not import ${target}`);
  });
}

function checkSource(source: Source): Finding[] {
  const banned = bannedGlobals[roomOf(source.path) ?? ""] ?? [];
  const found: Finding[] = checkImports(source);
  for (const { name, line } of source.globals) {
    if (!matches(banned, name)) continue;
    found.push({ rule: "global", path: source.path, line, text: `${name} comes from outside: take it through a port` });
  }
  for (const { name, line } of source.state) {
    found.push({
      rule: "state",
      path: source.path,
      line,
      text: `${name} is state of the module: no two hosts could differ`,
    });
  }
  for (const { name, line, lines } of source.functions) {
    if (lines <= sizes.functionHard) continue;
    found.push({
      rule: "function-size",
      path: source.path,
      line,
      text: `${name} has ${lines} lines of ${sizes.functionHard}`,
    });
  }
  return found;
}

function checkSize(source: Source): Finding[] {
  const most = source.path.startsWith("src/") ? sizes.fileHard : sizes.testFileHard;
  if (source.lines <= most) return [];
  return [{ rule: "file-size", path: source.path, line: 1, text: `${source.lines} lines of ${most}` }];
}

/** Examples are what users copy, so they know only the public doors. */
function checkExample(source: Source): Finding[] {
  return source.imports
    .filter(({ specifier }) => /(^|\/)src\//.test(specifier))
    .map(({ specifier, line }) => ({
      rule: "import",
      path: source.path,
      line,
      text: `an example imports "${specifier}"`,
    }));
}

/** A file of src that is no door, that nothing imports, and that no test or script runs by its path. */
function checkDead(sources: readonly Source[], doors: readonly string[]): Finding[] {
  const used = new Set(doors);
  const runners = sources.filter(({ path }) => !path.startsWith("src/")).map(({ text }) => text);
  for (const { path, imports } of sources) {
    for (const { specifier } of imports) used.add(posix.join(dirname(path), specifier));
  }
  return sources
    .filter(({ path }) => path.startsWith("src/") && !path.endsWith(".test.ts") && !used.has(path))
    .filter(({ path }) => !runners.some((text) => text.includes(path)))
    .map(({ path }) => ({ rule: "dead", path, line: 1, text: "nothing imports this file" }));
}

export function check(sources: readonly Source[], doors: readonly string[]): Finding[] {
  return [
    ...sources.flatMap(checkSize),
    ...sources.filter(({ path }) => path.startsWith("src/")).flatMap(checkSource),
    ...sources.filter(({ path }) => path.startsWith("examples/")).flatMap(checkExample),
    ...checkDead(sources, doors),
  ];
}

export function checkWords(path: string, text: string): Finding[] {
  const lines = text.split("\n");
  return words
    .filter((word) => word.in.test(path))
    .flatMap((word) =>
      lines.flatMap((line, at): Finding[] =>
        word.not.test(line)
          ? [{ rule: "word", path, line: at + 1, text: `${word.reason}: ${line.trim().slice(0, 80)}` }]
          : [],
      ),
    );
}

export function excused(finding: Finding): boolean {
  return exceptions.some((exception) => excuses(exception, finding));
}

export function excuses(exception: (typeof exceptions)[number], finding: Finding): boolean {
  const about = exception.about === undefined || finding.text.includes(exception.about);
  return about && exception.rule === finding.rule && exception.path === finding.path;
}
