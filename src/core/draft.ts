/** What a decision is drafted on: filled by the functions of one decide, then handed out as a value. */
import { assert } from "./assert.ts";
import type { Effect, Moment, Write } from "./events.ts";
import type { AgentState, Turn } from "./state.ts";

export interface Draft {
  state: AgentState;
  readonly at: Moment;
  readonly writes: Write[];
  readonly effects: Effect[];
}

export function turnOf(draft: Draft): Turn {
  assert(draft.state.turn, "a turn is in flight");
  return draft.state.turn;
}

export function change(draft: Draft, fields: Partial<Turn>): Turn {
  const turn = { ...turnOf(draft), ...fields };
  draft.state = { ...draft.state, turn };
  return turn;
}

export function chunk(draft: Draft, fields: { readonly type: string; readonly [field: string]: unknown }): void {
  draft.writes.push({ op: "chunk", turn: turnOf(draft).id, chunk: fields });
}

/** An event of the turn, without content. */
export function tell(draft: Draft, type: string, payload: Record<string, string | number | boolean | null> = {}): void {
  draft.writes.push({ op: "event", type, payload: { requestId: turnOf(draft).id, ...payload } });
}
