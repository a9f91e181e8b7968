// SPEC.md and the tests name each other: every rule is tested, and every quoted rule exists.
import { existsSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { files, parse, read, root, walk } from "../tidy/house.ts";

const id = "[A-Z]{1,3}\\d+[a-z]?";

/** A rule is a line `- **T1** text`. */
function rulesOf(spec: string): string[] {
  return [...spec.matchAll(new RegExp(`^- \\*\\*(${id})\\*\\* `, "gm"))].map(([, rule = ""]) => rule);
}

/** A test quotes its rules at the start of its name: `[T1][S2] what is so`. The name may stand in a table of cases. */
function quotesOf(path: string, text?: string): string[] {
  const found: string[] = [];
  walk(parse(path, text), (node) => {
    const name = ts.isTemplateExpression(node) ? node.head.text : ts.isStringLiteralLike(node) ? node.text : "";
    const [quoted = ""] = new RegExp(`^(?:\\[${id}\\]\\s*)+`).exec(name) ?? [];
    found.push(...[...quoted.matchAll(new RegExp(id, "g"))].map(([rule]) => rule));
  });
  return found;
}

describe("SPEC.md and the tests", () => {
  const missing = "SPEC.md is missing: its rules are the lines `- **T1** ...` that tests quote as `[T1]`";
  const exists = existsSync(join(root, "SPEC.md"));
  const rules = exists ? rulesOf(read("SPEC.md")) : [];
  const tests = [...files("test", /\.test\.ts$/), ...files("src", /\.test\.ts$|^src\/testing\/.*\.ts$/)];
  const quotes = new Map<string, string>();
  for (const path of tests.filter((path) => !path.startsWith("test/spec/"))) {
    for (const rule of quotesOf(path)) quotes.set(rule, path);
  }

  it("every rule has an id of its own", () => {
    expect(exists, missing).toBe(true);
    expect(rules.length, "SPEC.md has no line of the form `- **T1** ...`").toBeGreaterThan(0);
    expect(rules.filter((rule, at) => rules.indexOf(rule) !== at)).toEqual([]);
  });

  it("every rule is quoted by a test", () => {
    expect(exists, missing).toBe(true);
    expect(rules.filter((rule) => !quotes.has(rule))).toEqual([]);
  });

  it("every quoted rule is in SPEC.md", () => {
    expect(exists, missing).toBe(true);
    expect([...quotes].filter(([rule]) => !rules.includes(rule))).toEqual([]);
  });
});

describe("the reader of rules", () => {
  it("finds rules and quotes", () => {
    expect(rulesOf("# T\n- **T1** a turn\n- **ST12b** b\n  - **T9** nested\n- **note** no\n")).toEqual(["T1", "ST12b"]);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    const text = "it('[T1][S2] a', f); it(`[T3] ${x}`, f); const cases = [['[I4] b', 1]]; it('see [T7]', f); a['T9'];";
    expect(quotesOf("a.test.ts", text)).toEqual(["T1", "S2", "T3", "I4"]);
  });
});
