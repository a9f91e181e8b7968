/**
 * Translate: one run of the model, from the provider's parts to chunks of the turn's log.
 *
 *   T7. Part ids are ours, minted from the log: unique in the message, whatever a provider reuses.
 *   T8. A continuation joins the open text part when neither side has provider metadata; else that part is closed and
 *       another begins. A repeat of what was seen is trimmed before it is durable (section overlap).
 *   T10. A text part begins with its first character: an answer of empty text leaves no trace.
 */
import { type Assembly, openText } from "./assembly.ts";
import type { Mode } from "./continuation.ts";
import { overlap } from "./overlap.ts";
import type { Chunk } from "./transcript.ts";

export interface Translation {
  readonly step: number;
  /** Labels and ids that the message holds already. */
  readonly taken: ReadonlySet<string>;
  readonly ids: Map<string, string>;
  /** Labels of calls of this answer that are whole. */
  readonly used: Set<string>;
  opened: boolean;
  minted: number;
  /** The text part that the log has open. Only a plain one, without provider metadata, is joined. */
  join: { readonly id: string; readonly plain: boolean; joined: boolean } | null;
  /** Text of a continuation that may turn out to be a repeat. */
  held: { readonly seen: string; text: string; readonly raw: string } | null;
  /** What a continuation must not repeat; null once it is known that it does not. */
  seen: string | null;
  /** White space that was shown and not sent, because a prefill may not end in it: the answer begins with it again. */
  space: string;
  /** Text parts that have begun at the provider and not here. */
  readonly pending: Map<string, Chunk>;
}

export function newTranslation(
  step: number,
  assembly: Assembly,
  taken: ReadonlySet<string>,
  mode: Mode,
  seen: string,
): Translation {
  const open = mode === "fresh" ? null : openText(assembly);
  return {
    step,
    taken,
    ids: new Map(),
    used: new Set(),
    opened: assembly.opened,
    minted: assembly.labels.size,
    join: open && { id: open.id, plain: open.plain, joined: false },
    held: null,
    seen: mode === "ask" && seen !== "" ? seen : null,
    space: mode === "prefill" ? seen.slice(seen.trimEnd().length) : "",
    pending: new Map(),
  };
}

/** Chunks for one content part of the provider. */
export function translate(t: Translation, chunk: Chunk): Chunk[] {
  const out: Chunk[] = open(t);
  switch (chunk.type) {
    case "text-start":
      if (chunk["providerMetadata"] === undefined) t.pending.set(String(chunk["id"]), chunk);
      else out.push(...settleText(t), ...leave(t), begin(t, chunk));
      return out;
    case "text-delta":
      return [...out, ...textDelta(t, chunk)];
    case "text-end":
      return [...out, ...textEnd(t, chunk)];
    case "custom":
      // What a provider adds is no content: every answer of Anthropic begins with it.
      return [...out, chunk];
    default:
      return [...out, ...settleText(t), ...leave(t), renamed(t, chunk)];
  }
}

/** The step is shown to have begun with the first thing that comes of it. */
export function open(t: Translation): Chunk[] {
  if (t.opened) return [];
  t.opened = true;
  return [{ type: "start-step" }];
}

/** No more text will be waited for: what is held is let go, but for a repeat of what was seen. */
export function settleText(t: Translation): Chunk[] {
  const { held } = t;
  if (!held) return [];
  t.held = null;
  t.seen = null;
  const decided = overlap(held.seen, held.text, true);
  const text = held.text.slice(decided.kind === "decided" ? decided.trim : 0);
  return text === "" ? [] : emitText(t, held.raw, { type: "text-delta", delta: text });
}

function textDelta(t: Translation, chunk: Chunk): Chunk[] {
  const raw = String(chunk["id"]);
  const delta = withoutSpace(t, String(chunk["delta"] ?? ""));
  const plain = chunk["providerMetadata"] === undefined;
  if (delta === "" && plain) return [];
  if (t.seen === null || !plain) return [...settleText(t), ...emitText(t, raw, { ...chunk, delta })];
  if (t.held && t.held.raw !== raw) return [...settleText(t), ...emitText(t, raw, chunk)];
  t.held ??= { seen: t.seen, text: "", raw };
  t.held.text += delta;
  const decided = overlap(t.held.seen, t.held.text, false);
  if (decided.kind === "open") return [];
  const text = t.held.text.slice(decided.trim);
  t.held = null;
  t.seen = null;
  return text === "" ? [] : emitText(t, raw, { type: "text-delta", delta: text });
}

