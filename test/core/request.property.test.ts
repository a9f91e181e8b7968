import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Mode } from "../../src/core/continuation.ts";
import { buildRequest, type RequestInput } from "../../src/core/request.ts";
import { type Part, type StoredMessage, type StoredPart, storedMessage } from "../../src/core/transcript.ts";
import { freeze } from "../explore/laws.ts";
import { refusals } from "./provider-rules.ts";

const origins = ["a:m", "b:m"] as const;

const words = fc.constantFrom("Hello", "Hello ", "", "  \n", "half \ud83d", "\u0000");
const opaque = fc.option(fc.record({ mock: fc.oneof(fc.constant({ itemId: "i" }), fc.constant({ signature: "s" })) }), {
  nil: undefined,
});

function marked(field: string, value: unknown): object {
  return value === undefined ? {} : { [field]: value };
}

const text = fc.record({ words, opaque }).map(
  ({ words: said, opaque: mark }): Part => ({
    type: "text",
    text: said,
    state: "done",
    ...marked("providerMetadata", mark),
  }),
);
const reasoning = fc
  .record({ words, opaque })
  .map(
    ({ words: said, opaque: mark }): Part => ({ type: "reasoning", text: said, ...marked("providerMetadata", mark) }),
  );
const others = fc.constantFrom<Part>(
  { type: "source-url", sourceId: "s", url: "https://a.example" },
  { type: "data-note", data: 1 },
  { type: "file", mediaType: "image/png", url: "data:image/png;base64,AA==" },
  { type: "reasoning-file", mediaType: "image/png", url: "data:image/png;base64,AA==" },
  { type: "custom", kind: "mock.begin" },
  { type: "step-start" },
);

const states = fc.constantFrom<Part>(
  { type: "", state: "input-streaming", rawInput: '{"a":' },
  { type: "", state: "input-available", input: { a: 1 } },
  { type: "", state: "input-available", input: '{"a":1}' },
  { type: "", state: "output-available", input: { a: 1 }, output: 1 },
  { type: "", state: "output-available", input: {}, output: 1, preliminary: true },
  { type: "", state: "output-error", input: undefined, rawInput: "{", errorText: "bad" },
  { type: "", state: "output-error", input: [], errorText: "bad" },
  { type: "", state: "approval-requested", input: {}, approval: { id: "p" } },
);
const call = fc.record({ states, remote: fc.boolean(), dynamic: fc.boolean(), opaque }).map(
  ({ states: state, remote, dynamic, opaque: mark }): Part => ({
    ...state,
    ...(dynamic ? { type: "dynamic-tool", toolName: "pay" } : { type: "tool-pay" }),
    ...(remote ? { providerExecuted: true } : {}),
    ...marked("callProviderMetadata", mark),
  }),
);

/** Whatever was stored, in any order, of anybody, torn and cut. Labels are unique in the message (T7). */
const storedPart = fc
  .record({
    part: fc.oneof(text, reasoning, others, call),
    origin: fc.constantFrom(undefined, ...origins),
    torn: fc.boolean(),
    cut: fc.boolean(),
  })
  .map(
    ({ part, origin, torn, cut }): StoredPart => ({
      part,
      ...(origin === undefined ? {} : { origin }),
      ...(torn ? { torn: true } : {}),
      ...(torn && cut ? { cut: true } : {}),
    }),
  );

function labelled(parts: readonly StoredPart[], from: number): StoredPart[] {
  return parts.map((stored, at) =>
    "state" in stored.part && stored.part.type !== "text"
      ? { ...stored, part: { ...stored.part, toolCallId: `c${from + at}` } }
      : stored,
  );
}

const assistant = fc
  .array(storedPart, { maxLength: 6 })
  .map((parts): StoredMessage => ({ id: "m", role: "assistant", parts: labelled(parts, 0) }));
const user = fc
  .array(fc.oneof(text, fc.constant<Part>({ type: "file", mediaType: "text/plain", url: "data:,a" })), { maxLength: 2 })
  .map((parts): StoredMessage => ({ id: "u", role: "user", parts: parts.map((part) => ({ part })) }));
const asked: StoredMessage = { id: "u0", role: "user", parts: [{ part: { type: "text", text: "Hi" } }] };

const inputs: fc.Arbitrary<RequestInput> = fc.record({
  history: fc.array(fc.oneof(user, assistant), { maxLength: 3 }).map((messages) => [asked, ...messages]),
  current: fc.option(assistant, { nil: null }),
  tail: fc.array(storedPart, { maxLength: 4 }).map((parts) => labelled(parts, 100)),
  mode: fc.constantFrom<Mode>("fresh", "ask", "prefill"),
  origin: fc.constantFrom(...origins),
  prefill: fc.boolean(),
});

/** A prefill is only asked for where the profile allows it, and only text is gone on with. */
function isPossible({ mode, prefill, tail, current }: RequestInput): boolean {
  if (mode === "fresh") return true;
  const said = tail.some(({ part }) => part.type === "text" && String(part["text"]).trim() !== "");
  const calls = tail.some(({ part }) => "toolCallId" in part && part["providerExecuted"] !== true);
  return current !== null && said && !calls && (mode === "prefill") === prefill;
}

const possible = inputs.filter(isPossible);
const runs = { numRuns: 400 };

describe("a request from anything that can be stored", () => {
  test("[P3][P4][P5][P9] is not refused", async () => {
    await fc.assert(
      fc.asyncProperty(possible, async (input) => {
        expect(await refusals(buildRequest(input), input.prefill)).toEqual([]);
      }),
      runs,
    );
  });

  test("[P2][P6][P7] holds nothing opaque of another origin, nothing that was cut, and no item that never finished", () => {
    fc.assert(
      fc.property(possible, (input) => {
        const alien = input.origin === origins[0] ? origins[1] : origins[0];
        const mark = (stored: StoredPart): StoredPart => ({ ...stored, part: traced(stored, alien) });
        const marks = (message: StoredMessage): StoredMessage => ({ ...message, parts: message.parts.map(mark) });
        const { history, current, tail } = input;
        const told = {
          ...input,
          history: history.map(marks),
          current: current && marks(current),
          tail: tail.map(mark),
        };
        expect(JSON.stringify(buildRequest(told))).not.toMatch(/FORBIDDEN/);
      }),
      runs,
    );
  });

  test("[P8] changes nothing that is stored, and twice gives the same", () => {
    fc.assert(
      fc.property(possible, (input) => {
        freeze(input);
        expect(buildRequest(input)).toEqual(buildRequest(input));
      }),
      runs,
    );
  });

  test("[P8] built from what was built is what was built", () => {
    fc.assert(
      fc.property(possible, (input) => {
        const built = buildRequest(input);
        const history = built.map(storedMessage);
        expect(buildRequest({ ...input, history, current: null, tail: [], mode: "fresh" })).toEqual(built);
      }),
      runs,
    );
  });
});

/** The part, with a word in every field that must not leave the house. */
function traced({ part, origin, torn, cut }: StoredPart, alien: string): Part {
  const remote = part["providerExecuted"] === true;
  const foreign = origin === alien;
  const fields: Record<string, unknown> = { ...part };
  const no = { mock: { itemId: "FORBIDDEN" } };
  for (const field of ["providerMetadata", "callProviderMetadata"]) {
    if (part[field] !== undefined && (foreign || torn)) fields[field] = no;
  }
  if (part.type === "reasoning" && (foreign || cut)) fields["text"] = "FORBIDDEN";
  if (remote && (foreign || cut) && part["output"] !== undefined) fields["output"] = "FORBIDDEN";
  return fields as Part;
}
