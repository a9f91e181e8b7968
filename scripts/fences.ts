// Code in Markdown: finding it, and comparing what it printed with what the page says it prints.

export interface Fence {
  /** The line of the opening fence. */
  readonly line: number;
  readonly language: string;
  /** The words after the language: `run` in "ts run". */
  readonly words: readonly string[];
  readonly code: string;
}

export function fences(markdown: string): Fence[] {
  const found: Fence[] = [];
  const lines = markdown.split("\n");
  for (let at = 0; at < lines.length; at += 1) {
    const open = /^(\s*)(`{3,}|~{3,})(.*)$/.exec(lines[at] ?? "");
    if (!open) continue;
    const [, indent = "", mark = "", info = ""] = open;
    const start = at + 1;
    do at += 1;
    while (at < lines.length && !(lines[at] ?? "").trimStart().startsWith(mark));
    const [language = "", ...words] = info.trim().split(/\s+/);
    const code = lines.slice(start, at).map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line));
    found.push({ line: start, language, words, code: code.join("\n") });
  }
  return found;
}

/** The page without its code: fences and inline code are blanked, lines keep their numbers. */
export function prose(markdown: string): string {
  const lines = markdown.split("\n");
  for (const { line, code } of fences(markdown)) {
    const length = code === "" && !lines[line] ? 0 : code.split("\n").length;
    for (let at = line; at < line + length; at += 1) lines[at] = "";
  }
  return lines.map((line) => line.replace(/(`+)(?!`).*?[^`]\1(?!`)/g, "")).join("\n");
}

export interface Program {
  readonly line: number;
  readonly language: "js" | "ts";
  readonly code: string;
  readonly expected: string;
}

/** Every `js run` or `ts run` fence; the next fence must be `text` and say what it prints. */
export function programs(markdown: string): Program[] {
  const all = fences(markdown);
  return all.flatMap(({ language, words, code, line }, at) => {
    if (!words.includes("run") || (language !== "js" && language !== "ts")) return [];
    const output = all[at + 1];
    if (output?.language !== "text") throw new Error(`line ${line}: no \`text\` fence with the output follows`);
    return [{ line, language, code, expected: output.code }];
  });
}

/** `...` and `<anything>` in a line stand for any text; a line that is only `...` stands for any lines. */
export function printed(expected: string, actual: string): boolean {
  const patterns = tidied(expected).map((line) =>
    /^(\.\.\.|…)$/.test(line.trim())
      ? "(?:.*\\n)*?"
      : `${line
          .split(/\.\.\.|…|<[^<>]*>/)
          .map(escaped)
          .join(".*?")}\\n`,
  );
  return new RegExp(`^${patterns.join("")}$`).test(`${tidied(actual).join("\n")}\n`);
}

function tidied(text: string): string[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => line.trimEnd());
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
