/** Events of the runtime. No payload holds content of users, models or tools: ids, counts, lengths and reasons only. */
import type { AgentKey } from "../core/ids.ts";

export interface TelemetryEvent {
  readonly type: string;
  readonly agent: AgentKey;
  readonly at: number;
  readonly payload: { readonly [field: string]: string | number | boolean | null };
}

export interface Telemetry {
  emit(event: TelemetryEvent): void;
}
