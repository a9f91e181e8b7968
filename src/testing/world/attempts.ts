/** Attempts: what the interruptions of each turn may cost, judged from outside as they become durable (I3, I4, R7). */
import type { IncidentLedger } from "../../core/incident.ts";
import { limits } from "../../core/limits.ts";
import type { AgentState, Turn } from "../../core/state.ts";
import type { Chunk } from "../../core/transcript.ts";
import type { Complaint } from "./grammar.ts";
import type { AgentMirror } from "./mirror.ts";

/** What shows that a run of the model, or a tool, got somewhere. */
const content = /^(text|reasoning|tool-input)-delta$|^(text|reasoning)-start$|^tool-input-available$|^tool-output/;

export class Attempts {
  /** Interruptions of each turn by cause. */
  readonly causes = new Map<string, Map<string, number>>();
  /** Ends of a process, or of an instance, that were not in order. */
  unclean = 0;
  readonly #complain: Complaint;
  readonly #calls = new Map<string, number>();
  /** Where each turn's log ended at its last interruption. */
  readonly #from = new Map<string, number>();
  readonly #barren = new Map<string, { readonly offset: number; readonly times: number }>();

  constructor(complain: Complaint) {
    this.#complain = complain;
  }

  calls(turn: string): number {
    return this.#calls.get(turn) ?? 0;
  }

  /** How many model calls the turn has made, with this one. */
  called(turn: string, log: readonly Chunk[]): number {
    const calls = this.calls(turn) + 1;
    this.#calls.set(turn, calls);
    const offset = log.filter(({ type }) => content.test(type)).length;
    const before = this.#barren.get(turn);
    const times = before?.offset === offset ? before.times + 1 : 1;
    this.#barren.set(turn, { offset, times });
    if (times > limits.barrenCallsMax)
      this.#complain("R7", `turn ${turn} makes model call ${times} without anything durable between`);
    return calls;
  }

  /** A new state of an agent is durable. Returns the cause of the interruption that it tells of. */
  state(agent: AgentMirror, before: AgentState | null): string | null {
    const turn = agent.state?.turn;
    const was = before?.turn;
    if (!turn || was?.id !== turn.id || turn.attempt === was.attempt) return null;
    const ledger = ledgerOf(turn);
    if (!ledger) return null;
    const causes = this.causes.get(turn.id) ?? new Map<string, number>();
    causes.set(ledger.cause, (causes.get(ledger.cause) ?? 0) + 1);
    this.causes.set(turn.id, causes);
    this.#judge(agent, turn.id, ledger, ledgerOf(was)?.attempt ?? 0);
    return ledger.cause;
  }

  #judge(agent: AgentMirror, turn: string, ledger: IncidentLedger, before: number): void {
    const free = ledger.cause === "handover" || ledger.cause === "busy";
    if (free && ledger.attempt > before)
      this.#complain(ledger.cause === "busy" ? "I4" : "I3", `a ${ledger.cause} spent an attempt of ${turn}`);
    const log = agent.turns.get(turn)?.chunks ?? [];
    const gained = log.slice(this.#from.get(turn) ?? 0).some(({ type }) => type.endsWith("-delta"));
    this.#from.set(turn, log.length);
    if (!free && gained && ledger.attempt > 1)
      this.#complain("I3", `turn ${turn} has gained text, and is at attempt ${ledger.attempt}`);
    if (!free && ledger.attempt > before + 1)
      this.#complain("I3", `an interruption of ${turn} spent ${ledger.attempt - before} attempts`);
    if (ledger.cause === "crash" && (this.causes.get(turn)?.get("crash") ?? 0) > this.unclean) {
      this.#complain("I3", `turn ${turn} counts more deaths than there were`);
    }
  }

  /** Interruptions of all turns, by one of the causes. */
  count(cause: string): number {
    return [...this.causes.values()].reduce((sum, causes) => sum + (causes.get(cause) ?? 0), 0);
  }
}

function ledgerOf(turn: Turn): IncidentLedger | null {
  return turn.incident.kind === "none" ? null : turn.incident.ledger;
}
