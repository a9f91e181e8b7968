import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";

/** Prepared statements of one connection, prepared once. Each call ends its statement: none is open across an await. */
export class Statements {
  readonly #db: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();
  /** About how many bytes the writes since the last checkpoint have put into the WAL. */
  walBytes = 0;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** The first row, as the columns of the statement say it is. */
  get<T>(sql: string, ...values: SQLInputValue[]): T | undefined {
    return this.#statement(sql).get(...values) as T | undefined;
  }

  all<T>(sql: string, ...values: SQLInputValue[]): T[] {
    return this.#statement(sql).all(...values) as T[];
  }

  /** The number of rows changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    // A row costs a part of a page besides its own text: about 400 bytes, measured over batches of 50.
    this.walBytes += 400;
    for (const value of values) if (typeof value === "string") this.walBytes += value.length;
    return Number(this.#statement(sql).run(...values).changes);
  }

  #statement(sql: string): StatementSync {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#prepared.set(sql, statement);
    }
    return statement;
  }
}
