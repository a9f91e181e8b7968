/**
 * The contract of `Store` and `Directory`, as tests that any adapter can run. Each name quotes the rule it checks
 * (ST1 to ST10 in ports/store.ts, D1 to D4 in ports/directory.ts).
 *
 *   import { describe, expect, it } from "vitest";
 *   registerStoreContract({ name: "mine", create }, { describe, expect, it });
 */
import { chunkTests } from "./chunks.ts";
import { damageTests } from "./damage.ts";
import { directoryTests } from "./directory.ts";
import { fenceTests } from "./fence.ts";
import { historyTests } from "./history.ts";
import { inboxTests } from "./inbox.ts";
import { messageTests } from "./messages.ts";
import { ownershipTests } from "./ownership.ts";
import { payloadTests } from "./payloads.ts";
import { retentionTests } from "./retention.ts";
import { rowTests } from "./rows.ts";
import { type ContractSubject, type TestApi, testsOf } from "./world.ts";

export type { ContractSubject, ContractWorld, Expectation, FullStore, RecordName, TestApi } from "./world.ts";

/** Registers the whole suite under one `describe`. Needs about 5 s on an engine that commits in half a millisecond. */
export function registerStoreContract(subject: ContractSubject, api: TestApi): void {
  api.describe(`store contract: ${subject.name}`, () => {
    const test = testsOf(subject, api);
    fenceTests(test);
    ownershipTests(test);
    inboxTests(test);
    directoryTests(test);
    chunkTests(test);
    messageTests(test);
    rowTests(test);
    payloadTests(test);
    retentionTests(test);
    damageTests(test);
    historyTests(subject, api);
  });
}
