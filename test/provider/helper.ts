import type { Provider, Script } from "../../src/testing/provider/index.ts";

type Json = Record<string, unknown>;

export interface Answer {
  status: number;
  headers: Headers;
  error: { message: string; type: string; param: string | null; code: string | null } | null;
  /** `delta` of each chunk, in order. */
  deltas: Json[];
  text: string;
  calls: { id: string; name: string; arguments: string }[];
  finish: string | null;
  usage: Json | null;
  done: boolean;
  /** The body broke off with a network error. */
  broken: boolean;
}

export const user = (content: unknown): Json => ({ role: "user", content });
export const assistant = (content: unknown, ...ids: string[]): Json => ({
  role: "assistant",
  content,
  ...(ids.length === 0 ? {} : { tool_calls: ids.map((id) => call(id)) }),
});
export const call = (id: string, args = "{}"): Json => ({
  id,
  type: "function",
  function: { name: "look", arguments: args },
});
export const result = (id: string, content: unknown = "fine"): Json => ({ role: "tool", tool_call_id: id, content });

export const weather = "The weather in Vienna is mild today: 14 degrees, light wind from the west, no rain before ten.";
export const script: Script = {
  turns: [
    { when: "weather", steps: [{ text: weather }] },
    {
      when: "report",
      steps: [
        { reasoning: "I need two look-ups first.", text: "Let me look. ", calls: [look("a"), look("b")] },
        { text: "All done: two places looked up." },
      ],
    },
  ],
};

function look(place: string) {
  return { name: "look", input: { place } };
}

/** Sends messages as a chat request and reads the whole answer. */
export function ask(provider: Provider, messages: unknown, rest: Json = {}, signal?: AbortSignal): Promise<Answer> {
  return askRaw(provider, JSON.stringify({ model: "m", stream: true, messages, ...rest }), signal);
}

export async function askRaw(provider: Provider, body: string | Uint8Array, signal?: AbortSignal): Promise<Answer> {
  const init = { method: "POST", body, ...(signal === undefined ? {} : { signal }) };
  const response = await fetch(`${provider.url}/chat/completions`, init as RequestInit);
  const answer: Answer = {
    status: response.status,
    headers: response.headers,
    error: null,
    deltas: [],
    text: "",
    calls: [],
    finish: null,
    usage: null,
    done: false,
    broken: false,
  };
  if (response.status !== 200)
    return { ...answer, error: ((await response.json()) as { error: Answer["error"] }).error };
  let streamed = "";
  const decoder = new TextDecoder();
  try {
    for await (const piece of response.body!) streamed += decoder.decode(piece, { stream: true });
  } catch {
    answer.broken = true;
  }
  // A cut body may end inside an event.
  for (const line of streamed.split("\n\n").slice(0, -1)) {
    if (line === "data: [DONE]") answer.done = true;
    else if (line.startsWith("data: ")) collect(answer, JSON.parse(line.slice(6)));
  }
  return answer;
}

// biome-ignore lint/suspicious/noExplicitAny: the wire format is what is under test
function collect(answer: Answer, chunk: any): void {
  if (chunk.usage) answer.usage = chunk.usage;
  const choice = chunk.choices[0];
  if (choice === undefined) return;
  if (choice.finish_reason !== null) {
    answer.finish = choice.finish_reason;
    return;
  }
  answer.deltas.push(choice.delta);
  answer.text += choice.delta.content ?? "";
  for (const part of choice.delta.tool_calls ?? []) {
    answer.calls[part.index] ??= { id: part.id, name: part.function.name, arguments: "" };
    answer.calls[part.index]!.arguments += part.function.arguments;
  }
}

export async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition(); tries += 1) {
    if (tries > 400) throw new Error("Waited 2 s in vain.");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
