/** Performs effects. Each runs outside the agent's loop and comes back as a fact; a hook that hangs holds up nobody. */
import { findTool } from "../core/assembly.ts";
import { assert, unreachable } from "../core/assert.ts";
import { keyOf } from "../core/calls.ts";
import { errorText } from "../core/errors.ts";
import type { Effect, GateDecision, ToolResult } from "../core/events.ts";
import { idempotencyKey } from "../core/ids.ts";
import { canonical, type Json } from "../core/json.ts";
import type { Call, Turn } from "../core/state.ts";
import type { ToolRun } from "../ports/behaviour.ts";
import type { Services } from "../ports/services.ts";
import type { Agent } from "./agent.ts";
import { recoveryContext } from "./recovery-context.ts";
import { callFacts, runStep } from "./step-runner.ts";
import { prepareContext, Work } from "./work.ts";

export class Performer {
  readonly #services: Services;
  readonly #work = new WeakMap<Agent, Work>();
  /** Set when the process is about to end: no new model calls, no new tools. */
  draining = false;
  /** Tools that run now, over all agents. */
  readonly running = new Set<Promise<void>>();

  constructor(services: Services) {
    this.#services = services;
  }

  perform(agent: Agent, effect: Effect): void {
    if (effect.type === "abort") return this.#abort(agent, effect);
    const { turn } = agent.state;
    // decide may have run on: what this effect was for is over.
    if (!turn) return;
    // A call whose start is durable is run all the same: nobody could tell afterwards that it was not.
    if (this.draining && effect.type !== "map-error" && effect.type !== "execute") return;
    const work = this.#workOf(agent, turn);
    switch (effect.type) {
      case "run":
        return this.#detach(runStep(agent, work, this.#services, effect));
      case "equip":
        return this.#detach(this.#equip(agent, work, effect.effect));
      case "gate":
        return this.#detach(this.#gate(agent, turn, effect.ordinal));
      case "execute":
        return this.#track(this.#execute(agent, work, turn, effect.ordinal, effect.run));
      case "reconcile":
        return this.#detach(this.#reconcile(agent, work, turn, effect.ordinal, effect.run));
      case "consult":
        return this.#detach(this.#consult(agent, turn, effect.attempt));
      case "map-error":
        return this.#detach(this.#mapError(agent, turn, effect));
      default:
        return unreachable(effect);
    }
  }

  /** Forgets an instance that is over; what runs for it is told to stop. */
  release(agent: Agent, reason: string): void {
    this.#work.get(agent)?.abort("all", reason);
    this.#work.delete(agent);
  }

