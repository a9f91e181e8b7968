/** Coverage: what a world has come across, and what each turn went through. Also the judge of attempts (I3, I4). */
import { foldAll } from "../../core/assembly.ts";
import { evidenceOf } from "../../core/evidence.ts";
import type { IncidentLedger } from "../../core/incident.ts";
import type { AgentState } from "../../core/state.ts";
import type { Complaint } from "./grammar.ts";
import type { AgentMirror, TurnMirror } from "./mirror.ts";

export class Coverage {
  readonly marks = new Map<string, number>();
  /** Interruptions of a turn by cause, as its incident counted them. */
  readonly interruptions = new Map<string, Map<string, number>>();
  /** Deaths of a process, or of an instance, that had a turn in flight. */
  readonly deaths = new Map<string, number>();
  /** Ends of a process, or of an instance, that were not in order; claims and answers of claims that were lost. */
  unclean = 0;
  /** Calls whose last check did not let them run. */
  readonly refusals = new Set<string>();
  /** Turns that a client asked to stop. */
  readonly stops = new Set<string>();
  readonly #modelCalls = new Map<string, number>();
  readonly #heard = new Set<string>();

  mark(what: string): void {
    this.marks.set(what, (this.marks.get(what) ?? 0) + 1);
  }

  modelCall(turn: string): number {
    const count = (this.#modelCalls.get(turn) ?? 0) + 1;
    this.#modelCalls.set(turn, count);
    return count;
  }

  modelCalls(turn: string): number {
    return this.#modelCalls.get(turn) ?? 0;
  }

  hear(owner: string, notice: string): void {
    this.#heard.add(`${owner} ${notice}`);
    this.#heard.add(notice);
  }

  heard(owner: string | null, notice: string): boolean {
    return this.#heard.has(owner === null ? notice : `${owner} ${notice}`);
  }

  /** A new state of an agent is durable. */
  state(agent: AgentMirror, before: AgentState | null, complain: Complaint): void {
    const turn = agent.state?.turn;
    const was = before?.turn;
    if (!turn || was?.id !== turn.id || turn.attempt === was.attempt) return;
    const ledger = ledgerOf(turn.incident);
    if (!ledger) return;
    this.mark(`interrupted by ${ledger.cause}`);
    this.#judge(ledger, ledgerOf(was.incident), complain, turn.id);
    const causes = this.interruptions.get(turn.id) ?? new Map<string, number>();
    causes.set(ledger.cause, (causes.get(ledger.cause) ?? 0) + 1);
    this.interruptions.set(turn.id, causes);
    if (ledger.cause === "crash" && (causes.get("crash") ?? 0) > this.unclean)
      complain("I3", `turn ${turn.id} counts more deaths than there were`);
  }

  #judge(ledger: IncidentLedger, was: IncidentLedger | null, complain: Complaint, turn: string): void {
    const before = was?.attempt ?? 0;
    if (ledger.cause === "handover" && ledger.attempt > before)
      complain("I3", `a hand-over spent an attempt of ${turn}`);
    if (ledger.cause === "busy" && ledger.attempt > before)
      complain("I4", `a wait that the provider asked for spent an attempt of ${turn}`);
  }

  /** What is durable of the interrupted step: a row of the continuation table. */
  row(agent: AgentMirror): void {
    const turn = agent.state?.turn;
    const mirror = turn && agent.turns.get(turn.id);
    if (!turn || !mirror) return;
    this.deaths.set(turn.id, (this.deaths.get(turn.id) ?? 0) + 1);
    if (turn.phase.kind === "recovering" || turn.phase.kind === "failing") this.mark(`row: ${turn.phase.kind}`);
    else
      this.mark(
        `row: ${rowOf(
          mirror,
          turn.calls.map((call) => call.phase.kind),
        )}`,
      );
  }
}

function ledgerOf(incident: NonNullable<AgentState["turn"]>["incident"]): IncidentLedger | null {
  return incident.kind === "none" ? null : incident.ledger;
}

function rowOf(turn: TurnMirror, phases: readonly string[]): string {
  if (phases.includes("started"))
    return phases.includes("settled") ? "a call started, another settled" : "a call started, no result";
  if (phases.includes("reconciling")) return "a call is reconciled";
  if (phases.includes("gating")) return "a call is gated";
  const closed = turn.chunks.findLastIndex((chunk) => chunk.type === "finish-step");
  const assembly = foldAll(turn.chunks.slice(closed + 1), 0);
  const evidence = evidenceOf(assembly);
  const states = new Set(evidence.calls.map((call) => call.state));
  if (states.has("cut")) return states.size > 1 ? "a call cut beside a whole one" : "tool input, unfinished";
  if (states.size > 0) return phases.length > 0 ? "all calls settled, step open" : "a whole call, not announced";
  if (evidence.text === "some") return assembly.open.size > 0 ? "text, unfinished" : "text complete, no finish";
  if (evidence.text === "blank") return "blank text";
  if (evidence.reasoning) return assembly.open.size > 0 ? "reasoning, unfinished" : "reasoning complete, nothing after";
  return evidence.opened ? "an open step, nothing in it" : "nothing";
}
