/** The built-in assistant: a durable chat server in front of any model, without a line of code. */
import { appendFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { LanguageModel, ToolSet } from "ai";
import { z } from "zod";
import { durableTool } from "../adapters/ai-sdk/index.ts";
import type { AgentClass } from "../node/agents.ts";
import { Think } from "../think/think.ts";
import { modelOf } from "./models.ts";

type Env = Readonly<Record<string, string | undefined>>;

const lookupMsMax = 120_000;

/** Pure: an interrupted run is simply run again. */
const slowLookup = durableTool({
  description: "Looks a key up in a slow table. It takes about `ms` milliseconds and has no side effect.",
  inputSchema: z.object({ key: z.string(), ms: z.number().min(0).max(lookupMsMax).default(0) }),
  recovery: "retry",
  timeoutMs: lookupMsMax + 30_000,
  execute: async ({ key, ms }, { abortSignal }) => {
    await sleep(ms, undefined, abortSignal ? { signal: abortSignal } : {});
    return { key, value: `value of ${key}` };
  },
});

/** A side effect that can be counted from outside. An interrupted run is reported, never repeated. */
const appendEffect = durableTool({
  description: "Appends one line to the file of effects.",
  inputSchema: z.object({ line: z.string() }),
  recovery: "report",
  execute: async ({ line }) => {
    const path = process.env["PERDURE_EFFECTS_FILE"];
    if (!path)
      throw new Error("PERDURE_EFFECTS_FILE is not set, so there is no file to append to. Nothing was appended.");
    await appendFile(path, `${line}\n`);
    return { appended: line };
  },
});

/** The class, with the model that the environment names. Fails now when it names none. */
export async function builtIn(env: Env): Promise<AgentClass> {
  const model = await modelOf(env);
  return class Assistant extends Think<Env> {
    override maxSteps = 10;

    override getModel(): LanguageModel {
      return model;
    }

    override getSystemPrompt(): string {
      return "You are a helpful assistant.";
    }

    override getTools(): ToolSet {
      return { slow_lookup: slowLookup, append_effect: appendEffect };
    }
  };
}
