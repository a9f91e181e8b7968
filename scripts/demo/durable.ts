/** What is in the file, read beside its owner or after its death through a read-only connection: it changes nothing. */
import { DatabaseSync } from "node:sqlite";
import type { LedgerRow } from "../../src/core/records.ts";
import type { Chunk } from "../../src/core/transcript.ts";

export interface Durable {
  /** The chunk log of the one turn that there is. */
  readonly chunks: readonly Chunk[];
  readonly calls: readonly Pick<LedgerRow, "tool" | "state" | "runs">[];
}

export function durableIn(path: string): Durable {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 1_000 });
  try {
    const texts = (sql: string) =>
      db
        .prepare(sql)
        .all()
        .map((row) => JSON.parse(String(row["json"])) as unknown);
    return {
      chunks: (texts("SELECT json FROM segment ORDER BY log, first") as Chunk[][]).flat(),
      calls: texts("SELECT json FROM ledger ORDER BY turn, ordinal") as LedgerRow[],
    };
  } finally {
    db.close();
  }
}

/** The texts of an answer, one a step, as far as the chunks go. */
export function stepTexts(chunks: Iterable<Chunk>): string[] {
  const texts: string[] = [];
  for (const chunk of chunks) {
    if (chunk.type === "start-step") texts.push("");
    if (chunk.type === "text-delta") texts.push(`${texts.pop() ?? ""}${String(chunk["delta"])}`);
  }
  return texts;
}

/** Text is being written: nothing after it has begun. */
export function inMidText({ chunks }: Durable): boolean {
  return chunks.at(-1)?.type === "text-delta";
}
