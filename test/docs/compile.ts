// Type-checks the snippets of pages as modules of one program, with the repository's own settings and doors.
import { dirname, join } from "node:path";
import ts from "typescript";
import { root } from "../tidy/house.ts";

export interface Snippet {
  readonly path: string;
  /** The line of the opening fence. */
  readonly line: number;
  readonly code: string;
}

export function compile(snippets: readonly Snippet[]): string[] {
  const parsed = ts.getParsedCommandLineOfConfigFile(
    join(root, "tsconfig.json"),
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: (problem) => {
        throw new Error(ts.flattenDiagnosticMessageText(problem.messageText, "\n"));
      },
    },
  );
  const options: ts.CompilerOptions = { ...parsed?.options, noEmit: true, noImplicitOverride: false };
  // A snippet sits beside its page, so that `./file.ts` means what a reader takes it to mean.
  const virtual = new Map(snippets.map((snippet) => [`${join(root, snippet.path)}.${snippet.line}.ts`, snippet]));
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (name) => virtual.has(name) || fileExists(name);
  host.readFile = (name) => virtual.get(name)?.code ?? readFile(name);
  host.getSourceFile = (name, target, ...rest) => {
    const snippet = virtual.get(name);
    return snippet ? ts.createSourceFile(name, snippet.code, target) : getSourceFile(name, target, ...rest);
  };
  host.getCurrentDirectory = () => root;
  host.directoryExists = (name) =>
    ts.sys.directoryExists(name) || [...virtual.keys()].some((key) => dirname(key) === name);
  const program = ts.createProgram([...virtual.keys()], options, host);
  return [...virtual].flatMap(([name, { path, line }]) => {
    const file = program.getSourceFile(name);
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map((problem) => {
      const at = file?.getLineAndCharacterOfPosition(problem.start ?? 0).line ?? 0;
      return `${path}:${line + 1 + at} ${ts.flattenDiagnosticMessageText(problem.messageText, "\n")}`;
    });
  });
}
