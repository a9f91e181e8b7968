/**
 * Recorded answers: every type of part that a model can send, in every order that has mattered. One sequence more for
 * each bug that is found. Data only, so that any path can be driven with it.
 */
import { dynamicTool, jsonSchema, tool } from "ai";
import type { Part } from "../ai-sdk/support/model.ts";
import { finish } from "../ai-sdk/support/model.ts";
import type { Difference } from "./differences.ts";

export interface Sequence {
  readonly name: string;
  /** The parts of each model call of the turn. */
  readonly steps: readonly (readonly Part[])[];
  /** The last step's stream breaks instead of closing. */
  readonly broken?: unknown;
  /** Made anew for each run: generators have state. */
  readonly tools: () => Record<string, unknown>;
  /** Where the paths may differ, and nowhere else. */
  readonly differs: readonly Difference[];
}

const given = (n: number) => ({ mock: { n } });
const start = (id: string, n?: number): Part => ({
  type: "text-start",
  id,
  ...(n ? { providerMetadata: given(n) } : {}),
});
const delta = (id: string, text: string, n?: number): Part => ({
  type: "text-delta",
  id,
  delta: text,
  ...(n ? { providerMetadata: given(n) } : {}),
});
const end = (id: string): Part => ({ type: "text-end", id });
const text = (id: string, words: string): Part[] => [
  start(id),
  ...words.split(/(?<= )/).map((w) => delta(id, w)),
  end(id),
];
const input = (id: string, toolName: string, json: string, more: object = {}): Part[] => [
  { type: "tool-input-start", id, toolName, ...more },
  ...(json.match(/.{1,5}/gs) ?? []).map((piece): Part => ({ type: "tool-input-delta", id, delta: piece })),
  { type: "tool-input-end", id },
];
const call = (toolCallId: string, toolName: string, json: string, more: object = {}): Part => ({
  type: "tool-call",
  toolCallId,
  toolName,
  input: json,
  ...more,
});
const asked = (id: string, name: string, json: string, more: object = {}): Part[] => [
  ...input(id, name, json, more),
  call(id, name, json, more),
];
const warned: Part = { type: "stream-start", warnings: [] };
const meta: Part = { type: "response-metadata", id: "r1", modelId: "mock-1", timestamp: new Date(0) };

const anything = jsonSchema<Record<string, unknown>>({ type: "object" });
const city = jsonSchema<{ city: string }>(
  { type: "object", properties: { city: { type: "string" } } },
  {
    validate: (value) =>
      typeof (value as { city?: unknown } | null)?.city === "string"
        ? { success: true, value: value as { city: string } }
        : { success: false, error: new Error("city must be a text") },
  },
);

const weather = () => tool({ inputSchema: city, execute: async ({ city }) => ({ city, degrees: 3 }) });
const failing = () =>
  tool({
    inputSchema: anything,
    execute: async (): Promise<string> => {
      throw new Error("kaput");
    },
  });
const counting = () =>
  tool({
    inputSchema: anything,
    async *execute() {
      for (const n of [1, 2, 3]) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        yield { n };
      }
    },
  });
const nothing = () => tool({ inputSchema: anything, execute: async () => undefined });
const client = () => tool({ inputSchema: anything, outputSchema: anything });
const described = () =>
  dynamicTool({
    title: "Looks up",
    metadata: { source: "mcp" },
    inputSchema: anything,
    execute: async () => "found",
  });

const tools: Sequence["tools"] = () => ({
  weather: weather(),
  failing: failing(),
  counting: counting(),
  nothing: nothing(),
  client: client(),
  described: described(),
});

const plain = (name: string, ...steps: Part[][]): Sequence => ({ name, steps, tools, differs: [] });
const but = (sequence: Sequence, differs: readonly Difference[], more: Partial<Sequence> = {}): Sequence => ({
  ...sequence,
  differs,
  ...more,
});

const png = { type: "data", data: "iVBORw0KGgo=" } as const;

