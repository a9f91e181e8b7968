// Documentation that cannot rot: links lead somewhere, code compiles and prints what it says, every error has its page.
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import { describe, expect, it } from "vitest";
import { fences, printed, programs, prose } from "../../scripts/fences.ts";
import { runProgram } from "../../scripts/program.ts";
import { errorCodes } from "../../src/core/errors.ts";
import { files, read, root } from "../tidy/house.ts";
import { compile } from "./compile.ts";

const pages = files(".", /\.md$/).filter((path) => !path.startsWith("."));
const guides = ["README.md", ...files("docs/guide", /\.md$/)].filter((path) => existsSync(join(root, path)));

/** Anchors as code hosts make them: lower case, punctuation dropped, spaces to hyphens, repeats numbered. */
function anchors(markdown: string): Set<string> {
  const seen = new Map<string, number>();
  const found = new Set<string>();
  for (const [, title = ""] of prose(markdown.replaceAll("`", "")).matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)) {
    const text = title.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[*~]/g, "");
    const slug = text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replace(/\s/g, "-");
    const repeat = seen.get(slug) ?? 0;
    seen.set(slug, repeat + 1);
    found.add(repeat === 0 ? slug : `${slug}-${repeat}`);
  }
  for (const [, id = ""] of markdown.matchAll(/<a\s+(?:id|name)="([^"]+)"/g)) found.add(id);
  return found;
}

function brokenLinks(path: string): string[] {
  const text = prose(read(path));
  const inline = [...text.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g)];
  const reference = [...text.matchAll(/^\s*\[[^\]]+\]:\s+<?([^\s>]+)>?/gm)];
  return [...inline, ...reference].flatMap(([, link = ""]) => {
    if (/^[a-z][a-z0-9+.-]*:/i.test(link)) return [];
    const [file = "", anchor] = decodeURI(link).split("#");
    const target = file === "" ? path : posix.normalize(posix.join(dirname(path), file));
    if (target.startsWith("..") || !existsSync(join(root, target))) return [`${path}: ${link}`];
    const known = anchor === undefined || !target.endsWith(".md") || anchors(read(target)).has(anchor);
    return known ? [] : [`${path}: ${link} (no such heading)`];
  });
}

describe("docs", () => {
  it("every relative link leads somewhere", () => {
    expect(pages.flatMap(brokenLinks)).toEqual([]);
  });

  it("every error code has one page, and every page a code", () => {
    const codes = files("docs/errors", /\.md$/).map((path) => basename(path, ".md"));
    expect(codes.filter((code) => code !== "README").sort()).toEqual([...errorCodes].sort());
  });

  it("every `ts` fence of the README and the guide compiles", { timeout: 120_000 }, () => {
    const snippets = guides.flatMap((path) =>
      fences(read(path))
        .filter(({ language }) => /^(ts|tsx|typescript)$/.test(language))
        .map(({ code, line }) => ({ path, code, line })),
    );
    expect(compile(snippets)).toEqual([]);
  });

  it("every `run` fence prints what its page says", { timeout: 120_000 }, async ({ onTestFinished }) => {
    mkdirSync(join(root, "tmp"), { recursive: true });
    const folder = mkdtempSync(join(root, "tmp/docs-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    for (const path of guides) {
      for (const { code, expected, language, line } of programs(read(path))) {
        const file = join(folder, `${basename(path, ".md")}-${line}.${language}`);
        writeFileSync(file, code);
        const run = await runProgram(process.execPath, ["--import", join(root, "scripts/doors.ts"), file], folder);
        if (printed(expected, run.stdout) && run.code === 0) continue;
        expect.fail(
          `${path}:${line} ended with ${run.code}\n--- expected\n${expected}\n--- printed\n${run.stdout}${run.stderr}`,
        );
      }
    }
  });
});

describe("the reader of pages", () => {
  it("compares what was printed", () => {
    expect(printed("a <id> b\n...\nend", "a 019-x b\nmore\nand more\nend\n")).toBe(true);
    expect(printed("took ... ms", "took 12 ms")).toBe(true);
    expect(printed("a\nb", "a\nc\nb")).toBe(false);
    expect(printed("a (1+1)?", "a (1+1)?")).toBe(true);
  });

  it("finds programs and leaves code out of prose", () => {
    const page = "# A `b` c\n\n```ts run\n[x](nowhere)\n```\n\n```text\nout\n```\n\nsee `[y](z)` [a](#a-b-c)\n";
    expect(programs(page)).toEqual([{ line: 3, language: "ts", code: "[x](nowhere)", expected: "out" }]);
    expect(prose(page)).not.toMatch(/nowhere|\(z\)/);
    expect([...anchors(page)]).toEqual(["a-b-c"]);
  });
});
