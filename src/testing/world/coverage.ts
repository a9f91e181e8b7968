/** Coverage: what a world has come across, and what its hooks were told. */
import { foldAll } from "../../core/assembly.ts";
import { evidenceOf } from "../../core/evidence.ts";
import { limits } from "../../core/limits.ts";
import type { AgentMirror, TurnMirror } from "./mirror.ts";

export class Coverage {
  readonly marks = new Map<string, number>();
  /** Calls whose last check did not let them run. */
  readonly refusals = new Set<string>();
  /** Turns that a client asked to stop. */
  readonly stops = new Set<string>();
  /** Turns whose hook said not to go on, with the process that heard it. */
  readonly declined = new Set<string>();
  readonly #told = new Map<string, number>();
  readonly #heard = new Set<string>();

  mark(what: string): void {
    this.marks.set(what, (this.marks.get(what) ?? 0) + 1);
  }

  tell(notice: string): void {
    this.#told.set(notice, (this.#told.get(notice) ?? 0) + 1);
  }

  hear(owner: string, notice: string): void {
    this.#heard.add(`${owner} ${notice}`);
    this.#heard.add(notice);
  }

  heard(owner: string | null, notice: string): boolean {
    return this.#heard.has(owner === null ? notice : `${owner} ${notice}`);
  }

  /** Notices that failed, and were not told again as often as they should. */
  unheard(): readonly string[] {
    const failed = [...this.#told].filter(
      ([notice, times]) => !this.#heard.has(notice) && times < limits.noticeAttemptsMax,
    );
    return failed.map(([notice]) => notice);
  }

  /** What is durable of the interrupted step: a row of the continuation table. */
  row(agent: AgentMirror): void {
    const turn = agent.state?.turn;
    const mirror = turn && agent.turns.get(turn.id);
    if (!turn || !mirror) return;
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
