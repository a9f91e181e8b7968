/** A scripted behaviour: the class of an agent in a world. Every answer of it passes through the world's queue. */
import { limits } from "../../core/limits.ts";
import type { RecoveryPolicy } from "../../core/policy.ts";
import type {
  Behaviour,
  ModelStream,
  NoticeContext,
  PrepareContext,
  PreparedStep,
  RecoveryContext,
  ToolContext,
  ToolDecision,
} from "../../ports/behaviour.ts";
import type { HookManner, HookName } from "./faults.ts";
import { checkHistory } from "./history.ts";
import { ScriptedStream } from "./model.ts";
import type { ModelPlan } from "./scenario.ts";
import type { Scene } from "./scene.ts";
import type { Owner } from "./schedule.ts";
import { type Cue, cueOf } from "./script.ts";
import { checkRequest } from "./strict.ts";
import { ScriptedTools } from "./tools.ts";

/** Longer than any deadline of a hook. */
const lateMs = limits.prepareMs + 1_000;

export class ScriptedBehaviour implements Behaviour {
  readonly asks: Behaviour["asks"];
  readonly #scene: Scene;
  readonly #owner: Owner;
  readonly #agent: string;
  readonly #model: ModelPlan;
  readonly #tools: ScriptedTools;

  constructor(scene: Scene, owner: Owner, agent: string, model: ModelPlan) {
    this.#scene = scene;
    this.#owner = owner;
    this.#agent = agent;
    this.#model = model;
    this.#tools = new ScriptedTools(scene, owner, agent);
    this.asks = { ...scene.scenario.asks, notices: new Set(scene.scenario.asks.notices) };
  }

  policy(): RecoveryPolicy {
    return this.#scene.scenario.policy;
  }

  async start(): Promise<void> {
    await this.#hook("start");
  }