  #workOf(agent: Agent, turn: Turn): Work {
    const known = this.#work.get(agent);
    if (known?.turn === turn.id) return known;
    const work = new Work(turn.id);
    this.#work.set(agent, work);
    return work;
  }

  #abort(agent: Agent, effect: Extract<Effect, { type: "abort" }>): void {
    const work = this.#work.get(agent);
    if (work?.turn === effect.turn) work.abort(effect.what, effect.reason);
  }

  /** Work that reports its own failures. One that throws all the same is a fault of ours, and shows as such. */
  #detach(work: Promise<void>): void {
    void work;
  }

  #track(work: Promise<void>): void {
    this.running.add(work);
    void work.finally(() => this.running.delete(work));
  }

  async #equip(agent: Agent, work: Work, effect: string): Promise<void> {
    try {
      const history = await work.history(agent, this.#services.store);
      if (!agent.alive || agent.state.turn?.id !== work.turn) return;
      work.kit = await agent.behaviour.prepare(prepareContext(agent, work, history, { plan: "calls", prefill: true }));
    } catch (error) {
      return agent.report({ type: "hooks-failed", effect, error: errorText(error) });
    }
    agent.report({ type: "equipped", effect, facts: callFacts(agent, work.kit, this.#services) });
  }

  async #gate(agent: Agent, turn: Turn, ordinal: number): Promise<void> {
    const call = callOf(agent, turn, ordinal);
    if (!call) return;
    const { label: toolCallId, tool } = call;
    let decision: GateDecision;
    try {
      const input = inputOf(agent, call);
      const answer = await agent.behaviour.beforeTool({
        turn: turn.id,
        step: turn.step,
        ordinal,
        tool,
        toolCallId,
        input,
      });
      if (answer.action === "block") decision = { action: "block", reason: answer.reason ?? "" };
      else if (answer.action === "substitute" || answer.input === undefined) decision = { ...answer };
      else decision = { ...answer, digest: this.#services.ids.digest(canonical(answer.input)) };
    } catch (error) {
      decision = {
        action: "block",
        reason: `The check before this call failed, so it was not executed: ${errorText(error)}`,
      };
    }
    // A call that is not started when the process ends is the next owner's to check and to start.
    if (!this.draining) agent.report({ type: "gated", turn: turn.id, ordinal, decision });
  }

  async #execute(agent: Agent, work: Work, turn: Turn, ordinal: number, run: number): Promise<void> {
    const call = callOf(agent, turn, ordinal);
    // decide may have run on: a call that has its end already is not run.
    if (!call || !work.kit || !isStarted(agent, turn, ordinal, run)) return;
    if (agent.state.turn?.phase.kind !== "calling") return;
    const toolCallId = call.label;
    let result: ToolResult = { kind: "error", error: "The tool gave no result." };
    try {
      for await (const { final, output } of work.kit.execute(this.#toolRun(agent, work, turn, call, run))) {
        if (final) result = { kind: "output", output: output as Json };
        else if (isStarted(agent, turn, ordinal, run)) {
          agent.appendNewest(turn.id, { type: "tool-output-available", toolCallId, output, preliminary: true });
        }
      }
    } catch (error) {
      result = { kind: "error", error: errorText(error) };
    }
    if (isStarted(agent, turn, ordinal, run)) agent.report({ type: "tool-ended", turn: turn.id, ordinal, run, result });
    else this.#late(agent, turn, ordinal, result);
  }

  /** A result that came after its call had ended is evidence: it goes into the ledger, and an event says so (rule 11). */
  #late(agent: Agent, turn: Turn, ordinal: number, result: ToolResult): void {
    const row = agent.memory.ledger.get(`${turn.id}#${ordinal}`);
    if (!row || !agent.alive) return;
    agent.note({
      ledger: [{ ...row, late: result.kind === "output" ? { output: result.output } : { error: result.error } }],
    });
    const payload = { requestId: turn.id, ordinal, tool: row.tool };
    this.#services.telemetry.emit({ type: "tool:late", agent: agent.key, at: this.#services.clock.now(), payload });
  }

  async #reconcile(agent: Agent, work: Work, turn: Turn, ordinal: number, run: number): Promise<void> {
    const call = callOf(agent, turn, ordinal);
    if (!call || !work.kit) return;
    let result: ToolResult | "absent" | "unknown" = "unknown";
    try {
      const answer = await work.kit.reconcile(this.#toolRun(agent, work, turn, call, run));
      if (answer.outcome === "output") result = { kind: "output", output: answer.output as Json };
      else if (answer.outcome === "error") result = { kind: "error", error: answer.error };
      else result = answer.outcome;
    } catch {
      // A reconcile that fails knows nothing.
    }
    agent.report({ type: "reconciled", turn: turn.id, ordinal, run, result });
  }

  async #consult(agent: Agent, turn: Turn, attempt: number): Promise<void> {
    let proceed = true;
    try {
      const context = await recoveryContext(agent, turn, this.#services.store);
      if (context) proceed = (await agent.behaviour.recover(context)).continue !== false;
    } catch {
      // A hook that throws decides nothing: the default goes on.
    }
    agent.report({ type: "verdict", turn: turn.id, attempt, proceed });
  }

  async #mapError(agent: Agent, turn: Turn, effect: Extract<Effect, { type: "map-error" }>): Promise<void> {
    let { text } = effect;
    try {
      text = errorText(await agent.behaviour.mapError(new Error(text), { turn: turn.id, stage: "stream" }));
    } catch {
      // The text that there was is shown.
    }
    agent.report({ type: "error-mapped", effect: effect.effect, text });
  }

  #toolRun(agent: Agent, work: Work, turn: Turn, call: Call, run: number): ToolRun {
    const { ordinal, tool, label: toolCallId, repeats } = call;
    const first = repeats === null ? null : { ordinal: repeats, idempotencyKey: idempotencyKey(turn.id, repeats) };
    const { directory } = this.#services;
    return {
      turn: turn.id,
      ordinal,
      tool,
      toolCallId,
      input: inputOf(agent, call),
      idempotencyKey: keyOf(turn, call),
      run,
      repeats: first,
      signal: work.signal(String(ordinal)),
      stillOwner: async () => {
        // A store that was taken over answers nothing, and that is an answer.
        const head = await directory.head(agent.key).catch(() => null);
        return head?.epoch === agent.epoch && isStarted(agent, turn, ordinal, run);
      },
    };
  }
}

function callOf(agent: Agent, turn: Turn, ordinal: number): Call | undefined {
  const current = agent.state.turn;
  return current?.id === turn.id ? current.calls.find((call) => call.ordinal === ordinal) : undefined;
}

function isStarted(agent: Agent, turn: Turn, ordinal: number, run: number): boolean {
  const call = callOf(agent, turn, ordinal);
  return agent.alive && call?.phase.kind === "started" && call.runs === run;
}

/** A copy: what users' code does to it changes nothing of the message. */
function inputOf(agent: Agent, call: Call): unknown {
  const { log } = agent.memory;
  assert(log, "a turn in flight has a log");
  return structuredClone(findTool(log.assembly, call.label)?.part["input"]);
}
