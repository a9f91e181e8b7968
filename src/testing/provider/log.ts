import { createHash } from "node:crypto";
import type { Refused } from "./read.ts";
import type { Refusal, RefusalCode, RequestRecord } from "./types.ts";

export const digest = (data: string | Uint8Array): string =>
  createHash("sha256").update(data).digest("hex").slice(0, 32);

/** All that the provider remembers: requests, refusals, and which bodies got a 4xx. */
export class ProviderMemory {
  readonly requests: RequestRecord[] = [];
  readonly refusals: Refusal[] = [];
  readonly #refusedBodies = new Set<string>();

  open(startedAt: number, bodyDigest: string): RequestRecord {
    const record: RequestRecord = {
      index: this.requests.length,
      startedAt,
      firstByteAt: null,
      endedAt: null,
      conversation: "",
      bodyDigest,
      messagesDigest: "",
      messageCount: 0,
      lastRole: null,
      turn: null,
      userText: null,
      step: null,
      kind: null,
      manner: null,
      partialChars: null,
      repeated: null,
      carriedReasoning: false,
      sent: { text: 0, reasoning: 0, args: 0, chunks: 0 },
      outcome: "open",
      fault: null,
      refusal: null,
    };
    this.requests.push(record);
    if (this.#refusedBodies.has(bodyDigest)) {
      this.#refuse(record, "resent_refusal", null, "The same body was refused before and is sent again unchanged.");
    }
    return record;
  }

  refuse(record: RequestRecord, reason: Refused): void {
    record.outcome = "refused";
    record.refusal = reason.code;
    this.#refuse(record, reason.code, reason.param, reason.message);
    this.rememberRefused(record);
  }

  /** Also for a scripted 4xx, which is no refusal of ours but final for the client all the same. */
  rememberRefused(record: RequestRecord): void {
    this.#refusedBodies.add(record.bodyDigest);
  }

  forgetRefused(): void {
    this.#refusedBodies.clear();
  }

  #refuse(record: RequestRecord, code: RefusalCode, param: string | null, message: string): void {
    this.refusals.push({ code, request: record.index, param, message, at: Date.now() });
  }
}
