/** Why an item can never land. */
export class Refusal extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** Writes of one item, each with its undo: what an item wrote goes back when a later write of it is refused (ST1). */
export class Journal {
  readonly #undo: (() => void)[] = [];

  set<K, V>(map: Map<K, V>, key: K, value: V): void {
    const had = map.has(key);
    const old = map.get(key) as V;
    map.set(key, value);
    this.#undo.push(() => (had ? map.set(key, old) : map.delete(key)));
  }

  /** Undone, the key comes last: a map whose order matters is changed by `assign` of a new map. */
  delete<K, V>(map: Map<K, V>, key: K): void {
    if (!map.has(key)) return;
    const old = map.get(key) as V;
    map.delete(key);
    this.#undo.push(() => map.set(key, old));
  }

  assign<T, K extends keyof T>(target: T, key: K, value: T[K]): void {
    const old = target[key];
    target[key] = value;
    this.#undo.push(() => {
      target[key] = old;
    });
  }

  push<T>(list: T[], value: T): void {
    list.push(value);
    this.#undo.push(() => list.pop());
  }

  rollback(): void {
    for (const undo of this.#undo.reverse()) undo();
  }
}

/** JSON text of a value. Throws `Refusal` for what JSON cannot hold: cycles, BigInt, undefined, too deep. */
export function encode(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    throw new Refusal("NOT_JSON");
  }
  if (text === undefined) throw new Refusal("NOT_JSON");
  return text;
}

/** The value of a JSON text, or undefined when the text is damaged: such a record loses itself only (ST9). */
export function decode<T>(text: string): T | undefined {
  try {
    return JSON.parse(text) as T;
  } catch {
    return undefined;
  }
}
