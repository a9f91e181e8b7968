import type { Timers } from "../ports/clock.ts";

/** The value of `work`, or undefined when it takes longer. A value of its own that is undefined becomes null. */
export async function within<T>(
  timers: Timers,
  ms: number,
  work: Promise<T>,
): Promise<NonNullable<T> | null | undefined> {
  let cancel = (): void => {};
  const late = new Promise<undefined>((resolve) => {
    cancel = timers.after(ms, () => resolve(undefined));
  });
  return Promise.race([work.then((value) => value ?? null), late]).finally(() => cancel());
}