function withoutSpace(t: Translation, delta: string): string {
  let same = 0;
  while (same < delta.length && same < t.space.length && delta[same] === t.space[same]) same++;
  t.space = same === delta.length ? t.space.slice(same) : "";
  return delta.slice(same);
}

function emitText(t: Translation, raw: string, chunk: Chunk): Chunk[] {
  const out: Chunk[] = [];
  const plain = chunk["providerMetadata"] === undefined;
  const started = t.pending.get(raw);
  if (started) {
    t.pending.delete(raw);
    if (t.join?.plain && !t.join.joined && plain) {
      t.join.joined = true;
      t.ids.set(`text:${raw}`, t.join.id);
    } else out.push(...leave(t), begin(t, started));
  } else if (t.join?.joined && !plain && t.ids.get(`text:${raw}`) === t.join.id) {
    // Metadata of the new item must not land on the text of the old one (rule 8 of the house).
    t.ids.delete(`text:${raw}`);
    t.join.joined = false;
    out.push(...leave(t), begin(t, { type: "text-start", id: raw }));
  }
  const id = t.ids.get(`text:${raw}`);
  return id === undefined ? out : [...out, { ...chunk, id }];
}

function textEnd(t: Translation, chunk: Chunk): Chunk[] {
  const raw = String(chunk["id"]);
  const out = settleText(t);
  if (t.pending.has(raw)) {
    const started = t.pending.get(raw);
    t.pending.delete(raw);
    // It said nothing. With metadata it is kept, since some providers put a marker on an empty part.
    if (chunk["providerMetadata"] === undefined || !started) return out;
    out.push(...leave(t), begin(t, started));
  }
  const id = t.ids.get(`text:${raw}`);
  if (id === undefined) return out;
  t.ids.delete(`text:${raw}`);
  if (t.join?.id === id) {
    t.join = null;
    return [...out, { type: "text-end", id }];
  }
  return [...out, { ...chunk, id }];
}

/** Closes the text that was cut, when what comes now is not part of it. One that was joined goes on until its own end. */
function leave(t: Translation): Chunk[] {
  const { join } = t;
  if (!join || join.joined) return [];
  t.join = null;
  return [{ type: "text-end", id: join.id }];
}

function begin(t: Translation, chunk: Chunk): Chunk {
  const id = mint(t);
  t.ids.set(`text:${String(chunk["id"])}`, id);
  return { ...chunk, id };
}

function mint(t: Translation): string {
  return `${t.step}-${t.minted++}`;
}

/** Any other part: its id, or its call's label, becomes ours. */
function renamed(t: Translation, chunk: Chunk): Chunk {
  if (chunk.type.startsWith("reasoning-") && chunk.type !== "reasoning-file") {
    const slot = `reasoning:${String(chunk["id"])}`;
    if (chunk.type === "reasoning-start") t.ids.set(slot, mint(t));
    return { ...chunk, id: t.ids.get(slot) ?? String(chunk["id"]) };
  }
  if (chunk["toolCallId"] === undefined) return chunk;
  const raw = String(chunk["toolCallId"]);
  const whole = chunk.type === "tool-input-available" || chunk.type === "tool-input-error";
  // A provider that begins another call under a label that it has used up means another call.
  const usedUp = t.used.has(t.ids.get(`call:${raw}`) ?? "");
  if (usedUp && (whole || chunk.type === "tool-input-start")) t.ids.delete(`call:${raw}`);
  const toolCallId = label(t, raw);
  if (whole) t.used.add(toolCallId);
  return { ...chunk, toolCallId };
}

/** The provider's label, unless the message has it already (providers reuse `call_0`). */
function label(t: Translation, raw: string): string {
  const known = t.ids.get(`call:${raw}`);
  if (known !== undefined) return known;
  let given = raw;
  while (t.taken.has(given) || t.used.has(given)) given = `${raw}~${mint(t)}`;
  t.ids.set(`call:${raw}`, given);
  return given;
}
