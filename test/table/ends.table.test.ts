// How the end of a model call is taken (R5), and what a continuation comes to that is cut again (R4, P10).
import { describe, expect, test } from "vitest";
import { textOf } from "../../src/core/transcript.ts";
import { Bench, type Config } from "../explore/bench.ts";
import { obey } from "../explore/laws.ts";
import { endRun, endTool, failRun, output, owed, says, speak, submit } from "../explore/model.ts";

const cut = { kind: "cut", message: "reset" } as const;
const refused = { kind: "refused", message: "no prefill here" } as const;

function begun(config: Partial<Config> = {}): Bench {
  const bench = new Bench(config);
  bench.watch = obey;
  submit(bench, "t1");
  return bench;
}

const run = (bench: Bench): NonNullable<ReturnType<typeof owed<"run">>> => owed(bench, "run")!;
const text = (bench: Bench): string => {
  const rows = bench.disk.parts.get("msg_t1") ?? [];
  return textOf({ parts: rows.flatMap(({ parts }) => parts.map(({ part }) => part)) });
};

type Reason = "stop" | "length" | "content-filter" | "other" | "tool-calls";
type Said = "text" | "call" | "half a call" | "nothing";

const words: Record<Said, Parameters<typeof speak>[2]> = {
  text: says.text(),
  call: says.call(),
  "half a call": says.half(),
  nothing: [],
};

/** `ends`: completed with that reason. Else what is ordered next. */
const table: Record<Reason, Record<Said, string>> = {
  stop: { text: "ends", call: "execute", "half a call": "run", nothing: "ends" },
  length: { text: "ends", call: "execute", "half a call": "run", nothing: "ends" },
  other: { text: "ends", call: "execute", "half a call": "run", nothing: "ends" },
  "tool-calls": { text: "ends", call: "execute", "half a call": "run", nothing: "ends" },
  "content-filter": { text: "ends", call: "ends", "half a call": "ends", nothing: "ends" },
};

describe("the end of a model call", () => {
  const rows = (Object.keys(table) as Reason[]).flatMap((reason) =>
    (Object.keys(words) as Said[]).map((said) => ({ reason, said })),
  );

  test.each(rows)("[R5][C5] $reason after $said", ({ reason, said }) => {
    const bench = begun();
    speak(bench, run(bench), words[said]);
    endRun(bench, run(bench), reason);
    const expected = table[reason][said];
    if (expected !== "ends") return expect(bench.owed.map(({ type }) => type)).toEqual([expected]);
    expect(bench.state.last).toEqual({ turn: "t1", outcome: "completed" });
    expect(bench.disk.turns.get("t1")).toMatchObject({ finishReason: reason });
    expect(bench.disk.logs.get("t1")?.at(-1)).toEqual({ type: "finish", finishReason: reason });
    expect(bench.disk.ledger.size).toBe(0);
  });

  test("[T5] tools start only after the model call has ended, the next step when all have settled", () => {
    const bench = begun();
    speak(bench, run(bench), [...says.call("pay", "a"), ...says.call("get", "b")]);
    expect(bench.owed.map(({ type }) => type)).toEqual(["run"]);
    endRun(bench, run(bench), "tool-calls");
    expect(bench.owed.map(({ type }) => type)).toEqual(["execute", "execute"]);
    endTool(bench, owed(bench, "execute")!, output("second"));
    expect(bench.turn).toMatchObject({ step: 0, phase: { kind: "calling" } });
    endTool(bench, owed(bench, "execute")!, output("first"));
    expect(bench.turn).toMatchObject({ step: 1, phase: { kind: "running" } });
  });

  test("[T5] a turn has at most `maxSteps` steps", () => {
    const bench = begun({ maxSteps: 3 });
    for (let step = 0; step < 3; step++) {
      speak(bench, run(bench), says.call("view", `c${step}`));
      endRun(bench, run(bench), "tool-calls");
    }
    expect(bench.state.last).toEqual({ turn: "t1", outcome: "completed" });
    expect(bench.disk.turns.get("t1")).toMatchObject({ finishReason: "tool-calls" });
  });
});

describe("a continuation", () => {
  test("[R4][T2] that is cut again goes on from all text: one message, one part, one stream", () => {
    const bench = begun({ prefill: true });
    const pieces = ["One ", "two ", "three ", "four"];
    for (const piece of pieces) {
      expect(run(bench).plan).toBe(piece === "One " ? "rerun" : "continue");
      speak(bench, run(bench), says.text(piece));
      if (piece === "four") endRun(bench, run(bench));
      else failRun(bench, run(bench), cut);
    }
    expect(text(bench)).toBe("One two three four");
    expect([...bench.disk.parts.keys()]).toEqual(["msg_t1"]);
    expect(bench.disk.logs.get("t1")?.filter(({ type }) => type === "text-start").length).toBe(1);
  });

  test("[R4] also when processes die between", () => {
    const bench = begun({ prefill: true });
    for (const piece of ["One ", "two ", "three "]) {
      speak(bench, run(bench), says.text(piece));
      bench.die();
    }
    endRun(bench, run(bench));
    expect(text(bench)).toBe("One two three ");
  });

  test("[R3] that says nothing is a normal end", () => {
    const bench = begun();
    speak(bench, run(bench), says.text());
    failRun(bench, run(bench), cut);
    endRun(bench, run(bench));
    expect(bench.state.last).toEqual({ turn: "t1", outcome: "completed" });
    expect(text(bench)).toBe("Hello there");
  });

  test("[P10] whose prefill is refused is asked for once more, by a user message", () => {
    const bench = begun({ prefill: true });
    speak(bench, run(bench), says.text());
    failRun(bench, run(bench), cut);
    expect(run(bench)).toMatchObject({ plan: "continue", prefill: true });
    failRun(bench, run(bench), refused);
    expect(run(bench)).toMatchObject({ plan: "continue", prefill: false });
    failRun(bench, run(bench), refused);
    expect(bench.state.last).toEqual({ turn: "t1", outcome: "failed", reason: "provider_refused" });
  });

  test("[P10] a refusal of anything else is final", () => {
    const bench = begun({ prefill: true });
    failRun(bench, run(bench), refused);
    expect(bench.state.last).toEqual({ turn: "t1", outcome: "failed", reason: "provider_refused" });
  });

  test.each([false, true])(
    "[A3][H8] what was said before a refusal is of an answer that never finished (hook: %s)",
    (error) => {
      const bench = begun({ asks: { recovery: false, beforeTool: false, error } });
      speak(bench, run(bench), says.text());
      failRun(bench, run(bench), refused);
      if (error) bench.take({ type: "error-mapped", effect: owed(bench, "map-error")!.effect, text: "Sorry." });
      expect(bench.disk.turns.get("t1")).toMatchObject({
        outcome: "failed",
        error: error ? "Sorry." : refused.message,
      });
      const [row] = bench.disk.parts.get("msg_t1") ?? [];
      expect(row?.parts.every(({ torn }) => torn)).toBe(true);
    },
  );
});
