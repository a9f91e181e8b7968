/**
 * Messages as we store them: the parts of the AI SDK's `UIMessage`, each in an envelope of ours. The part inside is
 * what a client is given, byte for byte; the envelope holds what only the request builder asks for.
 */

/** A part of a UI message. Its fields belong to the AI SDK; we read only those that we name. */
export interface Part {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A UI-message-stream part: what a turn's log is made of. */
export interface Chunk {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface StoredPart {
  readonly part: Part;
  /** The `provider:model` that made it. Absent: made by a user or by us. Opaque provider data goes back only there (P2). */
  readonly origin?: string;
  /** Part of a model response that never finished. */
  readonly torn?: true;
  /** Broken off itself, and closed by us: kept for display, never sent to a model as it is. */
  readonly cut?: true;
}

export type Role = "user" | "assistant" | "system";

export interface StoredMessage {
  readonly id: string;
  readonly role: Role;
  readonly parts: readonly StoredPart[];
  readonly metadata?: unknown;
  /** The turn that wrote it, or that it was the input of. */
  readonly turn?: string;
}

/** What a client is given. */
export interface UiMessage {
  readonly id: string;
  readonly role: Role;
  readonly parts: readonly Part[];
  readonly metadata?: unknown;
}

export function uiMessage(message: StoredMessage): UiMessage {
  const shown = { id: message.id, role: message.role, parts: message.parts.map((stored) => stored.part) };
  return message.metadata === undefined ? shown : { ...shown, metadata: message.metadata };
}

export function storedMessage(message: UiMessage): StoredMessage {
  const parts = message.parts.map((part) => ({ part }));
  const stored = { id: message.id, role: message.role, parts };
  return message.metadata === undefined ? stored : { ...stored, metadata: message.metadata };
}

export function textOf(message: { readonly parts: readonly Part[] }): string {
  return message.parts
    .map((part) => (part.type === "text" && typeof part["text"] === "string" ? part["text"] : ""))
    .join("");
}

export function isToolPart(part: Part): boolean {
  return part.type === "dynamic-tool" || part.type.startsWith("tool-");
}

export function toolName(part: Part): string {
  return part.type === "dynamic-tool" ? String(part["toolName"]) : part.type.slice("tool-".length);
}
