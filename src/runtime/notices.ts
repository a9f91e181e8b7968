/**
 * Notices: outbox rows that have landed, delivered one after the other per agent, each at least once and, unless the
 * process dies inside the hook, once (H3). A hook that throws or hangs is tried again, and given up with an event.
 */
import { limits } from "../core/limits.ts";
import type { Notice, OutboxRow, TurnRow } from "../core/records.ts";
import { isToolPart, type Part, type StoredMessage, type UiMessage, uiMessage } from "../core/transcript.ts";
import type { NoticeContext } from "../ports/behaviour.ts";
import type { Services } from "../ports/services.ts";
import type { Agent } from "./agent.ts";
import { within } from "./within.ts";

/** How long a store is left alone that could not be read. */
const unreadMs = 1_000;

export class Notices {
  readonly #services: Services;
  readonly #queues = new WeakMap<Agent, OutboxRow[]>();
  readonly #busy = new WeakSet<Agent>();
  /** Deliveries that run now, over all agents: not those that wait for their time. */
  readonly running = new Set<Promise<unknown>>();

  constructor(services: Services) {
    this.#services = services;
  }

  deliver(agent: Agent, rows: readonly OutboxRow[]): void {
    const queue = this.#queues.get(agent) ?? [];
    this.#queues.set(agent, queue);
    queue.push(...rows);
    if (this.#busy.has(agent)) return;
    this.#busy.add(agent);
    void this.#run(agent, queue);
  }

  pending(agent: Agent): boolean {
    return this.#busy.has(agent);
  }

  async #run(agent: Agent, queue: OutboxRow[]): Promise<void> {
    for (let row = queue.shift(); row && agent.alive; row = queue.shift()) {
      const wait = row.due - this.#services.clock.now();
      if (wait > 0) await this.#sleep(wait);
      // The instance may have ended meanwhile: its rows are the next one's.
      if (!agent.alive) break;
      const delivery = this.#attempt(agent, row);
      this.running.add(delivery);
      const delivered = await delivery.finally(() => this.running.delete(delivery));
      if (!agent.alive) break;
      if (delivered === "unread") queue.unshift({ ...row, due: this.#services.clock.now() + unreadMs });
      else if (delivered) agent.note({ outboxDone: [row.id] });
      else this.#again(agent, row, queue);
    }
    this.#busy.delete(agent);
  }

  #again(agent: Agent, row: OutboxRow, queue: OutboxRow[]): void {
    const now = this.#services.clock.now();
    const attempts = row.attempts + 1;
    const payload = { notice: row.notice.kind, requestId: row.notice.turn, attempts };
    if (attempts >= limits.noticeAttemptsMax) {
      this.#services.telemetry.emit({ type: "notice:abandoned", agent: agent.key, at: now, payload });
      return agent.note({ outboxDone: [row.id] });
    }
    const next = { ...row, attempts, due: now + Math.min(limits.backoffBaseMs * 2 ** attempts, limits.backoffCapMs) };
    this.#services.telemetry.emit({ type: "notice:failed", agent: agent.key, at: now, payload });
    agent.note({ outboxPut: [next] });
    queue.unshift(next);
  }

  async #attempt(agent: Agent, row: OutboxRow): Promise<boolean | "unread"> {
    const context = await this.#context(agent, row).catch(() => "unread" as const);
    // A store that does not answer is no failure of the hook: nothing is counted.
    if (context === "unread") return context;
    // What it was about is gone (cleared, or past its time): there is nothing to say.
    if (!context) return true;
    const heard = agent.behaviour.notice(context).then(
      () => true,
      () => false,
    );
    return (await within(this.#services.timers, limits.noticeMs, heard)) ?? false;
  }

  async #context(agent: Agent, row: OutboxRow): Promise<NoticeContext | null> {
    const { notice, id } = row;
    const turn = await this.#turnRow(agent, notice.turn);
    if (!turn) return null;
    const message = await this.#message(agent, turn);
    switch (notice.kind) {
      case "response":
        return { kind: "response", id, turn, message };
      case "step":
        return {
          kind: "step",
          id,
          turn,
          step: notice.step,
          summary: notice.summary,
          // Copies: of a turn that runs, these are the parts of its log.
          parts: structuredClone(stepParts(message, notice.at ?? notice.step)),
        };
      case "tool": {
        const part = await this.#toolPart(agent, notice, message);
        return part && { kind: "tool", id, turn, ordinal: notice.ordinal, part, durationMs: notice.durationMs };
      }
    }
  }

  async #turnRow(agent: Agent, turn: string): Promise<TurnRow | null> {
    return agent.memory.rows.get(turn) ?? (await this.#services.store.turn(agent.key, turn));
  }

  /** The turn's message as far as it goes: from the log while it runs, from the store once it has ended. */
  async #message(agent: Agent, turn: TurnRow): Promise<UiMessage> {
    const { log } = agent.memory;
    const live = log?.turn === turn.id && turn.status !== "settled" ? log : null;
    const parts = live && [
      ...live.closed.map(({ part }) => part),
      ...live.assembly.parts.map(({ part }) => ({ ...part })),
    ];
    if (parts) return { id: turn.messageId, role: "assistant", parts };
    const stored: StoredMessage | null = await this.#services.store.message(agent.key, turn.messageId);
    return stored ? uiMessage(stored) : { id: turn.messageId, role: "assistant", parts: [] };
  }

  async #toolPart(agent: Agent, notice: Extract<Notice, { kind: "tool" }>, message: UiMessage): Promise<Part | null> {
    const rows = await this.#services.store.ledger(agent.key, notice.turn);
    const label = rows.find((row) => row.ordinal === notice.ordinal)?.label;
    const known = message.parts.findLast((part) => isToolPart(part) && part["toolCallId"] === label);
    return known ? structuredClone(known) : null;
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#services.timers.after(ms, resolve);
    });
  }
}

function stepParts(message: UiMessage, step: number): readonly Part[] {
  let at = -1;
  return message.parts.filter((part) => {
    if (part.type === "step-start") at++;
    return at === step && part.type !== "step-start";
  });
}
