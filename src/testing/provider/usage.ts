import type { Plan } from "./plan.ts";
import type { ChatRequest } from "./read.ts";

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  completion_tokens_details: { reasoning_tokens: number };
}

/** Plausible numbers: four characters a token. */
export function guessUsage(request: ChatRequest, plan: Plan): Usage {
  const tokens = (chars: number) => Math.ceil(chars / 4);
  const sum = (count: (delta: Plan["deltas"][number]) => number) =>
    plan.deltas.reduce((all, one) => all + count(one), 0);
  const prompt = request.messages.reduce((all, message) => all + 4 + tokens(message.text.length), 0);
  const reasoning = tokens(sum((delta) => delta.reasoning));
  const completion = reasoning + tokens(sum((delta) => delta.text)) + tokens(sum((delta) => delta.args));
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}
