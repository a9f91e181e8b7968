/**
 * Assembly: the parts of one step, folded from its chunks, keyed by part id (A1). The same fold runs live, at recovery
 * and in tests, and gives what the SDK's client shows, with one difference: provider metadata of a part's start, deltas
 * and end is merged, the latest value of each key winning, where the client keeps the last chunk's only (A2).
 *
 * A step may take several runs of the model. A cut ends a run; what is appended after it, the closing of broken parts
 * first, belongs to the next one. So who was broken off can always be read from the log and the offsets of the cuts.
 */
import { isObject } from "./json.ts";
import { type Chunk, isToolPart, type Part, type StoredPart, toolName } from "./transcript.ts";

interface LivePart {
  part: Record<string, unknown> & { type: string };
  /** The run that began it. */
  readonly run: number;
  /** The run that ended it; null while it is open. */
  ended: number | null;
}

/** Folded in place: a step has thousands of deltas. Nobody but `fold` writes to it. */
export interface Assembly {
  readonly parts: LivePart[];
  readonly open: Map<string, LivePart>;
  /** Part ids and labels that were given out in this step. */
  readonly labels: Set<string>;
  opened: boolean;
}

export function newAssembly(): Assembly {
  return { parts: [], open: new Map(), labels: new Set(), opened: false };
}

export function foldAll(chunks: Iterable<Chunk>, run: number, into: Assembly = newAssembly()): Assembly {
  for (const chunk of chunks) fold(into, chunk, run);
  return into;
}

/** Adds one chunk. Total: a chunk that fits nothing is left out of the parts, and stays in the log. */
export function fold(assembly: Assembly, chunk: Chunk, run: number): void {
  switch (chunk.type) {
    case "start-step":
      assembly.opened = true;
      add(assembly, { type: "step-start" }, run);
      return;
    case "text-start":
    case "reasoning-start":
      return begin(assembly, chunk, run);
    case "text-delta":
    case "reasoning-delta":
      return grow(assembly, chunk);
    case "text-end":
    case "reasoning-end":
      return end(assembly, chunk, run);
    case "tool-input-start":
    case "tool-input-delta":
    case "tool-input-available":
    case "tool-input-error":
    case "tool-output-available":
    case "tool-output-error":
      return foldTool(assembly, chunk, run);
    case "file":
    case "reasoning-file":
      add(assembly, pick(chunk, ["type", "mediaType", "url", "providerMetadata"]), run);
      return;
    case "source-url":
      add(assembly, pick(chunk, ["type", "sourceId", "url", "title", "providerMetadata"]), run);
      return;
    case "source-document":
      add(assembly, pick(chunk, ["type", "sourceId", "mediaType", "title", "filename", "providerMetadata"]), run);
      return;
    case "custom":
      add(assembly, pick(chunk, ["type", "kind", "providerMetadata"]), run);
      return;
    default:
      if (chunk.type.startsWith("data-") && chunk["transient"] !== true) foldData(assembly, chunk, run);
  }
}

function add(assembly: Assembly, part: LivePart["part"], run: number): LivePart {
  const live = { part, run, ended: run };
  assembly.parts.push(live);
  return live;
}

function pick(chunk: Chunk, fields: readonly string[]): LivePart["part"] {
  const part: LivePart["part"] = { type: chunk.type };
  for (const field of fields) if (chunk[field] !== undefined) part[field] = chunk[field];
  return part;
}

function slot(chunk: Chunk): string {
  return `${chunk.type.slice(0, chunk.type.indexOf("-"))}:${String(chunk["id"])}`;
}

function begin(assembly: Assembly, chunk: Chunk, run: number): void {
  const type = chunk.type === "text-start" ? "text" : "reasoning";
  const part: LivePart["part"] = { type, text: "", state: "streaming" };
  if (type === "reasoning") part["id"] = chunk["id"];
  const live = add(assembly, part, run);
  live.ended = null;
  mergeMetadata(live.part, "providerMetadata", chunk["providerMetadata"]);
  assembly.open.set(slot(chunk), live);
  assembly.labels.add(String(chunk["id"]));
}

function grow(assembly: Assembly, chunk: Chunk): void {
  const live = assembly.open.get(slot(chunk));
  if (!live) return;
  live.part["text"] = String(live.part["text"]) + String(chunk["delta"] ?? "");
  mergeMetadata(live.part, "providerMetadata", chunk["providerMetadata"]);
}

function end(assembly: Assembly, chunk: Chunk, run: number): void {
  const live = assembly.open.get(slot(chunk));
  if (!live) return;
  assembly.open.delete(slot(chunk));
  live.part["state"] = "done";
  live.ended = run;
  if (chunk["citations"] !== undefined) live.part["citations"] = chunk["citations"];
  mergeMetadata(live.part, "providerMetadata", chunk["providerMetadata"]);
}

function foldTool(assembly: Assembly, chunk: Chunk, run: number): void {
  const label = String(chunk["toolCallId"]);
  let live = findTool(assembly, label);
  if (!live) {
    if (chunk.type.startsWith("tool-output")) return;
    const named =
      chunk["dynamic"] === true
        ? { type: "dynamic-tool", toolName: chunk["toolName"] }
        : { type: `tool-${String(chunk["toolName"])}` };
    live = add(assembly, { ...named, toolCallId: label, state: "input-streaming" }, run);
    live.ended = null;
    assembly.labels.add(label);
  }
  // The client takes no title from a refused input.
  const fields = chunk.type === "tool-input-error" ? [] : ["title"];
  for (const field of ["providerExecuted", "toolMetadata", ...fields]) {
    if (chunk[field] !== undefined) live.part[field] = chunk[field];
  }
  applyTool(live, chunk, run);
}

