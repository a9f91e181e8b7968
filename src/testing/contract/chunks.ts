import { delta, drive, put, readChunks, state, turnRow } from "./driver.ts";
import type { FullStore, Test } from "./world.ts";

const agent = "chat/one";

/** A turn of segments of the given sizes; the chunk at offset n says n. */
async function logOf(store: FullStore, sizes: readonly number[]): Promise<void> {
  const owner = await drive(store, agent);
  let first = 0;
  for (const size of sizes) {
    const chunks = Array.from({ length: size }, (_, i) => delta(`${first + i}`));
    await owner.land({ chunks: [{ turn: "t1", first, chunks }] });
    first += size;
  }
}

function texts(chunks: readonly { readonly [field: string]: unknown }[]): string {
  return chunks.map((chunk) => chunk["delta"]).join(" ");
}

/** ST7 for chunk logs. */
export function chunkTests(test: Test): void {
  test("[ST7] chunks come back by offset, cut in the middle of a segment", async ({ store }, expect) => {
    await logOf(store, [3, 1, 4]);
    expect(texts(await readChunks(store, agent, "t1"))).toBe("0 1 2 3 4 5 6 7");
    for (let from = 0; from <= 8; from += 1) {
      const page = await store.chunks(agent, "t1", from, 100_000);
      expect([page.next, page.more, page.segments[0]?.first]).toEqual([8, false, from === 8 ? undefined : from]);
      const expected = Array.from({ length: 8 - from }, (_, i) => `${from + i}`).join(" ");
      expect(texts(page.segments.flatMap((segment) => segment.chunks))).toBe(expected);
    }
  });

  test("[ST7] a page keeps to its bytes, and has at least one segment", async ({ store }, expect) => {
    await logOf(
      store,
      Array.from({ length: 40 }, () => 2),
    );
    const page = await store.chunks(agent, "t1", 0, 500);
    const bytes = JSON.stringify(page.segments).length;
    expect([page.more, page.segments.length > 1, bytes < 1_000, page.next]).toEqual([
      true,
      true,
      true,
      page.segments.length * 2,
    ]);
    const least = await store.chunks(agent, "t1", 7, 0);
    expect([least.segments.length, least.segments[0]?.first, least.next, least.more]).toEqual([1, 7, 8, true]);
    const all = await readChunks(store, agent, "t1", 1, 300);
    expect(all.length).toBe(79);
  });

  test("[ST7] an empty page answers the offset asked for", async ({ store }, expect) => {
    await logOf(store, [2]);
    for (const [turn, from] of [
      ["t1", 2],
      ["t1", 50],
      ["unknown", 0],
      ["unknown", 9],
    ] as const) {
      expect(await store.chunks(agent, turn, from, 1_000)).toEqual({ segments: [], next: from, more: false });
    }
    expect(await store.chunks("chat/nobody", "t1", 3, 9)).toEqual({ segments: [], next: 3, more: false });
  });

  test("[ST7] a page that was read does not follow what lands later", async ({ store }, expect) => {
    await logOf(store, [2]);
    const page = await store.chunks(agent, "t1", 0, 1_000);
    const owner = await drive(store, agent);
    const chunks = [delta("2")];
    await owner.land({ chunks: [{ turn: "t1", first: 2, chunks }] });
    chunks.push(delta("never committed"));
    expect(texts(page.segments.flatMap((segment) => segment.chunks))).toBe("0 1");
    expect(texts(await readChunks(store, agent, "t1"))).toBe("0 1 2");
  });

  test("[ST1] offsets are dense and never reused", async ({ store }, expect) => {
    await logOf(store, [3]);
    for (const first of [0, 2, 4]) {
      const owner = await drive(store, agent);
      const result = await owner.send({ state: state(first), chunks: [{ turn: "t1", first, chunks: [delta("x")] }] });
      expect(result.kind).toBe("refused");
      await (await drive(store, agent)).land({ state: state("alive") });
    }
    expect((await readChunks(store, agent, "t1")).length).toBe(3);
  });

  test("[ST7] logs of turns and agents do not mix, also inside one commit", async ({ store }, expect) => {
    const [one, two] = [await drive(store, "chat/one"), await drive(store, "chat/two")];
    const pieces = [
      { turn: "t1", first: 0, chunks: [delta("a")] },
      { turn: "t2", first: 5, chunks: [delta("b")] },
      { turn: "t1", first: 1, chunks: [delta("c")] },
      { turn: "t1", first: 2, chunks: [] },
    ];
    await one.land({ chunks: pieces });
    await two.land({ chunks: [{ turn: "t1", first: 0, chunks: [delta("d")] }] });
    expect(texts(await readChunks(store, "chat/one", "t1"))).toBe("a c");
    expect(texts(await readChunks(store, "chat/two", "t1"))).toBe("d");
    const page = await store.chunks("chat/one", "t2", 0, 1_000);
    expect(page).toEqual({ segments: [{ first: 5, chunks: [delta("b")] }], next: 6, more: false });
  });

  test("[ST1] clear wipes the transcript before the rest of its commit, and keeps what is open", async (world, expect) => {
    const { store } = world;
    const owner = await drive(store, agent);
    const turns = [turnRow("t1", "settled", 5), turnRow("t2", "running"), turnRow("t3", "queued")];
    const chunks = ["t1", "t2"].map((turn) => ({ turn, first: 0, chunks: [delta(turn)] }));
    await owner.land({ state: state("kept", 3), turns, chunks, messages: [put("m1", 0), put("m2", null)] });
    await owner.land({
      clear: true,
      messages: [put("m1", 0, "new")],
      chunks: [{ turn: "t2", first: 1, chunks: [delta("after")] }],
    });
    expect((await store.messages(agent, -1, 9)).map(({ message }) => message.parts.length)).toEqual([1]);
    expect(await store.message(agent, "m2")).toBe(null);
    expect(await Promise.all(["t1", "t2", "t3"].map(async (id) => (await store.turn(agent, id))?.status))).toEqual([
      undefined,
      "running",
      "queued",
    ]);
    expect(await readChunks(store, agent, "t1")).toEqual([]);
    expect(await store.chunks(agent, "t2", 0, 99)).toEqual({
      segments: [{ first: 1, chunks: [delta("after")] }],
      next: 2,
      more: false,
    });
    const loaded = await store.load(agent);
    expect([loaded.state, loaded.head.wake]).toEqual(["kept", 3]);
  });
}
