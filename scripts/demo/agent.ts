/** The agent that the demo serves: the shipped assistant, and one tool more that can be killed inside. */
import { appendFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { ToolSet } from "ai";
import { z } from "zod";
import { durableTool } from "../../src/adapters/ai-sdk/index.ts";
import { builtIn } from "../../src/cli/assistant.ts";

/** Longer than anybody waits: it is killed after its effect and before its result, by no race. */
const receiptMs = 300_000;

const appendSlowly = durableTool({
  description: "Appends one line to the file of effects, and answers once a receipt has come.",
  inputSchema: z.object({ line: z.string() }),
  recovery: "report",
  execute: async ({ line }, { abortSignal }) => {
    await appendFile(process.env["PERDURE_EFFECTS_FILE"] ?? "", `${line}\n`);
    await sleep(receiptMs, undefined, abortSignal ? { signal: abortSignal } : {});
    return { appended: line };
  },
});

const tools: ToolSet = { append_slowly: appendSlowly };
const BuiltIn = await builtIn(process.env);

export class Assistant extends BuiltIn {
  override async getTools(): Promise<ToolSet> {
    return { ...(await super.getTools()), ...tools };
  }
}
