/** Values of users and providers, made plain JSON. */
import type { Json } from "../../core/json.ts";

/** A copy as JSON has it: nothing becomes null, dates become texts, members that JSON leaves out are left out. Throws on the rest. */
export function plain(value: unknown, what: string): Json {
  if (value === undefined) return null;
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new TypeError(`${what} is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
  if (text === undefined) throw new TypeError(`${what} is not JSON: a ${typeof value} cannot be stored`);
  return JSON.parse(text) as Json;
}

/** Names of tools come from models and clients: `constructor` is no tool. */
export function own<T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}

/** 53 bits of a text: enough to see that something changed, not to prove that nothing did. */
export function shortDigest(text: string): string {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    a = Math.imul(a ^ unit, 2654435761);
    b = Math.imul(b ^ unit, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return (4294967296 * (2097151 & b) + (a >>> 0)).toString(36);
}
