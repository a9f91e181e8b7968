/** Everything of the outside that the runtime is given. */
import type { AgentKey } from "../core/ids.ts";
import type { Behaviour } from "./behaviour.ts";
import type { Clock, Ids, Timers } from "./clock.ts";
import type { Directory } from "./directory.ts";
import type { Store } from "./store.ts";
import type { Telemetry } from "./telemetry.ts";

export interface Services {
  readonly store: Store;
  readonly directory: Directory;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: Ids;
  readonly telemetry: Telemetry;
  /** What an agent's class means; made once per load. Throws AGENT_NOT_FOUND for a class that is not served. */
  behaviour(agent: AgentKey): Behaviour;
  /** The agent classes that are served. */
  serves(agent: string): boolean;
}
