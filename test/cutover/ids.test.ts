// Derivations are protocols: what is stored under an id today must be found under it by every later version.
import { describe, expect, test } from "vitest";
import * as ids from "../../src/core/ids.ts";
import { canonical } from "../../src/core/json.ts";
import { Bench } from "../explore/bench.ts";
import { endRun, owed, says, speak, submit } from "../explore/model.ts";
import frozen from "./ids.json" with { type: "json" };

const derivations: { readonly [name: string]: (...args: never[]) => unknown } = {
  agentKey: ids.agentKey,
  splitKey: ids.splitKey,
  messageIdOf: ids.messageIdOf,
  attemptId: ids.attemptId,
  idempotencyKey: ids.idempotencyKey,
  incidentId: ids.incidentId,
  canonical,
};

describe("ids", () => {
  test.each(Object.keys(derivations))("[E1] %s is what it was", (name) => {
    const rows = frozen[name as "agentKey"] as { of: unknown[]; is: unknown }[];
    expect(rows.length).toBeGreaterThan(0);
    for (const { of, is } of rows) expect(derivations[name]?.(...(of as never[]))).toEqual(is);
  });

  test("[E1] every derivation has a fixture", () => {
    const derived = Object.entries(ids).flatMap(([name, value]) => (typeof value === "function" ? [name] : []));
    expect(derived.filter((name) => !(name in derivations))).toEqual(["idFault"]);
  });

  test("[E1][C4] the key of a call, and its row, are what they were", () => {
    const bench = new Bench();
    submit(bench, "t1");
    speak(bench, owed(bench, "run")!, says.call());
    endRun(bench, owed(bench, "run")!, "tool-calls");
    expect(bench.disk.ledger.get("t1#0")).toEqual(frozen.ledger);
  });
});
