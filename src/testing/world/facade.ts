/**
 * Facade: the store as one incarnation of the process sees it. Each call is two steps of the world, its arrival and its
 * answer, and a death may come before, between or after. Death is that of the facade: what was answered never arrives,
 * what is called later never lands.
 */
import { PerdureError } from "../../core/errors.ts";
import type { AgentKey } from "../../core/ids.ts";
import type { Json } from "../../core/json.ts";
import type { Command, LedgerRow, PlacedMessage, Tombstone, TurnRow } from "../../core/records.ts";
import type { StoredMessage } from "../../core/transcript.ts";
import type { Accepted, Directory, Due } from "../../ports/directory.ts";
import type {
  AgentCommit,
  Claim,
  CommitResult,
  Head,
  Loaded,
  OwnerLabel,
  RetentionLimits,
  SegmentPage,
  Store,
} from "../../ports/store.ts";
import type { Scene } from "./scene.ts";
import type { Owner } from "./schedule.ts";

export type FullStore = Store &
  Directory & {
    /** What is durable of an agent, as one value that is equal on every adapter. */
    dump?(agent: AgentKey): unknown;
  };

/** Calls that may change what is durable. */
const writes = new Set(["open", "claim", "commit", "release", "enqueue", "retain", "destroy", "close"]);

export function isWrite(port: string): boolean {
  return writes.has(port);
}

export class Facade implements Store, Directory {
  readonly #inner: FullStore;
  readonly #scene: Scene;
  readonly #owner: Owner;

  constructor(inner: FullStore, scene: Scene, owner: Owner) {
    this.#inner = inner;
    this.#scene = scene;
    this.#owner = owner;
  }

