/** Group commit over all agents, with a store that answers when the test says so. */
import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../src/adapters/memory/store.ts";
import type { AgentCommit, CommitResult, Store } from "../../src/ports/store.ts";
import { Committer } from "../../src/runtime/committer.ts";
import { owner } from "./kit.ts";
import { FakeTime } from "./time.ts";

interface Asked {
  readonly names: string[];
  readonly atMs: number;
  readonly batch: readonly AgentCommit[];
  /** Kinds in order; one for all when there is only one. */
  answer(...kinds: CommitResult["kind"][]): Promise<void>;
}

const resultOf = (kind: CommitResult["kind"]): CommitResult =>
  kind === "refused" || kind === "unavailable" ? { kind, code: "TEST" } : { kind };

class Bench {
  readonly time = new FakeTime();
  readonly asked: Asked[] = [];
  /** What each entry was told, in order: `a1 landed`. */
  readonly told: string[] = [];
  readonly committer: Committer;

  constructor(commit?: Store["commit"]) {
    const store = { commit: commit ?? ((batch) => this.#ask(batch)) } as Store;
    this.committer = new Committer(store, this.time, this.time);
  }

  /** `a1`: the first commit of agent a. */
  add(name: string, control = false): void {
    const commit: AgentCommit = { agent: name.slice(0, -1), epoch: 1, seq: Number(name.slice(-1)), at: 0 };
    const tell = (what: string): void => void this.told.push(`${name} ${what}`);
    this.committer.add({
      commit,
      control,
      taken: false,
      landed: () => tell("landed"),
      failed: ({ kind }) => tell(kind),
    });
  }

  /** One commit that took so long, so that there is a load to measure by. */
  async took(ms: number): Promise<void> {
    this.add("z1");
    await this.time.settle();
    await this.time.advance(ms);
    await this.asked.at(-1)!.answer("landed");
  }

  get names(): string[][] {
    return this.asked.map(({ names }) => names);
  }

  #ask(batch: readonly AgentCommit[]): Promise<readonly CommitResult[]> {
    const { promise, resolve } = Promise.withResolvers<readonly CommitResult[]>();
    this.asked.push({
      names: batch.map(({ agent, seq }) => `${agent}${seq}`),
      atMs: this.time.elapsed(),
      batch,
      answer: (...kinds) => {
        resolve(batch.map((_, index) => resultOf(kinds[index] ?? kinds[0]!)));
        return this.time.settle();
      },
    });
    return promise;
  }
}

describe("the order of commits", () => {
  it("[G1] one batch is on its way at a time, and an agent's commits land in the order in which they were made", async () => {
    const bench = new Bench();
    for (const name of ["a1", "b1", "a2"]) bench.add(name);
    await bench.time.settle();
    for (const name of ["b2", "a3", "c1"]) bench.add(name, true);
    await bench.time.advance(1_000);
    expect(bench.names).toEqual([["a1", "b1", "a2"]]);
    await bench.asked[0]!.answer("landed");
    await bench.time.settle();
    expect(bench.names).toEqual([
      ["a1", "b1", "a2"],
      ["b2", "a3", "c1"],
    ]);
    await bench.asked[1]!.answer("landed");
    expect(bench.told).toEqual(["a1", "b1", "a2", "b2", "a3", "c1"].map((name) => `${name} landed`));
  });

  it("[G1] a commit that is added while another is told that it landed is neither lost nor overtaken", async () => {
    const bench = new Bench();
    const commit: AgentCommit = { agent: "a", epoch: 1, seq: 1, at: 0 };
    const landed = (): void => bench.add("a2", true);
    bench.committer.add({ commit, control: true, taken: false, landed, failed: () => {} });
    bench.add("b1");
    await bench.time.settle();
    await bench.asked[0]!.answer("landed");
    expect(bench.names.slice(1)).toEqual([["a2"]]);
  });

  it("[G1] drained: at once when nothing is pending, else when the last answer is there", async () => {
    const bench = new Bench();
    await bench.committer.drained();
    let drained = false;
    bench.add("a1");
    void bench.committer.drained().then(() => {
      drained = true;
    });
    await bench.time.settle();
    bench.add("a2");
    await bench.asked[0]!.answer("landed");
    expect(drained).toBe(false);
    await bench.time.advance(25);
    await bench.asked[1]!.answer("landed");
    expect(drained).toBe(true);
  });
});

describe("when a commit goes", () => {
  it("[G2] at once when the store has been idle", async () => {
    const bench = new Bench();
    await bench.took(10);
    await bench.time.advance(60);
    bench.add("a1");
    const atMs = bench.time.elapsed();
    await bench.time.settle();
    expect(bench.asked.at(-1)).toMatchObject({ names: ["a1"], atMs });
  });

  it.each([
    { tookMs: 0, waitsMs: 2 },
    { tookMs: 3, waitsMs: 12 },
    { tookMs: 6, waitsMs: 24 },
    { tookMs: 50, waitsMs: 25 },
  ])(
    "[G2] under load after 4 times the last commit, within 2 to 25 ms: $tookMs ms, $waitsMs ms",
    async ({ tookMs, waitsMs }) => {
      const bench = new Bench();
      await bench.took(tookMs);
      bench.add("a1");
      await bench.time.advance(waitsMs - 1);
      bench.add("b1");
      expect(bench.names).toEqual([["z1"]]);
      await bench.time.advance(1);
      expect(bench.names.at(-1)).toEqual(["a1", "b1"]);
    },
  );

  it("[G2] a control commit does not wait, and takes along what does", async () => {
    const bench = new Bench();
    await bench.took(10);
    bench.add("a1");
    await bench.time.advance(3);
    expect(bench.names).toEqual([["z1"]]);
    bench.add("b1", true);
    await bench.time.settle();
    expect(bench.asked.at(-1)).toMatchObject({ names: ["a1", "b1"], atMs: 13 });
    await bench.asked.at(-1)!.answer("landed");
    await bench.time.advance(100);
    expect(bench.asked.length).toBe(2);
  });

  it("[G2] a control commit that came while the store was busy goes as soon as it is not", async () => {
    const bench = new Bench();
    bench.add("a1");
    await bench.time.settle();
    bench.add("a2");
    bench.add("b1", true);
    await bench.time.advance(40);
    await bench.asked[0]!.answer("landed");
    expect(bench.asked[1]).toMatchObject({ names: ["a2", "b1"], atMs: 40 });
  });
});

describe("an agent whose commit can never land", () => {
  it.each(["fenced", "conflict", "refused"] as const)(
    "[G3] %s: it is dead, and its neighbours' commits land",
    async (kind) => {
      const bench = new Bench();
      for (const name of ["a1", "b1", "b2", "c1"]) bench.add(name);
      await bench.time.settle();
      bench.add("b3", true);
      bench.add("c2", true);
      await bench.asked[0]!.answer("landed", kind, "conflict", "landed");
      // b2 is told what became of b1, which is why it failed.
      expect(bench.told).toEqual(["a1 landed", `b1 ${kind}`, `b2 ${kind}`, "c1 landed", `b3 ${kind}`]);
      expect(bench.names.at(-1)).toEqual(["c2"]);
    },
  );
});

describe("a store that is unavailable", () => {
  it("[G4] the very same commits are tried again until the answer is definite, and nobody is told before", async () => {
    const bench = new Bench();
    bench.add("a1");
    bench.add("b1", true);
    await bench.time.settle();
    await bench.asked[0]!.answer("unavailable");
    expect(bench.committer.available).toBe(false);
    bench.add("a2", true);
    await bench.time.settle();
    expect(bench.asked.length).toBe(1);
    const waits: number[] = [];
    for (let tries = 1; tries <= 8; tries++) {
      waits.push(bench.time.armed[0]!);
      await bench.time.advance(bench.time.armed[0]!);
      expect(bench.names.slice(tries)).toEqual([["a1", "b1", "a2"]]);
      expect(bench.asked[tries]!.batch[0]).toBe(bench.asked[0]!.batch[0]);
      await bench.asked[tries]!.answer(tries === 8 ? "landed" : "unavailable");
      if (tries < 8) expect([bench.told, bench.committer.available]).toEqual([[], false]);
    }
    expect(waits).toEqual([20, 40, 80, 160, 320, 640, 1_000, 1_000]);
    expect(bench.told).toEqual(["a1 landed", "b1 landed", "a2 landed"]);
    expect(bench.committer.available).toBe(true);
  });

  it.each([
    { name: "rejects", commit: () => Promise.reject(new Error("connection lost")) },
    { name: "leaves the answer out", commit: async () => [] },
  ])("[G4] one that $name has said nothing definite", async ({ commit }) => {
    let asked = 0;
    const bench = new Bench((batch) =>
      asked++ === 0 ? commit() : Promise.resolve(batch.map(() => resultOf("landed"))),
    );
    bench.add("a1", true);
    await bench.time.settle();
    expect([bench.told, bench.committer.available]).toEqual([[], false]);
    await bench.time.advance(20);
    expect([bench.told, bench.committer.available]).toEqual([["a1 landed"], true]);
  });

  it("[G4][G1] what landed beside it is told at once; what comes after it waits, whatever was said of that", async () => {
    const bench = new Bench();
    for (const name of ["a1", "a2", "b1"]) bench.add(name);
    await bench.time.settle();
    await bench.asked[0]!.answer("unavailable", "conflict", "landed");
    expect(bench.told).toEqual(["b1 landed"]);
    await bench.time.advance(20);
    expect(bench.names.at(-1)).toEqual(["a1", "a2"]);
    await bench.asked.at(-1)!.answer("landed");
    expect(bench.told).toEqual(["b1 landed", "a1 landed", "a2 landed"]);
  });

  it("[G4][G3] a definite no after it: the agent is dead with all that it had waiting", async () => {
    const bench = new Bench();
    bench.add("a1");
    await bench.time.settle();
    await bench.asked[0]!.answer("unavailable");
    bench.add("a2");
    bench.add("b1");
    await bench.time.advance(20);
    await bench.asked[1]!.answer("fenced", "conflict", "landed");
    expect(bench.told).toEqual(["a1 fenced", "a2 fenced", "b1 landed"]);
    expect(bench.committer.available).toBe(true);
  });

  it("[G4] an answer that was lost: the commit had landed, is repeated, and lands once", async () => {
    const store = new MemoryStore();
    await store.open(owner);
    await store.claim("a", 0);
    let lost = 0;
    const bench = new Bench(async (batch) => {
      const results = await store.commit(batch);
      return lost++ === 0 ? batch.map(() => ({ kind: "unavailable", code: "LOST" })) : results;
    });
    bench.add("a1");
    bench.add("a2");
    await bench.time.advance(20);
    expect(lost).toBe(2);
    expect(bench.told).toEqual(["a1 landed", "a2 landed"]);
    expect(await store.head("a")).toMatchObject({ epoch: 1, seq: 2 });
  });
});
