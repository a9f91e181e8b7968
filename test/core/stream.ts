/** One answer through `translate` onto a log, as the step runner does it. */
import { type Assembly, foldAll, newAssembly, textSoFar } from "../../src/core/assembly.ts";
import type { Mode } from "../../src/core/continuation.ts";
import type { Chunk } from "../../src/core/transcript.ts";
import { newTranslation, open, settleText, type Translation, translate } from "../../src/core/translate.ts";

export interface Setting {
  /** Chunks of the step that the log has already. */
  readonly log?: readonly Chunk[];
  readonly mode?: Mode;
  readonly step?: number;
  readonly taken?: readonly string[];
}

export interface Answer {
  readonly assembly: Assembly;
  readonly translation: Translation;
  /** What was written of the answer. */
  readonly chunks: Chunk[];
}

export function begin({ log = [], mode = "fresh", step = 0, taken = [] }: Setting = {}): Answer {
  const assembly = foldAll(log, 0, newAssembly());
  const labels = new Set([...assembly.labels, ...taken]);
  return { assembly, translation: newTranslation(step, assembly, labels, mode, textSoFar(assembly)), chunks: [] };
}

export function take(answer: Answer, chunks: readonly Chunk[]): Chunk[] {
  const out = chunks.flatMap((chunk) => translate(answer.translation, chunk));
  return write(answer, out);
}

/** No more text will come: the answer has ended, or is silent. */
export function rest(answer: Answer): Chunk[] {
  return write(answer, settleText(answer.translation));
}

function write(answer: Answer, chunks: Chunk[]): Chunk[] {
  foldAll(chunks, 1, answer.assembly);
  answer.chunks.push(...chunks);
  return chunks;
}

/** A whole answer, to its end. */
export function answered(said: readonly Chunk[], setting: Setting = {}): Answer {
  const answer = begin(setting);
  take(answer, said);
  write(answer, [...open(answer.translation), ...settleText(answer.translation)]);
  return answer;
}

export function text(id: string, ...deltas: string[]): Chunk[] {
  return [{ type: "text-start", id }, ...deltas.map((delta) => ({ type: "text-delta", id, delta }))];
}

export function shown(answer: Answer): string {
  return textSoFar(answer.assembly);
}
