/** What a user may say of a tool beyond the SDK's `tool()`, and what its `execute` is told beyond the SDK's options. */
import type {
  Context,
  FlexibleSchema,
  ProviderOptions,
  Tool,
  ToolExecuteFunction,
  ToolExecutionOptions,
  ToolResultOutput,
} from "@ai-sdk/provider-utils";
import type { Json } from "../../core/json.ts";

export interface DurableToolOptions<INPUT = unknown, OUTPUT = unknown> {
  /**
   * What to do with a run that was started and whose outcome nobody saw.
   *
   * - `"report"` (default): never run again by us; the model is told that the outcome is unknown.
   * - `"retry"`: run again with the same `idempotencyKey`.
   * - `{ reconcile }`: asked what became of it.
   */
  readonly recovery?:
    | "report"
    | "retry"
    | { reconcile(request: ReconcileRequest<INPUT>): Awaitable<ReconcileAnswer<OUTPUT>> };
  /** Longest time that one run may take. */
  readonly timeoutMs?: number;
}

type Awaitable<T> = T | PromiseLike<T>;

export interface ReconcileRequest<INPUT = unknown> {
  readonly input: INPUT;
  readonly idempotencyKey: string;
  readonly toolCallId: string;
  /** The run that was not seen to end; from 1. */
  readonly run: number;
  readonly abortSignal: AbortSignal;
}

/** `absent`: it did not happen, and is run again. `unknown`, or nothing: the model is told so. */
export type ReconcileAnswer<OUTPUT = unknown> =
  | { readonly outcome: "output"; readonly output: OUTPUT }
  | { readonly outcome: "error"; readonly error: string }
  | { readonly outcome: "absent" }
  | { readonly outcome: "unknown" }
  | undefined;

/** The second argument of `execute`. */
export type DurableExecuteOptions<CONTEXT = unknown> = ToolExecutionOptions<CONTEXT> & {
  /** One for each call, the same for each of its runs, also after a crash. */
  readonly idempotencyKey: string;
  /** From 1. Above 1: the call was started before and its outcome was not seen. */
  readonly run: number;
  /** The earlier call of unknown outcome that this one repeats. */
  readonly repeats: { readonly ordinal: number; readonly idempotencyKey: string } | null;
  /** Whether this process still owns the turn. To be asked just before an effect. */
  stillOwner(): Promise<boolean>;
};

/** A tool of the SDK with recovery. */
export interface DurableTool<INPUT, OUTPUT, CONTEXT extends Context> extends DurableToolOptions<INPUT, OUTPUT> {
  readonly description?: string | ((options: { context: CONTEXT }) => string);
  readonly inputSchema: FlexibleSchema<INPUT>;
  readonly outputSchema?: FlexibleSchema<OUTPUT>;
  readonly contextSchema?: FlexibleSchema<CONTEXT>;
  readonly title?: string;
  readonly metadata?: { [key: string]: Json };
  readonly providerOptions?: ProviderOptions;
  readonly strict?: boolean;
  readonly inputExamples?: { input: NoInfer<INPUT> }[];
  execute(input: INPUT, options: DurableExecuteOptions<CONTEXT>): AsyncIterable<OUTPUT> | PromiseLike<OUTPUT> | OUTPUT;
  toModelOutput?(options: { toolCallId: string; input: INPUT; output: NoInfer<OUTPUT> }): Awaitable<ToolResultOutput>;
  onInputStart?(options: ToolExecutionOptions<CONTEXT>): Awaitable<void>;
  onInputDelta?(options: { inputTextDelta: string } & ToolExecutionOptions<CONTEXT>): Awaitable<void>;
  onInputAvailable?(options: { input: INPUT } & ToolExecutionOptions<CONTEXT>): Awaitable<void>;
}

/**
 * The SDK's `tool()` refuses fields that it does not know; this one takes ours too. With two arguments it adds them to
 * a tool that exists, of MCP or of a provider package.
 */
export function durableTool<INPUT, OUTPUT, CONTEXT extends Context>(
  tool: DurableTool<INPUT, OUTPUT, CONTEXT>,
): Tool<INPUT, OUTPUT, CONTEXT> & { execute: ToolExecuteFunction<INPUT, OUTPUT, CONTEXT> } & DurableToolOptions<
    INPUT,
    OUTPUT
  >;
export function durableTool<TOOL extends Tool>(tool: TOOL, options: DurableToolOptions): TOOL & DurableToolOptions;
export function durableTool(tool: object, options?: DurableToolOptions): object {
  return options === undefined ? tool : { ...tool, ...options };
}