export const sequences: readonly Sequence[] = [
  plain("plain text", [warned, meta, ...text("0", "Hello there you"), finish()]),
  but(
    plain("text with metadata", [
      warned,
      meta,
      start("0", 1),
      delta("0", "Hello "),
      delta("0", "", 2),
      delta("0", "there ", 3),
      delta("0", "you"),
      delta("0", ""),
      { type: "text-end", id: "0", providerMetadata: given(4) },
      { type: "ping" },
      finish(),
    ]),
    ["sticky-metadata"],
  ),
  plain("interleaved blocks", [
    meta,
    start("a"),
    start("b"),
    { type: "reasoning-start", id: "a" },
    delta("a", "one "),
    { type: "reasoning-delta", id: "a", delta: "hm" },
    delta("b", "two "),
    end("a"),
    { type: "ping" },
    { type: "reasoning-end", id: "a" },
    delta("b", "three"),
    end("b"),
    finish(),
  ]),
  plain("reasoning with signatures, sources, files, custom", [
    warned,
    meta,
    { type: "custom", kind: "mock.begin", providerMetadata: given(1) },
    { type: "reasoning-start", id: "0", providerMetadata: given(1) },
    { type: "reasoning-delta", id: "0", delta: "thinking" },
    { type: "reasoning-delta", id: "0", delta: "", providerMetadata: { mock: { signature: "c2ln" } } },
    { type: "reasoning-delta", id: "0", delta: "" },
    { type: "reasoning-end", id: "0", providerMetadata: given(2) },
    { type: "source", sourceType: "url", id: "s1", url: "https://example.com", title: "Example" },
    { type: "source", sourceType: "url", id: "s2", url: "https://example.com/2", providerMetadata: given(3) },
    { type: "source", sourceType: "document", id: "s3", mediaType: "text/plain", title: "Doc", filename: "doc.txt" },
    { type: "file", mediaType: "image/png", data: png },
    { type: "file", mediaType: "image/png", data: png, providerMetadata: given(4) },
    { type: "reasoning-file", mediaType: "image/png", data: png },
    { type: "custom", kind: "mock.end" },
    ...text("0", "Seen"),
    finish(),
  ]),
  plain("text with citations", [
    start("0"),
    delta("0", "As said"),
    { type: "text-end", id: "0", citations: [{ type: "source", sourceId: "s1" }] as never },
    finish(),
  ]),
  but(
    plain(
      "two tools, one throws, then a step with the same ids",
      [
        warned,
        meta,
        ...text("0", "Let me look"),
        ...asked("c1", "weather", '{"city":"Bern"}', { providerMetadata: given(1) }),
        ...asked("c2", "failing", "{}"),
        finish("tool-calls"),
      ],
      [
        warned,
        meta,
        { type: "reasoning-start", id: "0" },
        { type: "reasoning-end", id: "0" },
        ...text("0", "Cold"),
        finish(),
      ],
    ),
    ["parallel-order", "remapped-ids"],
  ),
  but(
    plain(
      "a generator, an output of nothing, an empty input",
      [...asked("c1", "counting", "{}"), ...asked("c2", "nothing", ""), finish("tool-calls")],
      [...text("1", "Done"), finish()],
    ),
    ["parallel-order"],
  ),
  plain(
    "invalid input, unknown tool, broken JSON",
    [
      ...asked("c1", "weather", '{"town":1}'),
      ...asked("c2", "nope", "{}"),
      ...asked("c3", "weather", '{"city":'),
      finish("tool-calls"),
    ],
    [...text("1", "Sorry"), finish()],
  ),
  plain(
    "dynamic tools, known and unknown; provider-executed, known, unknown and failing",
    [
      ...asked("c1", "described", '{"q":"x"}'),
      ...asked("p1", "weather", '{"city":"Bern"}', { providerExecuted: true }),
      {
        type: "tool-result",
        toolCallId: "p1",
        toolName: "weather",
        result: { degrees: 3 },
        providerMetadata: given(1),
      },
      ...asked("p2", "search", '{"q":"y"}', { providerExecuted: true, dynamic: true }),
      { type: "tool-result", toolCallId: "p2", toolName: "search", result: "hits", dynamic: true },
      ...asked("p3", "search", "{}", { providerExecuted: true, dynamic: true }),
      {
        type: "tool-result",
        toolCallId: "p3",
        toolName: "search",
        result: { code: "down" },
        isError: true,
        dynamic: true,
      },
      ...asked("p4", "search", "{}", { providerExecuted: true }),
      finish("tool-calls"),
    ],
    [...text("1", "Found"), finish()],
  ),
  plain("a call without streamed input", [meta, call("c1", "client", '{"a":1}'), finish("tool-calls")]),
  plain("a client tool", [...text("0", "Choose"), ...asked("c1", "client", '{"a":1}'), finish("tool-calls")]),
  plain("the provider asks for an approval", [
    ...asked("p1", "search", "{}", { providerExecuted: true, dynamic: true }),
    { type: "tool-approval-request", approvalId: "a1", toolCallId: "p1" },
    finish("tool-calls"),
  ]),
  but(
    plain("an approval for a call that nobody made", [
      start("0"),
      delta("0", "Hm"),
      { type: "tool-approval-request", approvalId: "a1", toolCallId: "p9" },
      end("0"),
      finish(),
    ]),
    ["broken-answer"],
  ),
  but(
    plain("an error part, then a finish", [
      meta,
      start("0"),
      delta("0", "Hel"),
      { type: "error", error: "down" },
      finish("error"),
    ]),
    ["broken-answer"],
  ),
  but(plain("an error part, and no more", [meta, start("0"), delta("0", "Hel"), { type: "error", error: "down" }]), [
    "broken-answer",
  ]),
  but(plain("an error before anything", [warned, { type: "error", error: "down" }, finish("error")]), [
    "broken-answer",
  ]),
  plain("length, in the middle of a call that came out whole", [
    ...text("0", "Long"),
    ...asked("c1", "weather", '{"city":"Bern"}'),
    finish("length"),
  ]),
  plain("content filter", [meta, start("0"), delta("0", "I "), end("0"), finish("content-filter")]),
  plain("other, with the provider's reason", [meta, ...text("0", "Paused"), finish("other", "pause_turn")]),
  but(plain("the stream breaks", [meta, start("0"), delta("0", "Hel")]), ["broken-answer"], {
    broken: new TypeError("terminated"),
  }),
  but(plain("the stream ends without a finish", [meta, start("0"), delta("0", "Hel"), end("0")]), ["broken-answer"]),
  but(
    plain("a package closes what was cut", [
      meta,
      start("0"),
      delta("0", "Hel"),
      ...input("c1", "weather", '{"city":"Be'),
      end("0"),
      call("c1", "weather", '{"city":"Be'),
      finish("interrupted"),
    ]),
    ["broken-answer"],
  ),
  but(
    plain("cut after a call that is whole", [
      meta,
      ...input("c1", "weather", '{"city":"Bern"}'),
      call("c1", "weather", '{"city":"Bern"}'),
      finish("interrupted"),
    ]),
    ["broken-answer"],
  ),
  but(plain("an empty stream", [warned]), ["broken-answer"]),
  plain("nothing but a finish", [warned, finish()]),
  but(
    plain("a delta and an end without a start", [meta, delta("7", "lost"), end("7"), ...text("0", "kept"), finish()]),
    ["orphan-error"],
  ),
];
