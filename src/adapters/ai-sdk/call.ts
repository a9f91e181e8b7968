/** The request of one step, as the SDK builds it. */
import {
  type Experimental_LanguageModelStreamPart as SdkPart,
  experimental_streamLanguageModelCall as streamCall,
} from "ai";
import type { EngineStep } from "../../ports/engine.ts";
import { guarded, type ModelObject } from "./model.ts";
import type { Tools } from "./tools.ts";

type Options = Parameters<typeof streamCall>[0];

/** Named one by one: nothing that a hook returns may replace the messages, or bring the SDK's own retries back. */
const settingNames = [
  "maxOutputTokens",
  "temperature",
  "topP",
  "topK",
  "presencePenalty",
  "frequencyPenalty",
  "stopSequences",
  "seed",
  "headers",
  "providerOptions",
  "reasoning",
] as const;

export async function openCall(
  model: ModelObject,
  step: EngineStep,
  tools: Tools,
  abortSignal: AbortSignal,
  onAsk: () => void,
): Promise<ReadableStream<SdkPart>> {
  const options: Record<string, unknown> = {
    model: guarded(model, onAsk),
    messages: step.messages,
    // Who may write a system message was decided when it was stored. Refusing it here would refuse every later turn.
    allowSystemInMessages: true,
    tools,
    abortSignal,
    // Undocumented, and harmless if ignored: spares the SDK's second copy of all text.
    _internal: { collectContent: false },
  };
  for (const name of settingNames) if (step.settings?.[name] !== undefined) options[name] = step.settings[name];
  if (step.system !== undefined) options["instructions"] = step.system;
  if (step.toolChoice !== undefined) options["toolChoice"] = step.toolChoice;
  if (step.toolsContext !== undefined) options["toolsContext"] = step.toolsContext;
  if (step.refineToolInput !== undefined) options["refineToolInput"] = step.refineToolInput;
  if (typeof step.repairToolCall === "function") {
    const repair = step.repairToolCall;
    // The user's own tools, not the converted ones.
    options["repairToolCall"] = (asked: object) => repair({ ...asked, tools: step.tools });
  }
  const { stream } = await streamCall(options as unknown as Options);
  return stream;
}
