/** Scene: what everything in a world shares. */
import { type Dice, prng, seedOf } from "../prng.ts";
import { Coverage } from "./coverage.ts";
import { EffectLog } from "./effects.ts";
import { type Fault, FaultBook } from "./faults.ts";
import { Mirror } from "./mirror.ts";
import type { Scenario } from "./scenario.ts";
import { type Owner, Schedule } from "./schedule.ts";
import { Speech } from "./speech.ts";

export interface Violation {
  readonly rule: string;
  readonly text: string;
  readonly atMs: number;
  readonly step: number;
}

export class Scene {
  readonly seed: number;
  readonly scenario: Scenario;
  readonly schedule: Schedule;
  readonly faults: FaultBook;
  readonly mirror: Mirror;
  readonly effects: EffectLog;
  readonly speech: Speech;
  readonly cover = new Coverage();
  /** The world outside: clients, networks, the machine. It never dies. */
  readonly outside: Owner = { name: "world", dead: false };
  /** The store refuses writes, or says nothing at all, until then. */
  outage = { until: 0, reads: false };
  /** Instances may be dead without a death: another owner was made, or a frozen one came back. */
  zombies = false;
  /** When no process lived, in virtual time. */
  readonly downs: { readonly from: number; to: number }[] = [];
  violation: Violation | null = null;
  /** An agent was given up for a while (rule 13 of the house): the world ends there. */
  quarantined = false;
  readonly #dice = new Map<string, Dice>();

  constructor(seed: number, scenario: Scenario, faults: readonly Fault[], onStep?: (line: string) => void) {
    this.seed = seed;
    this.scenario = scenario;
    this.schedule = new Schedule(this.dice("schedule"), onStep);
    this.faults = new FaultBook(faults);
    const complain = (rule: string, text: string): void => this.fail(rule, text);
    this.mirror = new Mirror(
      complain,
      () => this.schedule.now,
      (agent, before) => this.cover.state(agent, before, complain),
    );
    this.effects = new EffectLog(complain);
    this.speech = new Speech(complain);
  }

  /** A dice of its own for each use, so that one more throw here changes nothing there. */
  dice(name: string): Dice {
    const known = this.#dice.get(name);
    if (known) return known;
    const dice = prng(seedOf(this.seed, name));
    this.#dice.set(name, dice);
    return dice;
  }

  /** How much of a stretch of time had a process. */
  liveMs(from: number, to: number): number {
    const down = this.downs.reduce((sum, gap) => sum + Math.max(0, Math.min(gap.to, to) - Math.max(gap.from, from)), 0);
    return to - from - down;
  }

  /** Only three deaths in a row between claim and commit may come to this. */
  quarantine(agent: string): void {
    this.quarantined = true;
    this.cover.mark("quarantined");
    // A claim cannot be given back while a command waits in the inbox, nor when the store answers nothing.
    const ends = this.cover.unclean + this.faults.list.filter((fault) => fault.kind === "hand-over").length;
    const kept = this.faults.list.some((fault) => (fault.kind === "outage" && fault.reads) || fault.kind === "hook");
    if (ends < 3 && !kept) this.fail("K3", `${agent} is quarantined after ${ends} deaths`);
  }

  /** The first violation ends the world. */
  fail(rule: string, text: string): void {
    if (this.violation) return;
    this.violation = { rule, text, atMs: this.schedule.now, step: this.schedule.steps };
    this.schedule.note(`VIOLATION [${rule}] ${text}`);
  }
}
