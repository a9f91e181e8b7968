import { at, drive, kinds, ledgerRow, notice, put, readChunks, state, submit, tombstone, turnRow } from "./driver.ts";
import type { Test } from "./world.ts";

const agent = "chat/one";

function deep(levels: number): unknown {
  let value: unknown = "bottom";
  for (let i = 0; i < levels; i += 1) value = i % 2 === 0 ? [value] : { "": value };
  return value;
}

/** Values that engines and careless code get wrong. */
const payloads: Readonly<Record<string, unknown>> = {
  "lone surrogates": ["\ud800", "a\udc00b", "\udfff\ud800"],
  "NUL and controls": "a\u0000b\u0001\u001f\u007f\u2028\u2029\ufeff\uffff",
  "keys of Object.prototype": JSON.parse(
    '{"__proto__":{"polluted":1},"constructor":2,"toString":null,"":3,"\\u0000":4}',
  ),
  "key order": { zebra: 1, apple: { y: 1, x: 2 }, mango: [], 7: "seven" },
  "big unicode": "😀👩‍👩‍👧‍👦 𝒜 Привет, 世界 e\u0301 \u{10FFFF}",
  numbers: [0, 1e308, 5e-324, -1.5, 2 ** 53, 0.1, 123456789012345680000],
  "empty things": [{}, [], "", null, false],
  "text that looks like SQL or JSON": '\'); DROP TABLE agent; -- " \\ {"a":1}',
  "deep nesting": deep(500),
  "a large text": "0123456789abcdef".repeat(20_000),
};

/** ST8: every payload, in every place that holds one. Compared as text: order of keys and `__proto__` included. */
export function payloadTests(test: Test): void {
  for (const [name, value] of Object.entries(payloads)) {
    test(`[ST8] ${name} come back equal from everywhere`, async (world, expect) => {
      const owner = await drive(world.store, agent);
      const part = { type: "data-x", value };
      const json = value as null;
      const rows = {
        turn: { ...turnRow("t1"), body: { value: json } },
        ledger: { ...ledgerRow("t1", 0), late: json },
        outbox: { ...notice("n1", 5), notice: { kind: "step", turn: "t1", step: 0, summary: { usage: json } } },
        command: submit("c1", "h", { body: { value: json } }),
      } as const;
      await world.store.enqueue(agent, rows.command);
      await owner.land({
        state: state(value, 1),
        chunks: [{ turn: "t1", first: 0, chunks: [part, part] }],
        messages: [
          { op: "put", message: { id: "m1", role: "user", metadata: value }, depth: 0, parts: [{ part, torn: true }] },
          { op: "parts", id: "m1", index: 0, parts: [{ part, origin: "x:y" }] },
        ],
        turns: [rows.turn],
        ledger: [rows.ledger],
        outboxPut: [rows.outbox as unknown as ReturnType<typeof notice>],
      });
      const store = await world.reopen();
      const loaded = await store.load(agent);
      const message = await store.message(agent, "m1");
      const found = [
        loaded.state,
        await readChunks(store, agent, "t1"),
        message?.metadata,
        message?.parts,
        await store.turn(agent, "t1"),
        await store.ledger(agent, "t1"),
        loaded.outbox,
        loaded.inbox,
      ];
      const parts = [
        { part, torn: true },
        { part, origin: "x:y" },
      ];
      const wanted = [value, [part, part], value, parts, rows.turn, [rows.ledger], [rows.outbox], [rows.command]];
      expect(JSON.stringify(found) === JSON.stringify(wanted)).toBe(true);
    });
  }

  test("[ST8] fields that are undefined are absent", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    await owner.land({ state: state({ a: undefined, b: 1 }) });
    expect(JSON.stringify((await store.load(agent)).state)).toBe('{"b":1}');
  });

  test("[ST8] ids that differ only in an odd character are different ids", async ({ store }, expect) => {
    const odd = [
      "x",
      "x\u0000",
      "x\ud800",
      "x\udfff",
      "x\ufffd",
      "\u0001x",
      '\u0001"x"',
      "X",
      "x ",
      "é",
      "e\u0301",
      "'",
    ];
    const owner = await drive(store, agent);
    await owner.land({ messages: odd.map((id, depth) => put(id, depth, id)), turns: odd.map((id) => turnRow(id)) });
    for (const id of odd) {
      expect((await store.message(agent, id))?.parts[0]?.part["text"] === id).toBe(true);
      expect((await store.turn(agent, id))?.id === id).toBe(true);
      expect((await store.enqueue(`chat/${id}`, submit(id))).kind).toBe("accepted");
      expect((await store.enqueue(agent, submit(id))).kind).toBe("accepted");
    }
    await owner.land({ consumed: odd.map((id) => ({ ...tombstone(id), turn: id })) });
    for (const id of odd) expect((await store.tombstone(agent, id))?.turn === id).toBe(true);
    const listed = (await store.list(null, 99)).map((head) => head.agent);
    expect(odd.every((id) => listed.includes(`chat/${id}`))).toBe(true);
  });

  test("[ST8] what a caller does to a value afterwards changes nothing", async ({ store }, expect) => {
    const owner = await drive(store, agent);
    const value = { list: [1] };
    const item = { agent, epoch: owner.epoch, seq: 1, at, state: state(value) };
    expect(kinds(await store.commit([item]))).toEqual(["landed"]);
    value.list.push(2);
    const read = (await store.load(agent)).state as { list: number[] };
    read.list.push(3);
    expect((await store.load(agent)).state).toEqual({ list: [1] });
  });
}
