// The table of SPEC R3, row by row and end to end: chunks of an answer that is cut, the fold, the decision, what is
// shown, what is stored, and what the next request holds.
import { describe, expect, test } from "vitest";
import { findTool, storedParts } from "../../src/core/assembly.ts";
import { modeOf } from "../../src/core/continuation.ts";
import { buildRequest } from "../../src/core/request.ts";
import { askForRest, callCut, callUnknown } from "../../src/core/texts.ts";
import type { Chunk, StoredPart } from "../../src/core/transcript.ts";
import { Bench, type Config } from "../explore/bench.ts";
import { obey } from "../explore/laws.ts";
import { endRun, endTool, equip, failRun, output, owed, reconcile, says, speak, submit } from "../explore/model.ts";

const cut = { kind: "cut", message: "reset" } as const;

function interrupted(config: Partial<Config>, said: readonly Chunk[]): Bench {
  const bench = new Bench(config);
  bench.watch = obey;
  submit(bench, "t1");
  const run = owed(bench, "run")!;
  speak(bench, run, said);
  failRun(bench, run, cut);
  return bench;
}

/** What is ordered now, in one word. */
function ordered(bench: Bench): string {
  return bench.owed.map((effect) => (effect.type === "run" ? effect.plan : effect.type)).join(", ");
}

/** The chunks that the decision itself wrote, after those of the model. */
function closedWith(bench: Bench, said: number): string[] {
  return (bench.disk.logs.get("t1") ?? []).slice(said).map(({ type }) => type);
}

function tail(bench: Bench): StoredPart[] {
  return storedParts(bench.log.assembly, bench.turn.cuts.length, bench.turn.origins);
}

/** What the model is sent of the step, and the words that ask for the rest. */
function sent(bench: Bench, origin = "mock:m"): unknown[] {
  const run = owed(bench, "run");
  if (!run) return [];
  const { prefill } = bench.config;
  const mode = modeOf(run.plan, { prefill });
  const user = { id: "u", role: "user" as const, parts: [{ part: { type: "text", text: "Hi" } }] };
  const current = { id: "m", role: "assistant" as const, parts: bench.log.closed };
  const messages = buildRequest({ history: [user], current, tail: tail(bench), mode, origin, prefill });
  return messages.slice(1).flatMap(({ parts }) => parts.map((part) => part["text"] ?? part.type));
}

interface Row {
  readonly name: string;
  readonly said: readonly Chunk[];
  readonly config?: Partial<Config>;
  readonly ordered: string;
  /** Types of the chunks that close what is open. */
  readonly closes: readonly string[];
  readonly sent: readonly unknown[];
}

const blank: Chunk[] = says.text("  \n");

const rows: readonly Row[] = [
  { name: "[R3] nothing: the step runs again", said: [], ordered: "rerun", closes: [], sent: [] },
  {
    name: "[R3] an opened step without content: the step runs again",
    said: [{ type: "text-start", id: "t" }],
    ordered: "rerun",
    closes: [],
    sent: [],
  },
  {
    name: "[R3] cut reasoning: closed, left out, the step runs again",
    said: says.thought(),
    ordered: "rerun",
    closes: ["reasoning-end"],
    sent: [],
  },
  {
    name: "[R3] whole reasoning: left out, the step runs again",
    said: [...says.thought(), ...says.thoughtEnd()],
    ordered: "rerun",
    closes: [],
    sent: [],
  },
  {
    name: "[R3] sources and provider-executed calls: left out, the step runs again",
    said: [...says.source(), ...says.remote()],
    ordered: "rerun",
    closes: [],
    sent: [],
  },
  {
    name: "[R3] blank text: closed, the step runs again",
    said: blank,
    ordered: "rerun",
    closes: ["text-end"],
    sent: [],
  },
  {
    name: "[R3][P1] open text: it stays open, and a user message asks for the rest",
    said: says.text(),
    ordered: "continue",
    closes: [],
    sent: ["step-start", "Hello there", askForRest],
  },
  {
    name: "[R3][P1] open text: it stays open, and the answer is prefilled",
    said: says.text("Hello there "),
    config: { prefill: true },
    ordered: "continue",
    closes: [],
    sent: ["step-start", "Hello there"],
  },
  {
    name: "[R3] ended text, no end of the call seen: the answer goes on",
    said: [...says.text(), ...says.textEnd()],
    ordered: "continue",
    closes: [],
    sent: ["step-start", "Hello there", askForRest],
  },
  {
    name: "[R3][P6] cut reasoning before text is not sent",
    said: [...says.thought(), ...says.text()],
    ordered: "continue",
    closes: ["reasoning-end"],
    sent: ["step-start", "Hello there", askForRest],
  },
  {
    name: "[R3] whole reasoning is sent with its text",
    said: [...says.thought(), ...says.thoughtEnd(), ...says.text()],
    ordered: "continue",
    closes: [],
    sent: ["step-start", "Hm", "Hello there", askForRest],
  },
  {
    name: "[R3] a source after the text ends it: the rest is a part of its own",
    said: [...says.text(), ...says.source()],
    ordered: "continue",
    closes: ["text-end"],
    sent: ["step-start", "Hello there", askForRest],
  },
  {
    name: "[R3][C5] a cut call: its tools are looked for",
    said: [...says.text(), ...says.half()],
    ordered: "equip",
    closes: [],
    sent: [],
  },
  {
    name: "[R3] a whole call: its tools are looked for",
    said: [...says.text(), ...says.call()],
    ordered: "equip",
    closes: [],
    sent: [],
  },
];

