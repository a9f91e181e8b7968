/**
 * The bomb: kills its own process, with SIGKILL, at the n-th occurrence of one point. Most points are commits, told by
 * what is in them; the others are called out by the test agent.
 */
import { writeSync } from "node:fs";
import type { AgentState } from "../../../src/core/state.ts";
import type { Chunk } from "../../../src/core/transcript.ts";
import type { AgentCommit } from "../../../src/ports/store.ts";
import type { Point, PointKill, When } from "./plan.ts";

/** What the process says, on a line of its own, before it dies. */
export interface LastWord {
  readonly killed: Point;
  readonly when: When;
  /** Idempotency keys of calls whose result had just landed, and was shown to nobody. */
  readonly settled: readonly string[];
}

export class Bomb {
  readonly armed: PointKill | null;
  #left: number;

  constructor(armed: PointKill | null) {
    this.armed = armed;
    this.#left = armed?.nth ?? 0;
  }

  /** Counts one occurrence of a point. True: this is the one. */
  counts(point: Point, when: When): boolean {
    if (this.armed?.point !== point || this.armed.when !== when) return false;
    this.#left -= 1;
    return this.#left === 0;
  }

  explode(settled: readonly string[] = []): never {
    const { point: killed, when } = this.armed as PointKill;
    writeSync(1, `${JSON.stringify({ killed, when, settled } satisfies LastWord)}\n`);
    process.kill(process.pid, "SIGKILL");
    for (;;);
  }
}

type Sight = (commit: AgentCommit, when: When) => boolean;

/** How a commit is known to be the one in which a point occurs. */
export const sights: { readonly [P in Point]?: Sight } = {
  accepted: (commit) => accepts(commit) && runs(commit),
  queued: (commit) => accepts(commit) && !runs(commit),
  "request-sent": (commit, when) => when === "before" && isRequest(commit),
  "stream-open": (commit, when) => {
    const types = typesOf(commit);
    const at = types.indexOf("start-step");
    return at >= 0 && (when === "before" || at === types.length - 1);
  },
  "mid-reasoning": (commit) => amid(commit, "reasoning-delta", ["reasoning-end"]),
  "mid-text": (commit) => amid(commit, "text-delta", ["text-end"]),
  "mid-tool-input": (commit) => amid(commit, "tool-input-delta", ["tool-input-available"]),
  "input-complete": (commit) => typesOf(commit).includes("tool-input-available") && !ledger(commit, "started"),
  "tool-started": (commit) => ledger(commit, "started"),
  "result-stored": (commit) => settledKeys(commit).length > 0,
  "one-of-two": (commit) => {
    const open = turnOf(commit)?.calls.some((call) => call.phase.kind !== "settled") ?? false;
    return settledKeys(commit).length > 0 && open;
  },
  "step-end": (commit) => typesOf(commit).includes("finish-step") && !settles(commit),
  // Its end may be durable and the turn's not: split off from the commit that ends the turn.
  finish: (commit, when) => when === "after" && settles(commit),
  "message-final": (commit) => settles(commit),
  recovery: (commit) => (turnOf(commit)?.incident.kind ?? "none") !== "none",
};

export function settledKeys(commit: AgentCommit): string[] {
  const settled = commit.ledger?.filter((row) => row.state === "settled" && row.outcome === "output") ?? [];
  return settled.map((row) => `${row.turn}-${row.ordinal}`);
}

function typesOf(commit: AgentCommit): string[] {
  return (commit.chunks ?? []).flatMap(({ chunks }) => chunks.map((chunk: Chunk) => chunk.type));
}

function amid(commit: AgentCommit, type: string, ends: readonly string[]): boolean {
  const types = typesOf(commit);
  return commit.state === undefined && types.at(-1) === type && !types.some((one) => ends.includes(one));
}

function accepts(commit: AgentCommit): boolean {
  return commit.consumed?.some(({ id }) => id.startsWith("message:")) ?? false;
}

function runs(commit: AgentCommit): boolean {
  return commit.turns?.some(({ status }) => status === "running") ?? false;
}

function settles(commit: AgentCommit): boolean {
  return commit.turns?.some(({ status }) => status === "settled") ?? false;
}

function ledger(commit: AgentCommit, state: "started"): boolean {
  return commit.ledger?.some((row) => row.state === state) ?? false;
}

function turnOf(commit: AgentCommit): AgentState["turn"] {
  return (commit.state?.value as AgentState | null | undefined)?.turn ?? null;
}

/** The commit that says to whom the request goes, and nothing else. */
function isRequest(commit: AgentCommit): boolean {
  const turn = turnOf(commit);
  if (turn?.phase.kind !== "running" || turn.origins.length <= turn.cuts.length) return false;
  return !(commit.chunks || commit.turns || commit.ledger || commit.consumed || commit.outboxDone);
}
