/** The clock, timers, dice and ids of Node. */
import { createHash, randomUUID } from "node:crypto";
import { setTimeout as later } from "node:timers";
import { uuidv7 } from "uuidv7";
import type { Clock, Ids, Timers } from "../ports/clock.ts";

/** Longer delays overflow Node's timers: they are chained. */
const delayMsMax = 2 ** 31 - 1;

export const nodeClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
};

export const nodeTimers: Timers = {
  after(ms, callback) {
    if (ms <= 0) {
      const immediate = setImmediate(callback);
      return () => clearImmediate(immediate);
    }
    if (ms <= delayMsMax) {
      const timer = later(callback, ms);
      return () => clearTimeout(timer);
    }
    let cancel = nodeTimers.after(delayMsMax, () => {
      cancel = nodeTimers.after(ms - delayMsMax, callback);
    });
    return () => cancel();
  },
};

export const nodeIds: Ids = {
  mint: (kind) => (kind === "turn" ? `turn_${uuidv7()}` : kind === "message" ? `msg_${uuidv7()}` : randomUUID()),
  digest: (text) => createHash("sha256").update(text).digest("base64url"),
  random: () => Math.random(),
};
