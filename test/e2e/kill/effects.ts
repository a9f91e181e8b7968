/** What the tools of the test agent leave behind, one JSON line each, in the folder of the run. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export type ToolName = "report" | "retry" | "reconcile" | "lookup";

export interface Mark {
  /** `start`: execute was called. `effect`: the world was changed. */
  readonly what: "start" | "effect";
  readonly tool: ToolName;
  readonly key: string;
  readonly run: number;
  readonly input: string;
  /** Which process of the run, from 0. */
  readonly process: number;
  readonly at: number;
}

const fileOf = (folder: string): string => join(folder, "effects.jsonl");

/** A write that has returned survives the death of the process. */
export function leave(folder: string, mark: Mark): void {
  appendFileSync(fileOf(folder), `${JSON.stringify(mark)}\n`);
}

export function marks(folder: string): Mark[] {
  return lines<Mark>(fileOf(folder));
}

export interface Heard {
  readonly turn: string;
  readonly status: string;
  readonly process: number;
}

const noticesOf = (folder: string): string => join(folder, "notices.jsonl");

export function hear(folder: string, heard: Heard): void {
  appendFileSync(noticesOf(folder), `${JSON.stringify(heard)}\n`);
}

export function heard(folder: string): Heard[] {
  return lines<Heard>(noticesOf(folder));
}

function lines<T>(path: string): T[] {
  if (!existsSync(path)) return [];
  const whole = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return whole.map((line) => JSON.parse(line) as T);
}
