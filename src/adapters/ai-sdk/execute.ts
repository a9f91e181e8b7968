/** Running the user's tools, and asking them what became of a run. */
import {
  executeTool,
  isExecutableTool,
  type ModelMessage,
  safeValidateTypes,
  validateTypes,
} from "@ai-sdk/provider-utils";
import { errorText } from "../../core/errors.ts";
import { isObject } from "../../core/json.ts";
import type { Reconciled, ToolRun } from "../../ports/behaviour.ts";
import { own, plain } from "./plain.ts";
import { type AnyTool, needsApproval, type Tools } from "./tools.ts";

export interface ToolBench {
  readonly tools: Tools;
  readonly messages: readonly ModelMessage[];
  readonly toolsContext: Readonly<Record<string, unknown>> | undefined;
}

export async function* execute(bench: ToolBench, call: ToolRun): AsyncGenerator<{ final: boolean; output: unknown }> {
  const tool = own(bench.tools, call.tool);
  if (!isExecutableTool(tool)) throw new Error(`There is no tool "${call.tool}" that can be executed.`);
  if (needsApproval(tool)) throw new Error(`Tool "${call.tool}" needs an approval, and approvals are not supported.`);
  const context = await contextOf(bench, call.tool);
  const options = {
    toolCallId: call.toolCallId,
    messages: [...bench.messages],
    abortSignal: call.signal,
    context,
    experimental_context: context,
    idempotencyKey: call.idempotencyKey,
    run: call.run,
    repeats: call.repeats,
    stillOwner: () => call.stillOwner(),
  };
  const input = await revived(tool, call.input);
  for await (const given of executeTool({ tool, input: input as never, options: options as never })) {
    yield { final: given.type === "final", output: plain(given.output, `The output of tool "${call.tool}"`) };
  }
}

export async function contextOf({ tools, toolsContext }: ToolBench, name: string): Promise<unknown> {
  const value = own(toolsContext, name);
  const schema = own(tools, name)?.contextSchema;
  if (schema === undefined) return value;
  return validateTypes({ value, schema, context: { field: "tool context", entityName: name } });
}

/**
 * Inputs are kept as JSON, but a schema may have made a date or a URL of them, which `execute` is written for. The
 * schema is asked again, and believed only if what it makes is the same JSON: then it is the same input.
 */
async function revived(tool: AnyTool, input: unknown): Promise<unknown> {
  const again = await safeValidateTypes({ value: input, schema: tool.inputSchema });
  if (!again.success) return input;
  try {
    return JSON.stringify(again.value) === JSON.stringify(input) ? again.value : input;
  } catch {
    return input;
  }
}

export async function reconcile(bench: ToolBench, call: ToolRun): Promise<Reconciled> {
  const tool = own(bench.tools, call.tool);
  const recovery = tool?.recovery;
  if (!tool || !isObject(recovery) || typeof recovery["reconcile"] !== "function") return { outcome: "unknown" };
  const { idempotencyKey, toolCallId, run, signal } = call;
  const input = await revived(tool, call.input);
  const answer: unknown = await recovery.reconcile({ input, idempotencyKey, toolCallId, run, abortSignal: signal });
  if (!isObject(answer)) return { outcome: "unknown" };
  switch (answer["outcome"]) {
    case "output":
      return { outcome: "output", output: plain(answer["output"], `The output of tool "${call.tool}"`) };
    case "error":
      return { outcome: "error", error: errorText(answer["error"]) };
    case "absent":
      return { outcome: "absent" };
    default:
      return { outcome: "unknown" };
  }
}
