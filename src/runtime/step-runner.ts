/**
 * Step runner: one model call. Asks the value hooks, sends the request, reads the answer into the log, says how it
 * ended. It never decides: its answers carry the effect id that ordered it, and are ignored once that has passed.
 */
import { textSoFar } from "../core/assembly.ts";
import { type Mode, modeOf } from "../core/continuation.ts";
import { errorText } from "../core/errors.ts";
import type { CallFacts, Effect } from "../core/events.ts";
import { canonical } from "../core/json.ts";
import { limits } from "../core/limits.ts";
import { type Chunk, isToolPart } from "../core/transcript.ts";
import { newTranslation, open, settleText, type Translation, translate } from "../core/translate.ts";
import type { ModelPart, ModelStream, PreparedStep } from "../ports/behaviour.ts";
import type { Services } from "../ports/services.ts";
import type { Agent } from "./agent.ts";
import { allowed, labelsOf, prepareContext, type Work } from "./work.ts";

type Run = Extract<Effect, { type: "run" }>;

export async function runStep(agent: Agent, work: Work, services: Services, run: Run): Promise<void> {
  const { effect, plan, prefill } = run;
  const current = (): boolean => agent.alive && isAwaited(agent, effect);
  const signal = work.signal("model");
  let kit: PreparedStep;
  let prelude: readonly Chunk[];
  try {
    const history = await work.history(agent, services.store);
    prelude = await work.prelude(agent, services.store);
    if (!current()) return;
    kit = await agent.behaviour.prepare(prepareContext(agent, work, history, { plan, prefill }));
  } catch (error) {
    return agent.report({ type: "hooks-failed", effect, error: errorText(error) });
  }
  if (!current() || signal.aborted) return;
  work.kit = kit;
  agent.memory.log?.beginRun();
  agent.report({ type: "requested", effect, origin: kit.origin, maxSteps: kit.maxSteps, prelude });
  const stream = await kit.call(signal);
  signal.addEventListener("abort", () => stream.cancel(String(signal.reason)));
  if (!current() || signal.aborted) return stream.cancel("no longer wanted");
  const mode = modeOf(plan, allowed(kit.profile, prefill));
  try {
    await new Reading(agent, work, services, effect, stream, kit, mode).run();
  } catch (error) {
    // A stream that rejects has broken its contract; for the turn it is one more answer that broke off.
    const fault = { kind: "cut", message: errorText(error) } as const;
    agent.report({ type: "step-failed", effect, fault, prefilled: false });
  }
}

function isAwaited(agent: Agent, effect: string): boolean {
  const phase = agent.state.turn?.phase;
  return phase?.kind === "running" && phase.effect === effect;
}

/** The reading of one answer. */
class Reading {
  readonly #agent: Agent;
  readonly #work: Work;
  readonly #services: Services;
  readonly #effect: string;
  readonly #stream: ModelStream;
  readonly #kit: PreparedStep;
  readonly #translation: Translation;
  #silence: (() => void) | null = null;

  constructor(
    agent: Agent,
    work: Work,
    services: Services,
    effect: string,
    stream: ModelStream,
    kit: PreparedStep,
    mode: Mode,
  ) {
    this.#agent = agent;
    this.#work = work;
    this.#services = services;
    this.#effect = effect;
    this.#stream = stream;
    this.#kit = kit;
    const log = agent.memory.log;
    // Counted in the message, not in the turn: ids are unique also where a turn goes on with a message that exists.
    const step = agent.state.turn?.rows ?? 0;
    const seen = log ? textSoFar(log.assembly) : "";
    this.#translation = newTranslation(step, log?.assembly ?? emptyAssembly(), labelsOf(agent), mode, seen);
  }

  async run(): Promise<void> {
    for (;;) {
      const part = await this.#stream.read();
      this.#silence?.();
      this.#silence = null;
      if (!this.#awaited()) return this.#stream.cancel("no longer wanted");
      if (this.#take(part)) return;
      await this.#agent.flowing();
    }
  }

  #awaited(): boolean {
    return this.#agent.alive && isAwaited(this.#agent, this.#effect);
  }

  /** True: the answer has ended. */
  #take(part: ModelPart): boolean {
    switch (part.kind) {
      case "chunk":
        this.#append(translate(this.#translation, part.chunk));
        this.#hold();
        return false;
      case "response":
        this.#append(open(this.#translation));
        return false;
      case "end": {
        this.#append([...open(this.#translation), ...settleText(this.#translation)]);
        this.#work.steps.push(part.summary);
        const facts = callFacts(this.#agent, this.#kit, this.#services);
        this.#agent.report({ type: "step-ended", effect: this.#effect, summary: part.summary, facts });
        return true;
      }
      case "fault":
        // What is held may be half a repeat: it was not shown, so it is as if it had not come.
        this.#translation.held = null;
        this.#agent.report({
          type: "step-failed",
          effect: this.#effect,
          fault: bounded(part),
          prefilled: this.#work.prefilled,
        });
        return true;
    }
  }

  #append(chunks: Parameters<Agent["append"]>[1]): void {
    this.#agent.append(this.#work.turn, chunks);
  }

  /** Text that may be a repeat is held for a while only. */
  #hold(): void {
    if (!this.#translation.held) return;
    this.#silence = this.#services.timers.after(limits.overlapSilenceMs, () => {
      this.#silence = null;
      if (this.#awaited()) this.#append(settleText(this.#translation));
    });
  }
}

function emptyAssembly(): Parameters<typeof newTranslation>[1] {
  return { parts: [], open: new Map(), labels: new Set(), opened: false };
}

function bounded(part: Extract<ModelPart, { kind: "fault" }>): Extract<ModelPart, { kind: "fault" }>["fault"] {
  return { ...part.fault, message: errorText(part.fault.message, limits.errorCharsMax) };
}

/** What is known of the tools that the step's whole calls name. */
export function callFacts(agent: Agent, kit: PreparedStep, services: Services): CallFacts[] {
  const facts: CallFacts[] = [];
  for (const seen of agent.memory.log?.evidence().calls ?? []) {
    if (seen.state !== "complete") continue;
    const live = agent.memory.log?.assembly.parts.findLast(
      ({ part }) => isToolPart(part) && part["toolCallId"] === seen.label,
    );
    const tool = kit.tool(seen.tool);
    facts.push({
      label: seen.label,
      executable: tool?.executable ?? false,
      policy: tool?.policy ?? "report",
      timeoutMs: tool?.timeoutMs ?? limits.toolMs,
      digest: services.ids.digest(canonical(live?.part["input"])),
    });
  }
  return facts;
}
