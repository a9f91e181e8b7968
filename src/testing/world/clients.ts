/** Clients: they send, wait, read and come back, whatever the server does. What one of them has seen is remembered. */
import { PerdureError } from "../../core/errors.ts";
import { canonical } from "../../core/json.ts";
import type { Command } from "../../core/records.ts";
import type { UiMessage } from "../../core/transcript.ts";
import type { Submitted, TurnReader } from "../../ports/gateway.ts";
import { between, type Dice } from "../prng.ts";
import { ConnectionLost, digest, epochMs, type Machine, type Process } from "./machine.ts";
import type { Cast, TurnPlan } from "./scenario.ts";
import type { Scene } from "./scene.ts";

export interface Promised {
  readonly agent: string;
  readonly plan: TurnPlan;
  readonly turn: string;
  readonly atMs: number;
}

/** Logs of turns that ended in this time can be read. */
const retainedMs = 50 * 60_000;

export class Clients {
  readonly #scene: Scene;
  readonly #machine: Machine;
  readonly #dice: Dice;
  /** What was acknowledged. */
  readonly promised: Promised[] = [];
  /** Clients that have not seen what they wait for. */
  busy = 0;

  constructor(scene: Scene, machine: Machine) {
    this.#scene = scene;
    this.#machine = machine;
    this.#dice = scene.dice("clients");
  }

  start(): void {
    for (const cast of this.#scene.scenario.agents) this.#run(this.#talk(cast));
  }

  #run(work: Promise<void>): void {
    this.busy++;
    work.then(
      () => this.busy--,
      (error: unknown) =>
        this.#scene.fail("C1", `a client failed: ${error instanceof Error ? error.stack : String(error)}`),
    );
  }

