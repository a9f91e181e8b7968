/** The engine over `experimental_streamLanguageModelCall`: one model call a step, no loop, no retry, no execution (path B). */
import type { ModelMessage, ToolSet } from "@ai-sdk/provider-utils";
import { convertToModelMessages, type UIMessage } from "ai";
import { originOf, profileOf } from "../../core/profile.ts";
import type { PreparedStep } from "../../ports/behaviour.ts";
import type { Engine, EngineStep } from "../../ports/engine.ts";
import { ask } from "./answer.ts";
import { openCall } from "./call.ts";
import { toolCallbacks } from "./callbacks.ts";
import { execute, reconcile, type ToolBench } from "./execute.ts";
import { resolveModel } from "./model.ts";
import { factsOf, fingerprintOf, offered, type Tools } from "./tools.ts";

export function createEngine(): Engine {
  return { describe, modelMessages, prepare };
}

const describe: Engine["describe"] = (model) => {
  const { provider, modelId } = resolveModel(model);
  return { origin: originOf(provider, modelId), profile: profileOf(provider, modelId) };
};

const modelMessages: Engine["modelMessages"] = (messages, tools) =>
  convertToModelMessages(messages as unknown as UIMessage[], { tools: tools as ToolSet });

async function prepare(step: EngineStep): Promise<PreparedStep> {
  const model = resolveModel(step.model);
  const { origin, profile } = describe(model);
  const tools = step.tools as Tools;
  const shown = offered(tools, step.activeTools);
  const bench: ToolBench = { tools, messages: step.messages as ModelMessage[], toolsContext: step.toolsContext };
  return {
    origin,
    profile: step.profile ?? profile,
    maxSteps: step.maxSteps,
    fingerprint: await fingerprintOf(origin, shown),
    tool: (name) => factsOf(tools, name),
    call: (signal) =>
      ask(
        {
          tools,
          modelId: model.modelId,
          open: (abort, onAsk) => openCall(model, step, shown, abort, onAsk),
          notify: toolCallbacks(bench),
        },
        signal,
      ),
    execute: (run) => execute(bench, run),
    reconcile: (run) => reconcile(bench, run),
  };
}
