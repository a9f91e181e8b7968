/**
 * Work: what one process holds for the turn that it runs. Nothing in it is needed to go on elsewhere: a successor
 * builds its own from the store and the hooks.
 */

import { storedParts } from "../core/assembly.ts";
import { assert } from "../core/assert.ts";
import { type Mode, modeOf, type Plan } from "../core/continuation.ts";
import type { ModelProfile } from "../core/profile.ts";
import type { StepSummary, TurnRow } from "../core/records.ts";
import { buildRequest, isPrefill } from "../core/request.ts";
import { snapshotChunks } from "../core/snapshot.ts";
import type { Turn } from "../core/state.ts";
import { type Chunk, type StoredMessage, type UiMessage, uiMessage } from "../core/transcript.ts";
import type { PrepareContext, PreparedStep } from "../ports/behaviour.ts";
import type { Store } from "../ports/store.ts";
import type { Agent } from "./agent.ts";

/** JSON text of the conversation that is held for requests, newest first. */
const historyBytesMax = 24 * 1024 * 1024;

export class Work {
  readonly turn: string;
  /** The answers of the value hooks for the current step. */
  kit: PreparedStep | null = null;
  readonly steps: StepSummary[] = [];
  /** The last request ended in a part of the answer. */
  prefilled = false;
  #history: readonly StoredMessage[] | null = null;
  readonly #controllers = new Map<string, AbortController>();

  constructor(turn: string) {
    this.turn = turn;
  }

  /** A signal for one piece of work. `key`: `model`, or a call's ordinal. */
  signal(key: string): AbortSignal {
    const controller = new AbortController();
    this.#controllers.set(key, controller);
    return controller.signal;
  }

  abort(what: "all" | "model" | { readonly ordinal: number }, reason: string): void {
    const only = what === "all" ? null : what === "model" ? "model" : String(what.ordinal);
    for (const [key, controller] of this.#controllers) {
      if (only === null || key === only) controller.abort(new Error(reason));
    }
  }

  /** Where a turn goes on with a message that exists, and its log does not show it yet: that message, as chunks. */
  async prelude(agent: Agent, store: Store): Promise<readonly Chunk[]> {
    const { turn } = agent.state;
    const { log } = agent.memory;
    if (turn?.kind !== "continue" || !log || log.next > 1) return [];
    const message = await store.message(agent.key, turn.messageId);
    if (!message) return [];
    if (log.closed.length === 0) log.closed.push(...message.parts);
    return snapshotChunks(uiMessage(message)).slice(1, -1);
  }

  /** The conversation before the turn's message: read once, since nothing enters it while the turn runs. */
  async history(agent: Agent, store: Store): Promise<readonly StoredMessage[]> {
    if (this.#history) return this.#history;
    const turn = agent.state.turn;
    const messages: StoredMessage[] = [];
    let before: number | null = null;
    let left = historyBytesMax;
    while (left > 0) {
      const page = await store.recent(agent.key, before, Math.min(left, 1024 * 1024));
      for (const { message } of page) messages.push(message);
      const oldest = page.at(-1);
      if (!oldest || oldest.depth === 0) break;
      before = oldest.depth;
      left -= page.reduce((sum, { message }) => sum + JSON.stringify(message).length, 0);
    }
    this.#history = messages.reverse().filter((message) => message.id !== turn?.messageId);
    return this.#history;
  }
}

/** What the value hooks are asked with. */
export function prepareContext(
  agent: Agent,
  work: Work,
  history: readonly StoredMessage[],
  asked: { readonly plan: Plan; readonly prefill: boolean },
): PrepareContext {
  const { turn } = agent.state;
  const row = agent.memory.rows.get(work.turn);
  assert(turn && row, "a turn is in flight");
  return {
    turn: row,
    step: turn.step,
    attempt: turn.attempt,
    continuation: turn.kind === "continue" || turn.attempt > 1,
    steps: [...work.steps],
    request(origin, profile) {
      const request = requestOf(agent, history, asked.plan, origin, allowed(profile, asked.prefill));
      work.prefilled = isPrefill(request);
      return request;
    },
  };
}

/** A profile that promised too much is no longer believed. */
export function allowed(profile: ModelProfile, prefill: boolean): ModelProfile {
  return prefill ? profile : { ...profile, prefill: false };
}

function requestOf(
  agent: Agent,
  history: readonly StoredMessage[],
  plan: Plan,
  origin: string,
  profile: ModelProfile,
): UiMessage[] {
  const { turn } = agent.state;
  const { log } = agent.memory;
  assert(turn && log, "a turn is in flight");
  const mode: Mode = modeOf(plan, profile);
  const current: StoredMessage | null =
    log.closed.length > 0 ? { id: turn.messageId, role: "assistant", parts: log.closed, turn: turn.id } : null;
  const tail = storedParts(log.assembly, turn.cuts.length, turn.origins);
  const written = current ?? (tail.length > 0 ? { id: turn.messageId, role: "assistant" as const, parts: [] } : null);
  return buildRequest({ history, current: written, tail, mode, origin, prefill: profile.prefill });
}

/** Labels that the turn's message uses: a provider may give them again. */
export function labelsOf(agent: Agent): Set<string> {
  const { log } = agent.memory;
  const labels = new Set<string>(log?.assembly.labels);
  for (const { part } of log?.closed ?? []) {
    if (typeof part["toolCallId"] === "string") labels.add(part["toolCallId"]);
  }
  return labels;
}

export function isCurrent(agent: Agent, turn: string): boolean {
  return agent.alive && agent.state.turn?.id === turn;
}

export function rowOf(agent: Agent, turn: Turn): TurnRow {
  const row = agent.memory.rows.get(turn.id);
  assert(row, "the turn in flight has a row");
  return row;
}
