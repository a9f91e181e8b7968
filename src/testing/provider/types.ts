// Scripted provider: an OpenAI chat-completions server that plays a script and refuses what a real one refuses.
//
//   step         one model call of a turn: reasoning, then text, then tool calls, then a finish reason
//   anchor       the last user message of a request that the script knows; it decides which turn plays
//   round        an assistant message with tool calls behind the anchor; the number of rounds is the step's number
//   partial      assistant text behind the last round: what the client kept of an interrupted step
//   continuation a request whose partial is not empty: prefill, or partial + a request-only user message
//   manner       how a continuation is answered

/** How a continuation is answered; see `ProviderOptions.manner`. */
export type Manner = "exact" | "repeat" | "empty";

export type Finish = "stop" | "tool_calls" | "length" | "content_filter";

export interface ScriptCall {
  name: string;
  input: Record<string, unknown>;
  /** Fixed id. Leave it out unless the turn plays once per conversation: a repeated id is refused in history. */
  id?: string;
}

export interface ScriptStep {
  /** Sent as `reasoning_content` before the text; not sent again on a continuation. */
  reasoning?: string;
  text?: string;
  calls?: ScriptCall[];
  /** Default: `tool_calls` if there are calls, else `stop`. */
  finish?: Finish;
  fault?: Fault;
}

export interface ScriptTurn {
  /** The whole text of a user message, or a part of it. An exact match wins, then the first turn in the list. */
  when: string;
  steps: ScriptStep[];
}

export interface Pace {
  /** Length of a chunk in UTF-16 units, [least, most]. Surrogate pairs are never split. */
  chunkChars: [number, number];
  /** Wait before each chunk but the first. */
  delayMs: [number, number];
  /** Wait before the response starts. */
  firstByteMs: [number, number];
}

export interface Script {
  turns: ScriptTurn[];
  /** Plays for a user message that no turn matches. Needs `continuation`. */
  default?: { steps: ScriptStep[] };
  /**
   * Part of the client's request-only "continue" message. Without it any unmatched user message right after an
   * assistant text counts as one.
   */
  continuation?: string;
  pace?: Partial<Pace>;
}

export interface Fault {
  /** stall: go silent, socket open. reset: TCP reset. eof: clean end without finish. status: HTTP error. */
  kind: "stall" | "reset" | "eof" | "status";
  /** Deltas sent first (default 1; never the finish). 0 = before the first byte; `eof` then is an empty 200 body. */
  afterChunks?: number;
  /** For `status`; default 500. */
  status?: number;
  /** For `status`: sent as `retry-after`. */
  retryAfterS?: number;
  /** For `status`: the error's text. */
  message?: string;
  /** How many requests suffer, per conversation and step (a control fault: in all). Default 1. */
  times?: number;
}

/** Every reason for a 400. `resent_refusal` comes in addition to the reason it was refused for before. */
export const refusalCodes = [
  "invalid_json",
  "lone_surrogate",
  "missing_model",
  "messages_not_array",
  "stream_not_true",
  "empty_messages",
  "invalid_message",
  "unknown_role",
  "invalid_content",
  "empty_content",
  "empty_tool_calls",
  "invalid_tool_call",
  "invalid_arguments",
  "duplicate_tool_call_id",
  "missing_tool_result",
  "orphan_tool_result",
  "misplaced_tool_result",
  "duplicate_tool_result",
  "system_not_first",
  "last_assistant",
  "no_script",
  "past_script",
  "misplaced_continuation",
  "continuation_mismatch",
  "resent_refusal",
] as const;

export type RefusalCode = (typeof refusalCodes)[number];

export interface Refusal {
  code: RefusalCode;
  /** `index` of the request. */
  request: number;
  param: string | null;
  message: string;
  /** Wall clock, ms. */
  at: number;
}

/** One request as the provider saw it. Times are wall clock, ms. Lengths are UTF-16 units. */
export interface RequestRecord {
  index: number;
  startedAt: number;
  firstByteAt: number | null;
  endedAt: number | null;
  /** `x-conversation` header, else the body's `user`, else a digest of the messages up to the first user message. */
  conversation: string;
  bodyDigest: string;
  messagesDigest: string;
  messageCount: number;
  lastRole: string | null;
  /** `when` of the turn that plays, `(default)`, or null if it was refused before. */
  turn: string | null;
  /** The anchor's text, at most 200 characters. */
  userText: string | null;
  step: number | null;
  kind: "first" | "step" | "continuation" | null;
  /** Set for continuations only; the manner really played. */
  manner: Manner | null;
  /** Length of the partial the client sent. */
  partialChars: number | null;
  /** How many characters of the partial were sent again first (manner `repeat`). */
  repeated: number | null;
  /** An assistant message carried `reasoning_content`. */
  carriedReasoning: boolean;
  sent: { text: number; reasoning: number; args: number; chunks: number };
  outcome: "open" | "finished" | "cut_by_client" | "fault" | "refused";
  fault: Fault["kind"] | null;
  refusal: RefusalCode | null;
  /** The parsed body; only with `keepBodies`. */
  body?: unknown;
}

/** Answer of `GET /_log`. */
export interface ProviderLog {
  requests: RequestRecord[];
  refusals: Refusal[];
}

export interface ProviderOptions {
  script: Script;
  /** Decides chunk cuts, delays, manners and ids. Default 1. */
  seed?: number;
  /** Default 0: any free port. */
  port?: number;
  /** Default 127.0.0.1. */
  host?: string;
  /** Accept a request that ends in an assistant message. Default false. */
  prefill?: boolean;
  /**
   * Force the manner of every continuation instead of throwing the dice.
   * - `exact`: the rest of the step, byte for byte; for a whole partial no content at all, then calls and finish.
   * - `repeat`: the last 1 to 40 characters of the partial again, then the rest.
   * - `empty`: one delta with content "", then calls and finish.
   * `repeat` falls back to `exact` if the partial is whole, `empty` if it is not. Dice give no `repeat` for prefill.
   */
  manner?: Manner;
  /** Shorter repeats may stay in the client's text, longer ones must have been trimmed from it. Default 16. */
  trimFrom?: number;
  /** A control fault: hits any request until it is used up. */
  fault?: Fault;
  /** Keep every body in its record. Default false: a campaign would fill the memory. */
  keepBodies?: boolean;
}

export interface Provider {
  /** Base for a client: `http://host:port/v1`. */
  url: string;
  port: number;
  requests(): RequestRecord[];
  refusals(): Refusal[];
  /** Replaces the script and forgets which bodies were refused. Streams in flight go on as planned. */
  setScript(script: Script): void;
  setFault(fault: Fault | null): void;
  /** Empties the log and every counter; the script and the control fault stay. */
  reset(): void;
  /** Cuts open streams and frees the port. */
  close(): Promise<void>;
}
