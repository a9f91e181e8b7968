/**
 * What is durable of a step, as far as it decides how to go on. Small, and free of content: it is a field of events.
 */
import type { Assembly } from "./assembly.ts";
import { isToolPart, toolName } from "./transcript.ts";

export interface SeenCall {
  readonly label: string;
  readonly tool: string;
  readonly dynamic?: true;
  /**
   * cut       its input never became whole
   * invalid   its input was whole and was refused before execution: it has its error already
   * complete  it may run
   * settled   it has its result
   */
  readonly state: "cut" | "invalid" | "complete" | "settled";
}

export interface Evidence {
  /** Anything of the step was shown. */
  readonly opened: boolean;
  readonly text: "none" | "blank" | "some";
  readonly reasoning: boolean;
  /** Sources, files and what providers add. */
  readonly other: boolean;
  /** Calls of ours, in the order they were announced. */
  readonly calls: readonly SeenCall[];
}

export const nothing: Evidence = { opened: false, text: "none", reasoning: false, other: false, calls: [] };

export function evidenceOf(assembly: Assembly): Evidence {
  let text: Evidence["text"] = "none";
  let reasoning = false;
  let other = false;
  const calls: SeenCall[] = [];
  for (const { part } of assembly.parts) {
    if (part.type === "text") {
      const blank = String(part["text"]).trim() === "";
      if (!blank) text = "some";
      else if (text === "none" && part["text"] !== "") text = "blank";
      if (part["text"] === "" && part["providerMetadata"] !== undefined) other = true;
    } else if (part.type === "reasoning") reasoning = true;
    else if (isToolPart(part) && part["providerExecuted"] !== true) {
      const dynamic = part.type === "dynamic-tool" ? { dynamic: true as const } : {};
      calls.push({ label: String(part["toolCallId"]), tool: toolName(part), ...dynamic, state: callState(part) });
    } else if (part.type !== "step-start") other = true;
  }
  return { opened: assembly.opened, text, reasoning, other, calls };
}

function callState(part: { readonly [field: string]: unknown }): SeenCall["state"] {
  switch (part["state"]) {
    case "input-streaming":
      return "cut";
    case "output-available":
      return part["preliminary"] === true ? "complete" : "settled";
    case "output-error":
      return "settled";
    default:
      return "complete";
  }
}
