/**
 * Ids as SQLite text. Raw text would turn every lone surrogate into U+FFFD, and so two ids into one; such ids, and
 * those with NUL, are stored as JSON behind a mark. All others are stored as they are, and sort by code point.
 */
const mark = "\u0001";

export function toKey(id: string): string {
  if (id.isWellFormed() && !id.includes("\u0000") && !id.startsWith(mark)) return id;
  return mark + JSON.stringify(id);
}

export function fromKey(key: string): string {
  return key.startsWith(mark) ? (JSON.parse(key.slice(mark.length)) as string) : key;
}

export function toKeyOrNull(id: string | null): string | null {
  return id === null ? null : toKey(id);
}

/** The value of a JSON text, or undefined when the text is damaged: such a record loses itself only (ST9). */
export function decode<T>(json: string): T | undefined {
  try {
    return JSON.parse(json) as T;
  } catch {
    return undefined;
  }
}
