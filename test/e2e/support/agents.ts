/** A user's module, as `perdure serve` is given one: public doors only. */
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModel, ToolSet } from "ai";
import { durableTool, Think } from "perdure";
import { z } from "zod";

type Env = Readonly<Record<string, string>>;

const input = z.object({ line: z.string(), ms: z.number() });

function noted(env: Env, tool: string) {
  return async (
    { line, ms }: z.infer<typeof input>,
    { run, idempotencyKey }: { run: number; idempotencyKey: string },
  ) => {
    const note = (what: string) =>
      appendFileSync(env["EFFECTS"] ?? "", `${what} ${tool} ${line} ${run} ${idempotencyKey}\n`);
    note("start");
    await sleep(ms);
    note("end");
    return { line };
  };
}

export class SlowTools extends Think<Env> {
  override getModel(): LanguageModel {
    return createOpenAICompatible({ name: "scripted", baseURL: this.env["PERDURE_BASE_URL"] ?? "" }).chatModel(
      "scripted-1",
    );
  }
  override getTools(): ToolSet {
    return {
      report: durableTool({ inputSchema: input, execute: noted(this.env, "report") }),
      retry: durableTool({ inputSchema: input, recovery: "retry", execute: noted(this.env, "retry") }),
    } as ToolSet;
  }
}

export class PlainChat extends Think<Env> {
  override getModel(): LanguageModel {
    return createOpenAICompatible({ name: "scripted", baseURL: this.env["PERDURE_BASE_URL"] ?? "" }).chatModel(
      "scripted-1",
    );
  }
}
