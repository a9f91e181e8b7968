// Reads the source tree into plain facts. What is allowed is said in rules.ts; this file only measures.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");

export interface Import {
  readonly specifier: string;
  readonly typeOnly: boolean;
  readonly line: number;
}
export interface Measured {
  readonly name: string;
  readonly line: number;
  readonly lines: number;
}
export interface Source {
  readonly path: string;
  readonly text: string;
  readonly lines: number;
  readonly imports: readonly Import[];
  readonly functions: readonly Measured[];
  readonly classes: readonly { readonly name: string; readonly methods: number; readonly fields: number }[];
  /** Names that are read from the global scope, with one property: `Date.now`, `new Date`, `setTimeout`. */
  readonly globals: readonly { readonly name: string; readonly line: number }[];
  /** Module-level `let` and `var`, and empty collections that can only be there to be filled (a WeakMap is a memo). */
  readonly state: readonly { readonly name: string; readonly line: number }[];
}

const skipped = new Set(["node_modules", "dist", "tmp", "coverage", ".git"]);

/** Every file under a folder of the repository, as paths from its root with forward slashes. */
export function files(folder: string, wanted: RegExp): string[] {
  const found: string[] = [];
  let entries: ReturnType<typeof entriesOf>;
  try {
    entries = entriesOf(join(root, folder));
  } catch {
    return found;
  }
  for (const entry of entries) {
    if (skipped.has(entry.name)) continue;
    const path = posix.join(folder, entry.name);
    if (entry.isDirectory()) found.push(...files(path, wanted));
    else if (wanted.test(path)) found.push(path);
  }
  return found.sort();
}

function entriesOf(folder: string) {
  return readdirSync(folder, { withFileTypes: true });
}

export function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

export function parse(path: string, text = read(path)): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
}

export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

export function measure(path: string, text = read(path)): Source {
  const file = parse(path, text);
  const lineOf = (at: number): number => file.getLineAndCharacterOfPosition(at).line + 1;
  const imports: Import[] = [];
  const functions: Measured[] = [];
  const classes: { name: string; methods: number; fields: number }[] = [];
  const globals: { name: string; line: number }[] = [];
  walk(file, (node) => {
    const line = lineOf(node.getStart(file));
    const imported = importOf(node);
    if (imported) imports.push({ ...imported, line });
    if (isFunction(node) && !isTestBody(node)) {
      functions.push({ name: nameOf(node), line, lines: ownLines(node, file) });
    }
    if (ts.isClassLike(node)) {
      const fields = node.members.filter((member) => ts.isPropertyDeclaration(member)).length;
      const methods = node.members.filter((member) => !ts.isPropertyDeclaration(member)).length;
      classes.push({ name: node.name?.text ?? "(anonymous)", methods, fields });
    }
    const global = globalOf(node);
    if (global) globals.push({ name: global, line });
  });
  const state = file.statements.flatMap((statement) =>
    stateOf(statement).map((name) => ({ name, line: lineOf(statement.getStart(file)) })),
  );
  return { path, text, lines: text.trimEnd().split("\n").length, imports, functions, classes, globals, state };
}

function importOf(node: ts.Node): Omit<Import, "line"> | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
    if (!node.moduleSpecifier || !ts.isStringLiteral(node.moduleSpecifier)) return undefined;
    // `import { type A }` keeps the module at run time under verbatimModuleSyntax: only `import type` counts.
    const typeOnly = ts.isExportDeclaration(node)
      ? node.isTypeOnly
      : node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
    return { specifier: node.moduleSpecifier.text, typeOnly };
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument) && ts.isStringLiteral(node.argument.literal)) {
    return { specifier: node.argument.literal.text, typeOnly: true };
  }
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    const [argument] = node.arguments;
    if (argument && ts.isStringLiteralLike(argument)) return { specifier: argument.text, typeOnly: false };
  }
  return undefined;
}

type Body = ts.FunctionLikeDeclaration & { readonly body: ts.Node };

function isFunction(node: ts.Node): node is Body {
  return ts.isFunctionLike(node) && "body" in node && node.body !== undefined;
}

function calleeOf(node: ts.Node): string {
  if (ts.isCallExpression(node)) return calleeOf(node.expression);
  if (ts.isPropertyAccessExpression(node)) return calleeOf(node.expression);
  return ts.isIdentifier(node) ? node.text : "";
}

/** The callback of `describe`, `it` or `test` is a list of cases, not a function that somebody has to hold in mind. */
function isTestBody(node: ts.Node): boolean {
  return ts.isCallExpression(node.parent) && /^(describe|it|test)$/.test(calleeOf(node.parent));
}

function ownLines(node: ts.Node, file: ts.SourceFile): number {
  const span = (of: ts.Node): number =>
    file.getLineAndCharacterOfPosition(of.end).line - file.getLineAndCharacterOfPosition(of.getStart(file)).line + 1;
  let lines = span(node);
  const subtract = (child: ts.Node): void => {
    if (isFunction(child) && isTestBody(child)) lines -= span(child) - 1;
    else ts.forEachChild(child, subtract);
  };
  ts.forEachChild(node, subtract);
  return lines;
}

function nameOf(node: Body): string {
  if (node.name) return node.name.getText();
  const { parent } = node;
  if ((ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)) && parent.name)
    return parent.name.getText();
  return ts.isConstructorDeclaration(node) ? "constructor" : "(anonymous)";
}

function globalOf(node: ts.Node): string | undefined {
  if (!ts.isIdentifier(node)) return undefined;
  const { parent } = node;
  if (ts.isShorthandPropertyAssignment(parent)) return node.text;
  if ("name" in parent && parent.name === node) return undefined;
  if ("propertyName" in parent && parent.propertyName === node) return undefined;
  if (ts.isTypeReferenceNode(parent) || ts.isQualifiedName(parent) || ts.isTypeQueryNode(parent)) return undefined;
  if (ts.isPropertyAccessExpression(parent) && parent.expression === node) return `${node.text}.${parent.name.text}`;
  if (ts.isNewExpression(parent) && parent.expression === node) {
    return `new ${node.text}(${parent.arguments?.length ? "…" : ""})`;
  }
  return node.text;
}

function stateOf(statement: ts.Statement): string[] {
  if (!ts.isVariableStatement(statement)) return [];
  const constant = (statement.declarationList.flags & ts.NodeFlags.Const) !== 0;
  return statement.declarationList.declarations
    .filter(({ initializer }) => {
      if (!constant) return true;
      if (!initializer || !ts.isNewExpression(initializer) || initializer.arguments?.length) return false;
      return /^(Map|Set)$/.test(calleeOf(initializer.expression));
    })
    .map(({ name }) => name.getText());
}
