/** A case that the types say cannot happen. Reaching it is a programmer's error, never an operating one. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}

/** For programmer's errors only. What can go wrong in operation is an event or a `PerdureError`. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${message}`);
}