  async prepare(context: PrepareContext): Promise<PreparedStep> {
    const { mirror } = this.#scene;
    const row = mirror.turn(this.#agent, context.turn.id)?.row;
    if (row?.status !== "running" && !this.#scene.zombies)
      this.#scene.fail("R1", `turn ${context.turn.id} is prepared, and is ${row?.status} on the disk`);
    if (this.#owner.dead) this.#scene.fail("S1", "a dead process is asked to prepare");
    await this.#hook("prepare");
    return new ScriptedStep(this.#scene, this.#owner, this.#agent, this.#model, this.#tools, context);
  }

  async recover(context: RecoveryContext): Promise<{ readonly persist?: boolean; readonly continue?: boolean }> {
    const turn = this.#scene.mirror.turn(this.#agent, context.turn.id);
    const shown = (turn?.chunks ?? [])
      .map((chunk) => (chunk.type === "text-delta" ? String(chunk["delta"]) : ""))
      .join("");
    // A log that goes on with a message shows that message too, once it is asked for.
    if (context.turn.kind === "submit" && context.partialText !== shown && !this.#scene.zombies) {
      this.#scene.fail(
        "H5",
        `onChatRecovery is told ${JSON.stringify(context.partialText)}, and ${JSON.stringify(shown)} was shown`,
      );
    }
    const manner = await this.#hook("recover");
    return manner === "no" ? { continue: false } : {};
  }

  async beforeTool(context: ToolContext): Promise<ToolDecision> {
    const row = this.#scene.mirror.turn(this.#agent, context.turn)?.ledger.get(context.ordinal);
    if (!row && !this.#scene.zombies)
      this.#scene.fail("R1", `beforeTool of ${context.turn}#${context.ordinal} before the call is durable`);
    const { refusals } = this.#scene.cover;
    const call = `${context.turn}#${context.ordinal}`;
    // Until it has answered in time, it has not let the call run.
    refusals.add(call);
    const manner = await this.#hook("beforeTool");
    if (manner === null) refusals.delete(call);
    if (manner === "no") return { action: "block", reason: "blocked by the script" };
    const roll = this.#scene.dice("gate")();
    if (roll < 0.7) return { action: "allow" };
    if (roll < 0.8) return { action: "block" };
    if (roll < 0.9) return { action: "substitute", output: { did: "nothing", tool: context.tool } };
    return { action: "allow", input: { ...(context.input as { want: string }), more: true } };
  }

  async mapError(error: unknown): Promise<string> {
    await this.#hook("mapError");
    return `mapped: ${error instanceof Error ? error.message : ""}`;
  }

  async notice(context: NoticeContext): Promise<void> {
    const { mirror, cover } = this.#scene;
    const due = mirror.agents.get(this.#agent)?.outbox.has(context.id);
    if (!due && !this.#scene.zombies)
      this.#scene.fail("H3", `notice ${context.id} is delivered, and is not in the outbox`);
    if (context.kind === "response") {
      const row = mirror.turn(this.#agent, context.turn.id)?.row;
      if (row?.status !== "settled")
        this.#scene.fail("R1", `the response of ${context.turn.id} is told before its end is durable`);
    }
    if (cover.heard(this.#owner.name, context.id) && !this.#scene.zombies)
      this.#scene.fail("H3", `notice ${context.id} is delivered twice by ${this.#owner.name}`);
    const manner = await this.#hook("notice", context.id);
    if (manner !== "late") cover.hear(this.#owner.name, context.id);
  }

  async #hook(hook: HookName, about = ""): Promise<HookManner | null> {
    const { faults, schedule } = this.#scene;
    const n = faults.count(`hook ${hook}`);
    const manner = faults.find("hook", (fault) => fault.hook === hook && fault.ask === n)?.manner ?? null;
    if (manner) faults.strike(`${hook} ${manner}`);
    const label = `hook ${hook} ${about}${manner ?? ""}`;
    if (manner === "hangs") return schedule.hang();
    await schedule.pause(this.#owner, label, manner === "late" ? lateMs : 0);
    if (manner === "throws") throw new Error(`the ${hook} hook threw`);
    return manner;
  }
}

/** What the value hooks of a scripted class come to, for one step. */
class ScriptedStep implements PreparedStep {
  readonly origin: string;
  readonly profile: PreparedStep["profile"];
  readonly maxSteps = 40;
  readonly fingerprint: string;
  readonly #scene: Scene;
  readonly #owner: Owner;
  readonly #agent: string;
  readonly #model: ModelPlan;
  readonly #tools: ScriptedTools;
  readonly #context: PrepareContext;
  readonly #cue: Cue | null;

  constructor(
    scene: Scene,
    owner: Owner,
    agent: string,
    model: ModelPlan,
    tools: ScriptedTools,
    context: PrepareContext,
  ) {
    this.#scene = scene;
    this.#owner = owner;
    this.#agent = agent;
    this.#model = model;
    this.#tools = tools;
    this.#context = context;
    this.origin = model.origin;
    this.profile = model.profile;
    this.fingerprint = model.origin;
    this.#cue = this.#ask();
  }

  #ask(): Cue | null {
    const messages = this.#context.request(this.origin, this.profile);
    const again = this.#scene.dice("twice")() < 0.2 ? this.#context.request(this.origin, this.profile) : messages;
    if (again !== messages && JSON.stringify(messages) !== JSON.stringify(again))
      this.#scene.fail("P8", "a request built twice differs");
    return cueOf(this.#scene.scenario, messages);
  }

  tool(name: string): ReturnType<PreparedStep["tool"]> {
    const plan = this.#scene.scenario.tools.find((tool) => tool.name === name);
    return plan && name !== this.#model.lacks
      ? { executable: true, policy: plan.policy, timeoutMs: plan.timeoutMs }
      : null;
  }

  async call(): Promise<ModelStream> {
    const { scenario, faults, speech, cover } = this.#scene;
    const complain = (rule: string, text: string): void => this.#scene.fail(rule, text);
    const messages = this.#context.request(this.origin, this.profile);
    const more = scenario.agents.some((cast) => cast.more > 0);
    checkRequest({ model: this.#model, messages, more, items: speech.items, complain });
    const { turn } = this.#context;
    const agent = this.#scene.mirror.agent(this.#agent);
    if (!this.#scene.zombies) checkHistory(agent, turn.id, messages, complain);
    const n = faults.count("model");
    const runs = cover.modelCall(turn.id);
    const ordered = agent.state?.turn?.id === turn.id ? agent.state.turn.runs : 0;
    if (runs > ordered && !this.#scene.zombies)
      complain("R1", `model call ${runs} of ${turn.id} is made, and ${ordered} are durable`);
    const fault = faults.find("model", ({ call }) => call === n);
    const cue = cueOf(scenario, messages);
    if (!cue || !this.#cue) {
      complain("P8", "a request holds no message of a client");
      return { read: () => this.#scene.schedule.hang(), cancel() {} };
    }
    if (cue.partial !== null && !cue.asked && this.#model.refusesPrefill) {
      cover.mark("refused a prefill");
      const refusal = { kind: "model", call: 0, manner: "refused", after: 0 } as const;
      return new ScriptedStream(this.#scene, this.#owner, `model${n}`, this.#model, cue, refusal);
    }
    cover.mark(cue.partial === null ? "asked fresh" : cue.asked ? "asked for the rest" : "prefilled");
    return new ScriptedStream(this.#scene, this.#owner, `model${n}`, this.#model, cue, fault);
  }

  execute(call: Parameters<PreparedStep["execute"]>[0]): ReturnType<PreparedStep["execute"]> {
    const plan = this.#scene.scenario.tools.find((tool) => tool.name === call.tool);
    if (!plan) throw new Error(`there is no tool ${call.tool}`);
    return this.#tools.execute(plan, call);
  }

  reconcile(call: Parameters<PreparedStep["reconcile"]>[0]): ReturnType<PreparedStep["reconcile"]> {
    return this.#tools.reconcile(call);
  }
}
