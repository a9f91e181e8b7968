/** A class of agents, played: the behaviour port by hand, so that a test says what each hook and each answer is. */
import { defaultPolicy, type RecoveryPolicy } from "../../src/core/policy.ts";
import type { StepSummary } from "../../src/core/records.ts";
import type {
  Behaviour,
  ModelPart,
  ModelStream,
  PrepareContext,
  PreparedStep,
  Reconciled,
  ToolFacts,
  ToolRun,
} from "../../src/ports/behaviour.ts";

export type Answer = Iterable<ModelPart> | AsyncIterable<ModelPart>;

export interface PlayedTool extends Partial<ToolFacts> {
  execute(call: ToolRun): unknown;
  reconcile?(call: ToolRun): Reconciled;
}

export interface Play extends Partial<Omit<Behaviour, "asks" | "policy">> {
  readonly asks?: {
    recovery?: boolean;
    beforeTool?: boolean;
    error?: boolean;
    notices?: ("response" | "step" | "tool")[];
  };
  readonly policy?: Partial<RecoveryPolicy>;
  /** What the model says to the n-th request, from 0. Default: `ok`. */
  answer?(context: PrepareContext, n: number, signal: AbortSignal): Answer;
  readonly tools?: Readonly<Record<string, PlayedTool>>;
  readonly maxSteps?: number;
}

/** Every agent of the class. Requests are counted over all of them. */
export function cast(play: Play = {}): () => Behaviour {
  let requests = 0;
  return () => ({
    asks: {
      recovery: play.asks?.recovery ?? false,
      beforeTool: play.asks?.beforeTool ?? false,
      error: play.asks?.error ?? false,
      notices: new Set(play.asks?.notices),
    },
    policy: () => ({ ...defaultPolicy, ...play.policy }),
    start: play.start ?? (async () => {}),
    prepare: play.prepare ?? (async (context) => stepOf(play, context, () => requests++)),
    recover: play.recover ?? (async () => ({})),
    beforeTool: play.beforeTool ?? (async () => ({ action: "allow" })),
    mapError: play.mapError ?? (async (error) => String(error)),
    notice: play.notice ?? (async () => {}),
  });
}

export function stepOf(play: Play, context: PrepareContext, count: () => number): PreparedStep {
  return {
    origin: "mock:one",
    profile: { prefill: true },
    maxSteps: play.maxSteps ?? 10,
    fingerprint: "mock:one",
    tool: (name) => {
      const tool = play.tools?.[name];
      return tool ? { executable: true, policy: tool.policy ?? "report", timeoutMs: tool.timeoutMs ?? 600_000 } : null;
    },
    call: async (signal) => streamOf(play.answer?.(context, count(), signal) ?? said("ok"), signal),
    async *execute(call) {
      const given = play.tools?.[call.tool]?.execute(call);
      if (typeof given === "object" && given !== null && Symbol.asyncIterator in given) {
        let last: unknown;
        for await (const output of given as AsyncIterable<unknown>) {
          last = output;
          yield { final: false, output };
        }
        yield { final: true, output: last };
      } else yield { final: true, output: await given };
    },
    reconcile: async (call) => play.tools?.[call.tool]?.reconcile?.(call) ?? { outcome: "unknown" },
  };
}

/** As the engine does it: ends at once when it is cancelled, whatever the model does. */
function streamOf(answer: Answer, signal: AbortSignal): ModelStream {
  const parts = Symbol.asyncIterator in answer ? answer[Symbol.asyncIterator]() : answer[Symbol.iterator]();
  let cancel = (): void => {};
  const cancelled = new Promise<ModelPart>((resolve) => {
    cancel = () => resolve(broken("cancelled"));
  });
  signal.addEventListener("abort", cancel);
  const next = async (): Promise<ModelPart> => {
    const { done, value } = await parts.next();
    return done ? broken("ended without a finish") : value;
  };
  return { read: () => Promise.race([next(), cancelled]), cancel };
}

export const begin = (id = "t"): ModelPart => ({ kind: "chunk", chunk: { type: "text-start", id } });
export const delta = (text: string, id = "t"): ModelPart => ({
  kind: "chunk",
  chunk: { type: "text-delta", id, delta: text },
});
export const end = (finishReason = "stop", more: Partial<StepSummary> = {}): ModelPart => ({
  kind: "end",
  summary: { finishReason, ...more },
});
export const broken = (message = "reset"): ModelPart => ({
  kind: "fault",
  fault: { kind: "cut", message },
  error: new Error(message),
});
export const busy = (retryAfterMs?: number): ModelPart => ({
  kind: "fault",
  fault: { kind: "busy", message: "later", ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
  error: new Error("later"),
});
export const refused = (message = "no"): ModelPart => ({
  kind: "fault",
  fault: { kind: "refused", message },
  error: new Error(message),
});

/** Words, without the end of the answer. */
export const words = (...texts: string[]): ModelPart[] => [begin(), ...texts.map((text) => delta(text))];

/** A whole answer of text. */
export const said = (...texts: string[]): ModelPart[] => [
  ...words(...texts),
  { kind: "chunk", chunk: { type: "text-end", id: "t" } },
  end(),
];

/** A whole call. */
export const asks = (toolCallId: string, toolName: string, input: unknown = {}): ModelPart[] => [
  { kind: "chunk", chunk: { type: "tool-input-start", toolCallId, toolName } },
  { kind: "chunk", chunk: { type: "tool-input-available", toolCallId, toolName, input } },
];

/** Says no more, until it is stopped. */
export const silence = (): Promise<never> => new Promise(() => {});

/** Some parts, and then silence. */
export async function* hangingAfter(parts: readonly ModelPart[]): AsyncGenerator<ModelPart> {
  yield* parts;
  await silence();
}