describe("a step that is cut", () => {
  test.each(rows)("$name", ({ said, config = {}, ordered: expected, closes, sent: request }) => {
    const bench = interrupted(config, said);
    const before = bench.turn.cuts[0] ?? 0;
    expect(ordered(bench)).toBe(expected);
    expect(closedWith(bench, before)).toEqual(closes);
    expect(sent(bench)).toEqual(request);
    expect(bench.turn).toMatchObject({ id: "t1", step: 0, attempt: 2, messageId: "msg_t1" });
  });

  test("[P2][P6] reasoning goes to its origin only", () => {
    const bench = interrupted({}, [...says.thought(), ...says.thoughtEnd(), ...says.text()]);
    expect(sent(bench, "other:m")).toEqual(["step-start", "Hello there", askForRest]);
  });

  test("[A3] what was cut is marked around the part, what clients see is not", () => {
    const bench = interrupted({}, [...says.thought(), ...says.text()]);
    expect(tail(bench).map(({ part, ...marks }) => [part["state"], marks])).toEqual([
      [undefined, { origin: "mock:m", torn: true }],
      ["done", { origin: "mock:m", torn: true, cut: true }],
      ["streaming", { origin: "mock:m", torn: true, cut: true }],
    ]);
  });
});

/** A call at each of its moments, when the process dies; what the next one makes of it. */
function dead(tool: string, ended: boolean, result?: string): Bench {
  const bench = new Bench();
  bench.watch = obey;
  submit(bench, "t1");
  const run = owed(bench, "run")!;
  speak(bench, run, [...says.text(), ...says.call(tool)]);
  if (ended) endRun(bench, run, "tool-calls");
  if (result !== undefined) endTool(bench, owed(bench, "execute")!, output(result));
  bench.die();
  return bench;
}

const states = (bench: Bench): string[] => [...bench.disk.ledger.values()].map(({ state, runs }) => `${state} ${runs}`);
const shown = (bench: Bench): unknown[] =>
  (bench.disk.logs.get("t1") ?? []).flatMap((chunk) =>
    chunk.type.startsWith("tool-output") ? [chunk["output"] ?? chunk["errorText"]] : [],
  );

describe("a call whose process dies", () => {
  test("[R3][C4] whole, not started: it is started now", () => {
    const bench = dead("pay", false);
    equip(bench, owed(bench, "equip")!);
    expect([ordered(bench), states(bench)]).toEqual(["execute", ["started 1"]]);
  });

  test("[C6] started, `report`: its outcome is unknown, and the next step runs", () => {
    const bench = dead("pay", true);
    equip(bench, owed(bench, "equip")!);
    expect([ordered(bench), states(bench), shown(bench)]).toEqual(["rerun", ["unknown 1"], [callUnknown]]);
    expect(bench.turn.step).toBe(1);
  });

  test("[C6][C4] started, `retry`: it runs again under its key", () => {
    const bench = dead("get", true);
    equip(bench, owed(bench, "equip")!);
    expect([ordered(bench), states(bench)]).toEqual(["execute", ["started 2"]]);
    expect(bench.disk.ledger.get("t1#0")).toMatchObject({ key: "t1-0", ordinal: 0 });
  });

  test.each([
    ["found", output("done before"), "rerun", ["settled 1"], ["done before"]],
    ["absent", "absent", "execute", ["started 2"], []],
    ["unknown", "unknown", "rerun", ["unknown 1"], [callUnknown]],
  ] as const)("[C6] started, `reconcile`: it is asked about: %s", (_, answer, next, ledger, outputs) => {
    const bench = dead("ship", true);
    equip(bench, owed(bench, "equip")!);
    expect(ordered(bench)).toBe("reconcile");
    reconcile(bench, owed(bench, "reconcile")!, answer);
    expect([ordered(bench), states(bench), shown(bench)]).toEqual([next, ledger, outputs]);
  });

  test("[C7] with its result: the result is used", () => {
    const bench = dead("pay", true, "paid");
    // The last result has closed the step: the next one is what was running.
    expect([ordered(bench), bench.turn.step, shown(bench)]).toEqual(["rerun", 1, ["paid"]]);
  });

  test("[C5][C4] some whole, some cut: each by its own row, ordinals in their order", () => {
    const bench = interrupted({}, [...says.call("pay", "a"), ...says.half("pay", "b")]);
    equip(bench, owed(bench, "equip")!);
    expect(states(bench)).toEqual(["started 1", "settled 0"]);
    const error = { state: "output-error", errorText: callCut, input: {} };
    expect(findTool(bench.log.assembly, "b")?.part).toMatchObject(error);
    endTool(bench, owed(bench, "execute")!, output("paid"));
    expect([ordered(bench), bench.turn.step]).toEqual(["rerun", 1]);
  });

  test("[C6] the stricter of the stored and the current policy wins", () => {
    const policies = ["report", "reconcile", "retry"] as const;
    const expected = { report: "rerun", reconcile: "reconcile", retry: "execute" };
    for (const [at, stored] of policies.entries()) {
      for (const [now, current] of policies.entries()) {
        const bench = new Bench({ tools: { pay: { policy: stored, executable: true } } });
        submit(bench, "t1");
        speak(bench, owed(bench, "run")!, says.call());
        endRun(bench, owed(bench, "run")!, "tool-calls");
        Object.assign(bench, { config: { ...bench.config, tools: { pay: { policy: current, executable: true } } } });
        bench.die();
        equip(bench, owed(bench, "equip")!);
        expect(ordered(bench), `${stored}, ${current}`).toBe(expected[policies[Math.min(at, now)]!]);
      }
    }
  });
});
