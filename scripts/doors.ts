// The public doors and the sources behind them: `perdure/node` is src/node/index.ts. tsconfig.json is the one list.
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

const tsconfig = JSON.parse(readFileSync(new URL("../tsconfig.json", import.meta.url), "utf8")) as {
  compilerOptions: { paths: Record<string, [string]> };
};

export const doors: { readonly [name: string]: string } = Object.fromEntries(
  Object.entries(tsconfig.compilerOptions.paths).map(([name, [path]]) => [name, path.replace(/^\.\//, "")]),
);

export function pathOf(door: string): string {
  return fileURLToPath(new URL(`../${doors[door]}`, import.meta.url));
}

/** `node --import ./scripts/doors.ts program.ts` runs a program against the sources, with no build. */
if (process.execArgv.some((flag) => /(^|[/=])doors\.ts$/.test(flag))) {
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier in doors
        ? { url: new URL(`../${doors[specifier]}`, import.meta.url).href, shortCircuit: true }
        : next(specifier, context),
  });
}