  async #talk(cast: Cast): Promise<void> {
    for (const [index, plan] of cast.turns.entries()) {
      const before = this.promised.findLast(({ agent }) => agent === cast.key);
      if (plan.waitMs !== null && before) {
        await this.#ended(cast.key, before.turn);
        await this.#pause(plan.waitMs);
      }
      await this.#pause(plan.sendMs);
      if (plan.note)
        await this.#again(`note before ${plan.id}`, ({ gateway }) =>
          gateway.append(cast.key, [noteOf(plan)], "append"),
        );
      const dropped = plan.offline ? await this.#drop(cast.key, plan) : null;
      if (dropped) await this.#pause(between(this.#dice, 0, 300));
      const { turn } = await this.#submit(cast.key, plan);
      if (dropped && turn !== dropped) this.#scene.fail("C3", `message ${plan.id} was ${dropped}, and is ${turn}`);
      this.#promise(cast.key, plan, turn);
      this.#run(this.#read(cast.key, turn));
      if (plan.stopMs !== null) this.#run(this.#stop(cast.key, turn, plan.stopMs));
      if (plan.repeat) await this.#repeat(cast.key, plan, turn);
      if (plan.conflict) await this.#conflict(cast.key, plan);
      if (index < cast.turns.length - 1) continue;
      if (cast.more > 0) this.#run(this.#more(cast, turn));
      else this.#run(this.#watch(cast.key, turn));
    }
  }

  /** An acknowledgement is seen: from here on nothing may lose it (C1). */
  #promise(agent: string, plan: TurnPlan, turn: string): void {
    const { mirror, schedule } = this.#scene;
    if (!mirror.turn(agent, turn)) this.#scene.fail("C1", `turn ${turn} is acknowledged and not durable`);
    this.promised.push({ agent, plan, turn, atMs: schedule.now });
  }

  #submit(agent: string, plan: TurnPlan): Promise<Submitted> {
    return this.#again(`submit ${plan.id}`, ({ gateway }) => gateway.submit(agent, { messages: [messageOf(plan)] }));
  }

  async #repeat(agent: string, plan: TurnPlan, turn: string): Promise<void> {
    const again = await this.#submit(agent, plan);
    if (again.turn !== turn) this.#scene.fail("C3", `message ${plan.id} made ${turn}, and then ${again.turn}`);
    if (again.accepted) this.#scene.fail("C3", `message ${plan.id} was accepted twice`);
  }

  async #conflict(agent: string, plan: TurnPlan): Promise<void> {
    const other = { ...messageOf(plan), parts: [{ type: "text", text: "something else" }] };
    const refused = await this.#again(`conflict ${plan.id}`, async ({ gateway }) => {
      try {
        await gateway.submit(agent, { messages: [other] });
        return false;
      } catch (error) {
        if (PerdureError.is(error, "CONTENT_CONFLICT")) return true;
        throw error;
      }
    });
    if (!refused) this.#scene.fail("C3", `other content was accepted under the id of ${plan.id}`);
  }

  /** A command from another process, that finds its way through the store alone. Null: there is a process to ask. */
  async #drop(agent: string, plan: TurnPlan): Promise<string | null> {
    const turn = `turn_dropped_${plan.id}`;
    const hash = digest(canonical([messageOf(plan)]));
    const command: Command = {
      v: 1,
      id: `message:${plan.id}`,
      hash,
      at: 0,
      kind: "submit",
      turn,
      messages: [messageOf(plan)],
    };
    return (await this.#machine.drop(agent, command)) ? turn : null;
  }

  async #stop(agent: string, turn: string, afterMs: number): Promise<void> {
    await this.#pause(afterMs);
    this.#scene.cover.stops.add(turn);
    const stopped = await this.#again(`stop ${turn}`, ({ gateway }) => gateway.stop(agent, turn));
    const row = this.#scene.mirror.turn(agent, turn)?.row;
    if (stopped && row?.status !== "settled")
      this.#scene.fail("C12", `the stop of ${turn} is answered, and it is ${row?.status}`);
  }

  /** Asks for more once the turn has ended. Not asked twice: two requests are two turns. */
  async #more(cast: Cast, turn: string): Promise<void> {
    let last = turn;
    for (let times = 0; times < cast.more; times++) {
      // More of a text that was never finished may be the rest of it or something else: that is the model's choice.
      if ((await this.#ended(cast.key, last)) !== "completed") return;
      const accepted = await this.#machine
        .ask("continue", ({ gateway }) => gateway.continue(cast.key))
        .catch(() => null);
      if (!accepted) return;
      last = accepted.turn;
      if (!this.#scene.mirror.turn(cast.key, last))
        this.#scene.fail("C1", `turn ${last} is acknowledged and not durable`);
      this.#run(this.#read(cast.key, last));
    }
  }

  async #ended(agent: string, turn: string): Promise<string> {
    const end = await this.#again(`end of ${turn}`, ({ gateway }) => gateway.ended(agent, turn));
    const row = this.#scene.mirror.turn(agent, turn)?.row;
    if (row?.outcome !== end.outcome)
      this.#scene.fail("R1", `the end of ${turn} is told as ${end.outcome}, and is ${row?.outcome}`);
    return end.outcome;
  }

  /** Looks at the status now and then, until the turn has ended. */
  async #watch(agent: string, turn: string): Promise<void> {
    for (let looks = 0; looks < 40; looks++) {
      await this.#pause(between(this.#dice, 1, 50) * 4 ** Math.floor(looks / 8));
      const status = await this.#again(`status of ${agent}`, ({ gateway }) => gateway.status(agent));
      if (status.status === "idle" && status.last?.turn === turn) {
        if (this.#scene.mirror.turn(agent, turn)?.row.status !== "settled")
          this.#scene.fail("R1", `${agent} says idle before ${turn} has ended`);
        return;
      }
    }
  }

  /** Follows the turn to its end. A cut connection is made again, from the next offset or from an earlier one. */
  async #read(agent: string, turn: string): Promise<void> {
    const seen: string[] = [];
    if (this.#dice() < 0.3) await this.#pause(between(this.#dice, 0, 500));
    for (;;) {
      const from = this.#dice() < 0.8 ? seen.length : Math.floor(this.#dice() * (seen.length + 1));
      const { source, process } = await this.#again(`source ${turn} ${from}`, async (process) => {
        return { process, source: await process.gateway.source(agent, turn, from) };
      });
      if (source.kind === "snapshot") return this.#snapshot(agent, turn);
      if (await this.#follow(agent, turn, source.reader, process, from, seen)) return;
      await this.#pause(between(this.#dice, 0, 20));
    }
  }

  /** All that is left of a turn that ended long ago is its final message. */
  #snapshot(agent: string, turn: string): void {
    const ended = this.#scene.mirror.turn(agent, turn)?.row.endedAt ?? Number.POSITIVE_INFINITY;
    if (this.#scene.schedule.now + epochMs - ended < retainedMs) this.#scene.fail("W7", `the log of ${turn} is gone`);
  }

  /** True: seen to the end. False: the connection is gone. */
  async #follow(
    agent: string,
    turn: string,
    reader: TurnReader,
    process: Process,
    from: number,
    seen: string[],
  ): Promise<boolean> {
    let next = from;
    for (;;) {
      const slice = await this.#machine
        .ask(`read ${turn} ${next}`, () => reader.read(), process)
        .catch(() => "lost" as const);
      if (slice === "lost") return false;
      if (slice === null) {
        if (isEnd(seen.at(-1))) return true;
        if (!process.closing) this.#scene.fail("W2", `a reader of ${turn} ends at ${next}, before its turn`);
        return false;
      }
      if (slice.first !== next) this.#scene.fail("W2", `a reader of ${turn} at ${next} is given ${slice.first}`);
      for (const [index, text] of slice.texts.entries()) this.#see(agent, turn, slice.first + index, text, seen);
      next = slice.first + slice.texts.length;
      if (this.#dice() < 0.03) {
        reader.close();
        return false;
      }
    }
  }

  /** What is seen is durable (R1), and was not something else before. */
  #see(agent: string, turn: string, offset: number, text: string, seen: string[]): void {
    const durable = this.#scene.mirror.turn(agent, turn)?.texts[offset];
    if (durable !== text)
      this.#scene.fail("R1", `chunk ${offset} of ${turn} is shown as ${text}, and is ${durable} on the disk`);
    if (offset < seen.length && seen[offset] !== text)
      this.#scene.fail("W1", `chunk ${offset} of ${turn} was ${seen[offset]} and is ${text}`);
    if (offset > seen.length) this.#scene.fail("W2", `chunk ${offset} of ${turn} follows ${seen.length}`);
    seen[offset] = text;
  }

  #pause(ms: number): Promise<void> {
    return this.#scene.schedule.pause(this.#scene.outside, "client", ms);
  }

  /** Asks until there is an answer: a connection that is lost, or a server that is not there, is tried again. */
  async #again<T>(label: string, call: (process: Process) => Promise<T>): Promise<T> {
    for (let times = 0; ; times++) {
      try {
        return await this.#machine.ask(label, call);
      } catch (error) {
        if (!isRetriable(error)) throw error;
        await this.#pause(Math.min(10 * 2 ** times, 30_000));
      }
    }
  }
}

function isRetriable(error: unknown): boolean {
  return error instanceof ConnectionLost || (PerdureError.is(error) && error.problem.retriable === true);
}

function isEnd(text: string | undefined): boolean {
  return /^\{"type":"(finish|abort|error)"/.test(text ?? "");
}

function noteOf(plan: TurnPlan): UiMessage {
  return { id: `${plan.id}-note`, role: "user", parts: [{ type: "text", text: `a note before ${plan.id}` }] };
}

export function messageOf(plan: TurnPlan): UiMessage {
  return { id: plan.id, role: "user", parts: [{ type: "text", text: `play ${plan.id}` }] };
}