  open(owner: OwnerLabel): Promise<void> {
    return this.#call("open", "", () => this.#inner.open(owner));
  }
  claim(agent: AgentKey, at: number): Promise<Claim> {
    return this.#call("claim", agent, async () => {
      const claim = await this.#inner.claim(agent, at);
      if (claim.kind === "quarantined") this.#scene.quarantine(agent);
      return claim;
    });
  }
  load(agent: AgentKey): Promise<Loaded> {
    return this.#call("load", agent, () => this.#load(agent));
  }
  commit(batch: readonly AgentCommit[]): Promise<readonly CommitResult[]> {
    return this.#call(
      "commit",
      () => batch.map(describe).join(" "),
      () => this.#commit(batch),
    );
  }
  release(agent: AgentKey, epoch: number): Promise<boolean> {
    return this.#call("release", agent, () => this.#inner.release(agent, epoch));
  }
  chunks(agent: AgentKey, turn: string, from: number, bytesMax: number): Promise<SegmentPage> {
    return this.#call("chunks", `${turn} ${from}`, () => this.#inner.chunks(agent, turn, from, bytesMax));
  }
  messages(agent: AgentKey, after: number, countMax: number): Promise<readonly PlacedMessage[]> {
    return this.#call("messages", agent, () => this.#inner.messages(agent, after, countMax));
  }
  recent(agent: AgentKey, before: number | null, bytesMax: number): Promise<readonly PlacedMessage[]> {
    return this.#call("recent", agent, () => this.#inner.recent(agent, before, bytesMax));
  }
  message(agent: AgentKey, id: string): Promise<StoredMessage | null> {
    return this.#call("message", id, () => this.#inner.message(agent, id));
  }
  turn(agent: AgentKey, id: string): Promise<TurnRow | null> {
    return this.#call("turn", id, () => this.#inner.turn(agent, id));
  }
  tombstone(agent: AgentKey, id: string): Promise<Tombstone | null> {
    return this.#call("tombstone", id, () => this.#inner.tombstone(agent, id));
  }
  ledger(agent: AgentKey, turn: string): Promise<readonly LedgerRow[]> {
    return this.#call("ledger", turn, () => this.#inner.ledger(agent, turn));
  }
  retain(now: number, limits: RetentionLimits): Promise<boolean> {
    return this.#call("retain", "", () => this.#inner.retain(now, limits));
  }
  destroy(agent: AgentKey): Promise<void> {
    return this.#call("destroy", agent, () => this.#inner.destroy(agent));
  }
  close(): Promise<void> {
    return this.#call("close", "", () => this.#inner.close());
  }
  enqueue(agent: AgentKey, command: Command): Promise<Accepted> {
    return this.#call("enqueue", command.id, () => this.#inner.enqueue(agent, command));
  }
  due(now: number, countMax: number, after?: Due): Promise<readonly Due[]> {
    return this.#call("due", "", () => this.#inner.due(now, countMax, after));
  }
  head(agent: AgentKey): Promise<Head | null> {
    return this.#call("head", agent, () => this.#inner.head(agent));
  }
  peek(agent: AgentKey): Promise<Json> {
    return this.#call("peek", agent, () => this.#inner.peek(agent));
  }
  list(after: AgentKey | null, countMax: number): Promise<readonly Head[]> {
    return this.#call("list", "", () => this.#inner.list(after, countMax));
  }
  watch(agent: AgentKey, listener: () => void): () => void {
    return this.#inner.watch(agent, () => {
      this.#scene.schedule.put({ owner: this.#owner, label: "watch", run: listener });
    });
  }

  #call<T>(port: string, about: string | (() => string), run: () => Promise<T>): Promise<T> {
    const { schedule } = this.#scene;
    const owner = this.#owner;
    const name = (): string => `${port} ${typeof about === "string" ? about : about()}`.trimEnd();
    return new Promise((resolve, reject) => {
      const arrive = async (): Promise<void> => {
        let answer: () => void;
        try {
          this.#refuse(port);
          const value = await run();
          answer = () => resolve(value);
        } catch (error) {
          answer = () => reject(error);
        }
        schedule.put({ owner, label: () => `  answer of ${name()}`, run: answer });
      };
      schedule.put({ owner, label: name, port, run: arrive });
    });
  }

  #refuse(port: string): void {
    const { outage, schedule } = this.#scene;
    if (schedule.now >= outage.until || port === "commit") return;
    if (outage.reads || isWrite(port)) throw unavailable();
  }

  async #load(agent: AgentKey): Promise<Loaded> {
    const loaded = await this.#inner.load(agent);
    if (loaded.state !== null) this.#scene.mirror.durable.add(loaded.state as object);
    return loaded;
  }

  async #commit(batch: readonly AgentCommit[]): Promise<readonly CommitResult[]> {
    const { outage, schedule, faults, mirror } = this.#scene;
    if (schedule.now < outage.until) return batch.map(() => ({ kind: "unavailable", code: "DISK_FULL" }));
    const results = await this.#inner.commit(batch);
    batch.forEach((item, index) => {
      const result = results[index];
      if (result?.kind === "landed") mirror.landed(item, this.#owner.name);
      else this.#odd(item, result);
    });
    const n = faults.count("commit");
    const lost = faults.find("ambiguous", ({ commit }) => commit === n);
    if (lost) return batch.map(() => ({ kind: "unavailable", code: "CONNECTION_LOST" }));
    return results;
  }

  /** A live owner's commit lands, or waits. Anything else is a fault of the runtime, unless there are two owners. */
  #odd(item: AgentCommit, result: CommitResult | undefined): void {
    this.#scene.schedule.note(`  ${result?.kind} ${"code" in (result ?? {}) ? (result as { code: string }).code : ""}`);
    if (result?.kind === "unavailable") return;
    if (result?.kind === "fenced" && this.#scene.zombies) return;
    const code = result?.kind === "refused" ? ` (${result.code})` : "";
    this.#scene.fail("R2", `a commit of ${describe(item)} was ${result?.kind}${code}`);
  }
}

function unavailable(): PerdureError {
  return new PerdureError({
    code: "STORE_UNAVAILABLE",
    message: "The store does not answer.",
    next: "It is tried again.",
    retriable: true,
  });
}

function describe(item: AgentCommit): string {
  const chunks = (item.chunks ?? []).reduce((sum, piece) => sum + piece.chunks.length, 0);
  const calls = (item.ledger ?? []).map((row) => `${row.state} ${row.ordinal}`);
  const turns = (item.turns ?? []).map((row) => `${row.status} ${row.id}`);
  const phase = item.state ? phaseOf(item.state.value) : "";
  const parts = [phase, chunks > 0 ? `${chunks} chunks` : "", ...turns, ...calls];
  return `${item.agent}@${item.epoch}.${item.seq} {${parts.filter((part) => part !== "").join(", ")}}`;
}

function phaseOf(state: Json): string {
  const turn = (state as { turn?: { phase?: { kind?: string }; incident?: { kind?: string } } | null }).turn;
  if (!turn) return "idle";
  return turn.incident?.kind === "none" ? `${turn.phase?.kind}` : `${turn.phase?.kind}/${turn.incident?.kind}`;
}
