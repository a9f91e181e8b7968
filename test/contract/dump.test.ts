/** `dump` is one value for one history, whatever the adapter. */
import { afterEach, describe, expect, it } from "vitest";
import { MemoryStore } from "../../src/adapters/memory/store.ts";
import { SqliteStore } from "../../src/adapters/sqlite/store.ts";
import { agents, commitFor, randomCommand } from "../../src/testing/contract/dice.ts";
import { at, kinds } from "../../src/testing/contract/driver.ts";
import { pick, prng } from "../../src/testing/prng.ts";
import { label, scratch } from "./worlds.ts";

const place = scratch();
afterEach(() => place.remove());

describe("dump", () => {
  it("[S3] is equal on every adapter after equal histories", async () => {
    const [memory, sqlite] = [new MemoryStore(), new SqliteStore({ path: place.path })];
    const dice = prng(7);
    for (const store of [memory, sqlite]) {
      await store.open(label);
      expect(store.dump("chat/a")).toBe(null);
      for (const agent of agents) await store.claim(agent, at);
    }
    let landed = 0;
    for (let n = 0; n < 400; n += 1) {
      const command = randomCommand(dice);
      const agent = pick(dice, agents);
      const commit = commitFor(dice, memory.disk, pick(dice, agents));
      const answers: string[] = [];
      for (const store of [memory, sqlite]) {
        answers.push(JSON.stringify([await store.enqueue(agent, command), kinds(await store.commit([commit]))]));
      }
      expect(answers[1]).toBe(answers[0]);
      landed += answers[0]?.includes("landed") ? 1 : 0;
    }
    for (const agent of agents) expect(JSON.stringify(sqlite.dump(agent))).toBe(JSON.stringify(memory.dump(agent)));
    expect(landed).toBeGreaterThan(200);
    await sqlite.close();
  });
});
