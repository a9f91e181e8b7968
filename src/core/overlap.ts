/**
 * Overlap: where a continuation was asked for by a user message, models like to begin by repeating the end of what
 * they had said. An exact repeat of a suffix of the seen text, of at least 16 characters, is trimmed; shorter repeats
 * stay, since they may be meant (V1). Decided before anything of the continuation is
 * durable, so that nothing shown is ever taken back.
 */
import { limits } from "./limits.ts";

export type Overlap =
  /** The held text may still turn out to be a longer repeat. */
  { readonly kind: "open" } | { readonly kind: "decided"; readonly trim: number };

/** `closed`: no more text will be waited for, by silence or by the end of the answer. */
export function overlap(seen: string, held: string, closed: boolean): Overlap {
  const { overlapCharsMin, overlapCharsMax } = limits;
  const longest = Math.min(seen.length, overlapCharsMax);
  let trim = 0;
  for (let length = longest; length >= overlapCharsMin; length--) {
    const suffix = seen.slice(seen.length - length);
    if (length > held.length) {
      if (!closed && held.length < overlapCharsMax && suffix.startsWith(held)) return { kind: "open" };
    } else if (held.startsWith(suffix)) {
      trim = length;
      break;
    }
  }
  return { kind: "decided", trim };
}
