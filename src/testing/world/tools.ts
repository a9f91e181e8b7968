/** Scripted tools: each does one thing to the world, which counts it. They wait, fail, hang and come late as told. */
import type { Reconciled, ToolRun } from "../../ports/behaviour.ts";
import type { ToolPlan } from "./scenario.ts";
import type { Scene } from "./scene.ts";
import type { Owner } from "./schedule.ts";

export class ScriptedTools {
  readonly #scene: Scene;
  readonly #owner: Owner;
  readonly #agent: string;

  constructor(scene: Scene, owner: Owner, agent: string) {
    this.#scene = scene;
    this.#owner = owner;
    this.#agent = agent;
  }

  async *execute(plan: ToolPlan, call: ToolRun): AsyncIterable<{ readonly final: boolean; readonly output: unknown }> {
    const { schedule, faults } = this.#scene;
    const name = `tool ${call.tool} ${call.turn}#${call.ordinal}`;
    this.#ordered(call, name);
    const n = faults.count("tool");
    const fault = faults.find("tool", ({ run }) => run === n)?.manner;
    if (fault) faults.strike(`tool ${fault}`);
    await schedule.pause(this.#owner, `${name} begins`, plan.workMs);
    if (fault === "throws-before") throw new Error("the tool failed, and did nothing");
    if (fault === "hangs-before") await schedule.hang();
    for (let part = 0; part < plan.preliminary; part++) {
      yield { final: false, output: { part } };
      await schedule.pause(this.#owner, `${name} goes on`);
    }
    if (plan.policy === "reconcile" && !(await call.stillOwner()))
      throw new Error("this process is not the owner any more");
    this.#perform(plan, call);
    await schedule.pause(this.#owner, `${name} has done it`);
    if (fault === "throws-after") throw new Error("the tool failed, and had done it");
    if (fault === "hangs-after") await schedule.hang();
    if (fault === "late") await schedule.pause(this.#owner, `${name} is late`, plan.timeoutMs + 2_000);
    yield { final: true, output: outputOf(call) };
  }

  /** The world is asked. It tells the truth, unless it does not know. */
  async reconcile(call: ToolRun): Promise<Reconciled> {
    const { schedule, effects } = this.#scene;
    await schedule.pause(this.#owner, `reconcile ${call.turn}#${call.ordinal}`);
    if (effects.done(call.idempotencyKey)) return { outcome: "output", output: outputOf(call) };
    return this.#scene.dice("reconcile")() < 0.8 ? { outcome: "absent" } : { outcome: "unknown" };
  }

  #perform(plan: ToolPlan, call: ToolRun): void {
    const { tool, turn, ordinal, idempotencyKey: key, run } = call;
    const wanted = String((call.input as { want?: unknown })?.want ?? "");
    // Two owners at once can both be in front of the effect of a `reconcile` tool: only a key closes that.
    const once = plan.policy === "report" || (plan.policy === "reconcile" && !this.#scene.zombies);
    this.#scene.effects.perform({ tool, turn, ordinal, key, run, wanted }, once);
  }

  /** What runs was ordered by a commit that has landed (R1), and is not settled (C7). */
  #ordered(call: ToolRun, name: string): void {
    const row = this.#scene.mirror.turn(this.#agent, call.turn)?.ledger.get(call.ordinal);
    if (!row || row.runs < call.run) return this.#scene.fail("R1", `${name} runs before its start is durable`);
    if (row.key !== call.idempotencyKey) this.#scene.fail("C6", `${name} runs under another key than its ledger has`);
    if (this.#scene.cover.refusals.has(`${call.turn}#${call.ordinal}`))
      this.#scene.fail("C9", `${name} runs, and its check did not let it`);
    this.#linked(call, name);
    const repeats = call.repeats?.idempotencyKey;
    if (repeats !== undefined && row.policy === "retry" && repeats !== call.idempotencyKey)
      this.#scene.fail("C8", `${name} repeats ${repeats} under another key`);
    if (repeats !== undefined) this.#scene.cover.mark("a repeat of an unknown call");
    if (this.#owner.dead) this.#scene.fail("S1", `${name} runs in a dead process`);
    if (row.state !== "started" && !this.#scene.zombies) this.#scene.fail("C7", `${name} runs, and is ${row.state}`);
  }

  /** The same call again, after one whose outcome nobody knows, is known for what it is (C8). */
  #linked(call: ToolRun, name: string): void {
    const turn = this.#scene.mirror.turn(this.#agent, call.turn);
    if (!turn || this.#scene.scenario.asks.beforeTool || call.repeats !== null) return;
    const want = (call.input as { want?: unknown })?.want;
    for (const row of turn.ledger.values()) {
      if (row.state !== "unknown" || row.ordinal >= call.ordinal || row.tool !== call.tool) continue;
      const input = turn.chunks.findLast(
        (chunk) => chunk.type === "tool-input-available" && chunk["toolCallId"] === row.label,
      )?.["input"];
      if ((input as { want?: unknown } | undefined)?.want === want)
        this.#scene.fail("C8", `${name} repeats call ${row.ordinal}, and is not told`);
    }
  }
}

export function outputOf(call: Pick<ToolRun, "input" | "tool">): unknown {
  return { did: String((call.input as { want?: unknown })?.want ?? ""), tool: call.tool };
}
