import { at, delta, drive, put, readChunks, submit, tombstone, turnRow } from "./driver.ts";
import type { FullStore, Test } from "./world.ts";

const agent = "chat/one";

async function sweep(store: FullStore, now: number, rowsMax: number): Promise<number> {
  for (let slices = 1; slices < 1_000; slices += 1) {
    const more = await store.retain(now, { chunksMs: 100, tombstonesMs: 500, rowsMax });
    if (!more) return slices;
  }
  throw new Error("retention does not come to an end");
}

/** Retention in slices. */
export function retentionTests(test: Test): void {
  test("[ST7] retention takes chunks of turns that settled long ago, in small slices", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    for (let n = 0; n < 20; n += 1) {
      const chunks = ["old", "fresh", "open"].map((turn) => ({ turn, first: n, chunks: [delta(`${n}`)] }));
      await owner.land({ chunks });
    }
    const turns = [turnRow("old", "settled", at), turnRow("fresh", "settled", at + 50), turnRow("open")];
    await owner.land({ turns, messages: [put("m1", 0, "kept")] });
    const lengths = async (): Promise<number[]> =>
      Promise.all(["old", "fresh", "open"].map(async (turn) => (await readChunks(store, agent, turn)).length));
    expect([await sweep(store, at + 99, 3), await lengths()]).toEqual([1, [20, 20, 20]]);
    expect(await store.retain(at + 100, { chunksMs: 100, tombstonesMs: 500, rowsMax: 3 })).toBe(true);
    const left = (await lengths())[0] ?? 0;
    expect(left >= 17 && left < 20).toBe(true);
    expect((await sweep(store, at + 100, 3)) > 4).toBe(true);
    expect(await lengths()).toEqual([0, 20, 20]);
    expect(await store.chunks(agent, "old", 4, 99)).toEqual({ segments: [], next: 4, more: false });
    expect([(await store.turn(agent, "old"))?.id, (await store.message(agent, "m1"))?.id]).toEqual(["old", "m1"]);
    await sweep(store, at + 10_000, 1_000);
    expect(await lengths()).toEqual([0, 0, 20]);
  });

  test("[ST7] chunks that land after their turn has settled go with it", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    await owner.land({ turns: [turnRow("t1", "settled", at)] });
    await owner.land({ chunks: [{ turn: "t1", first: 0, chunks: [delta("late")] }] });
    expect((await readChunks(store, agent, "t1")).length).toBe(1);
    await sweep(store, at + 100, 9);
    expect(await readChunks(store, agent, "t1")).toEqual([]);
  });

  test("[ST7] retention takes old tombstones, never inbox rows", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    const consumed = Array.from({ length: 7 }, (_, n) => ({ ...tombstone(`c${n}`), at: at + n }));
    await owner.land({ consumed });
    await store.enqueue(agent, submit("waiting"));
    expect((await sweep(store, at + 504, 2)) > 2).toBe(true);
    const left = await Promise.all(consumed.map(async ({ id }) => (await store.tombstone(agent, id)) !== null));
    expect(left).toEqual([false, false, false, false, false, true, true]);
    expect(await store.enqueue(agent, submit("c0"))).toEqual({ kind: "accepted" });
    expect((await store.load(agent)).inbox.map((command) => command.id)).toEqual(["waiting", "c0"]);
  });
}
