/** `onInputStart`, `onInputDelta`, `onInputAvailable` of the user's tools, as the SDK calls them: after their chunk. */
import type { Experimental_LanguageModelStreamPart as SdkPart } from "ai";
import { contextOf, type ToolBench } from "./execute.ts";
import { own } from "./plain.ts";

type Callback = "onInputStart" | "onInputDelta" | "onInputAvailable";

/** For one model call. Null: nobody to be told. */
export function toolCallbacks(bench: ToolBench): (part: SdkPart, signal: AbortSignal) => Promise<void> | null {
  const names = new Map<string, string>();

  const tell = (callback: Callback, name: string, toolCallId: string, more: object, signal: AbortSignal) => {
    const tool = own(bench.tools, name);
    if (tool?.[callback] === undefined) return null;
    const told = async () => {
      const context = await contextOf(bench, name);
      const options = { toolCallId, messages: [...bench.messages], abortSignal: signal, context, ...more };
      await (tool as Record<Callback, (options: object) => unknown>)[callback](options);
    };
    return told();
  };

  return (part, signal) => {
    switch (part.type) {
      case "tool-input-start":
        names.set(part.id, part.toolName);
        return tell("onInputStart", part.toolName, part.id, {}, signal);
      case "tool-input-delta":
        return tell("onInputDelta", names.get(part.id) ?? "", part.id, { inputTextDelta: part.delta }, signal);
      case "tool-call":
        if (part.invalid) return null;
        return tell("onInputAvailable", part.toolName, part.toolCallId, { input: part.input }, signal);
      default:
        return null;
    }
  };
}