function applyTool(live: LivePart, chunk: Chunk, run: number): void {
  const part = live.part;
  const result = chunk.type.startsWith("tool-output") || chunk.type === "tool-input-error";
  mergeMetadata(part, result ? "resultProviderMetadata" : "callProviderMetadata", chunk["providerMetadata"]);
  switch (chunk.type) {
    case "tool-input-delta":
      part["rawInput"] = String(part["rawInput"] ?? "") + String(chunk["inputTextDelta"] ?? "");
      return;
    case "tool-input-available":
      part["state"] = "input-available";
      part["input"] = chunk["input"];
      delete part["rawInput"];
      live.ended = run;
      return;
    case "tool-input-error":
      part["state"] = "output-error";
      part["input"] = chunk["input"];
      part["errorText"] = chunk["errorText"];
      delete part["rawInput"];
      live.ended = run;
      return;
    case "tool-output-available":
      part["state"] = "output-available";
      part["output"] = chunk["output"];
      if (chunk["preliminary"] === true) part["preliminary"] = true;
      else delete part["preliminary"];
      return;
    case "tool-output-error":
      part["state"] = "output-error";
      part["errorText"] = chunk["errorText"];
      delete part["output"];
      delete part["preliminary"];
      return;
  }
}

function foldData(assembly: Assembly, chunk: Chunk, run: number): void {
  const id = chunk["id"];
  const same = assembly.parts.find(
    (live) => id !== undefined && live.part.type === chunk.type && live.part["id"] === id,
  );
  if (same) same.part["data"] = chunk["data"];
  else add(assembly, pick(chunk, ["type", "id", "data"]), run);
}

function mergeMetadata(part: LivePart["part"], field: string, added: unknown): void {
  if (!isObject(added)) return;
  const merged: Record<string, unknown> = isObject(part[field]) ? { ...part[field] } : {};
  for (const [provider, values] of Object.entries(added)) {
    const before = merged[provider];
    merged[provider] = isObject(before) && isObject(values) ? { ...before, ...values } : values;
  }
  part[field] = merged;
}

export function findTool(assembly: Assembly, label: string): LivePart | undefined {
  return assembly.parts.findLast((live) => isToolPart(live.part) && live.part["toolCallId"] === label);
}

/** The text of the step so far: what a continuation goes on from. */
export function textSoFar(assembly: Assembly): string {
  return assembly.parts.map((live) => (live.part.type === "text" ? String(live.part["text"]) : "")).join("");
}

/** The text part that a continuation may join: the last content of all, still open, and without provider metadata (T8). */
export function openText(
  assembly: Assembly,
): { readonly id: string; readonly text: string; readonly plain: boolean } | null {
  const last = assembly.parts.findLast(({ part }) => part.type !== "custom");
  for (const [key, live] of assembly.open) {
    if (live !== last || live.part.type !== "text") continue;
    const plain = live.part["providerMetadata"] === undefined;
    return { id: key.slice("text:".length), text: String(live.part["text"]), plain };
  }
  return null;
}

/** Chunks that end whatever is open. A broken call is settled with `callError`; text stays open when it will be gone on with. */
export function closing(
  assembly: Assembly,
  options: { readonly keepText: boolean; readonly callError: string },
): Chunk[] {
  const chunks: Chunk[] = [];
  const kept = options.keepText ? openText(assembly)?.id : undefined;
  for (const [key, live] of assembly.open) {
    const id = key.slice(key.indexOf(":") + 1);
    if (live.part.type === "text" && id === kept) continue;
    chunks.push({ type: live.part.type === "text" ? "text-end" : "reasoning-end", id });
  }
  for (const live of assembly.parts) {
    if (isToolPart(live.part) && live.part["state"] === "input-streaming") {
      chunks.push(brokenCall(live.part, options.callError));
    }
  }
  return chunks;
}

/** A call whose input never became whole is never executed: it ends with an error that says so (C5). */
function brokenCall(part: Part, errorText: string): Chunk {
  const dynamic = part.type === "dynamic-tool" ? { dynamic: true } : {};
  const remote = part["providerExecuted"] === true ? { providerExecuted: true } : {};
  const toolCallId = String(part["toolCallId"]);
  return {
    type: "tool-input-error",
    toolCallId,
    toolName: toolName(part),
    input: {},
    errorText,
    ...dynamic,
    ...remote,
  };
}

/** The parts as they are stored. `cuts`: how many runs of this step were cut. `origins[run]`: who answered in it. */
export function storedParts(assembly: Assembly, cuts: number, origins: readonly (string | null)[]): StoredPart[] {
  return assembly.parts
    .filter(
      (live) => !(live.part.type === "text" && live.part["text"] === "" && live.part["providerMetadata"] === undefined),
    )
    .map((live) => {
      const stored: { part: Part; origin?: string; torn?: true; cut?: true } = { part: { ...live.part } };
      const origin = origins[live.run];
      if (origin) stored.origin = origin;
      if (live.run < cuts) stored.torn = true;
      if (live.ended === null || (live.ended > live.run && live.part.type !== "text")) stored.cut = true;
      return stored;
    });
}
