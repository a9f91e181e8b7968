import { PerdureError } from "../../core/errors.ts";
import type { AgentKey } from "../../core/ids.ts";

export function notOpen(): PerdureError {
  return new PerdureError({
    code: "STORE_UNAVAILABLE",
    message: "The memory store is not open.",
    next: "Nothing was read or written. Call open() first, and nothing after close().",
  });
}

export function ownerLost(): PerdureError {
  return new PerdureError({
    code: "OWNER_LOST",
    message: "Another session has opened this memory disk.",
    next: "This store answers nothing more. Use the session that was opened last.",
  });
}

export function diskFull(): PerdureError {
  return new PerdureError({
    code: "STORE_UNAVAILABLE",
    message: "The memory disk is full.",
    next: "Nothing was written. The same request succeeds once there is space.",
    retriable: true,
  });
}

export function damagedState(agent: AgentKey): PerdureError {
  return new PerdureError({
    code: "STORE_DAMAGED",
    message: `The stored state of ${agent} cannot be read.`,
    next: "This agent is not loaded; all others go on. Restore it from a backup, or destroy it.",
    details: { agent },
  });
}
