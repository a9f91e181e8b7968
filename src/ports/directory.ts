/**
 * Directory: what any process may ask, owner or not.
 *
 *   D1. enqueue is idempotent by command id: same id and hash answers the first turn again; another hash is refused.
 *   D2. enqueue makes the agent due, whatever wake its owner's concurrent commit writes.
 *   D3. due lists agents whose wake has passed, oldest first, in pages of (wake, agent): nobody starves behind a page.
 *   D4. watch is a hint. Data is always read by offset.
 */
import type { AgentKey } from "../core/ids.ts";
import type { Json } from "../core/json.ts";
import type { Command } from "../core/records.ts";
import type { Head } from "./store.ts";

export type Accepted =
  | { readonly kind: "accepted" }
  | { readonly kind: "duplicate"; readonly turn: string | null }
  /** Same id, other content. */
  | { readonly kind: "conflict" };

export interface Due {
  readonly agent: AgentKey;
  readonly wake: number;
}

export interface Directory {
  enqueue(agent: AgentKey, command: Command): Promise<Accepted>;
  /** Agents due at `now`, ordered by (wake, agent), strictly after `after`. */
  due(now: number, countMax: number, after?: Due): Promise<readonly Due[]>;
  watch(agent: AgentKey, listener: () => void): () => void;
  head(agent: AgentKey): Promise<Head | null>;
  /** The landed state of an agent, whoever owns it; null when there is none. */
  peek(agent: AgentKey): Promise<Json>;
  /** All agents by key, strictly after `after`. */
  list(after: AgentKey | null, countMax: number): Promise<readonly Head[]>;
}
