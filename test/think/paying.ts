/** A class with one tool that has effects. */
import type { LanguageModel, ToolSet } from "ai";
import { z } from "zod";
import {
  type DurableExecuteOptions,
  durableTool,
  Think,
  type ToolCallContext,
  type ToolCallDecision,
} from "../../src/index.ts";
import type { AgentClass } from "../../src/node/agents.ts";
import { asked, call, calls, type Script, says, script } from "./model.ts";

export const input = z.object({ n: z.number() });

export interface Seen {
  readonly input: unknown;
  readonly options: DurableExecuteOptions;
}

export type Recovery = NonNullable<Parameters<typeof durableTool>[1]>["recovery"];

export interface Paying {
  readonly model?: Script;
  readonly recovery?: Recovery;
  readonly timeoutMs?: number;
  /** What the n-th run gives, from 0. Default: `paid`. */
  run?(seen: Seen, n: number): unknown;
  beforeToolCall?(asked: ToolCallContext): unknown;
}

/** A class with one tool `pay`, whose runs are remembered. */
export function paying(parts: Paying = {}): { Class: AgentClass<Think>; runs: Seen[]; model: Script } {
  const runs: Seen[] = [];
  const model = parts.model ?? script(calls(call("pay", { n: 1 })), says("done"));
  const pay = durableTool({
    inputSchema: input,
    ...(parts.recovery ? { recovery: parts.recovery as never } : {}),
    ...(parts.timeoutMs ? { timeoutMs: parts.timeoutMs } : {}),
    execute(input, options) {
      const seen = { input, options };
      runs.push(seen);
      return parts.run ? parts.run(seen, runs.length - 1) : "paid";
    },
  });
  class A extends Think {
    override modelProfile = { prefill: true };
    override getModel = (): LanguageModel => model;
    override getTools = (): ToolSet => ({ pay });
  }
  class Checked extends A {
    override beforeToolCall(asked: ToolCallContext): Promise<ToolCallDecision> {
      return parts.beforeToolCall?.(asked) as Promise<ToolCallDecision>;
    }
  }
  return { Class: parts.beforeToolCall ? Checked : A, runs, model };
}

/** What the model is told of the call in the next step. */
export const told = (model: Script, at = 1): string | undefined =>
  asked(model.calls[at]!.prompt).find((text) => text.startsWith("tool:"));
