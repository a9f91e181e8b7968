/** What a contract test is given: the adapter under test, and a test runner that is injected, never imported. */
import type { AgentKey } from "../../core/ids.ts";
import type { Directory } from "../../ports/directory.ts";
import type { Store } from "../../ports/store.ts";

export type FullStore = Store & Directory;

/** One stored record, to be made unreadable. */
export type RecordName =
  | { readonly kind: "state" }
  | { readonly kind: "segment"; readonly turn: string; readonly first: number }
  | { readonly kind: "message" | "turn" | "command" | "notice"; readonly id: string };

/** One engine with fresh and empty data. */
export interface ContractWorld {
  /** Already open. */
  readonly store: FullStore;
  /** Death of the process without `close`, then a new and open owner of the same data. The old store stays usable as a zombie. */
  reopen(): Promise<FullStore>;
  /** Makes one record unreadable, behind the adapter's back. Leave it out where the engine allows no such thing. */
  damage?(agent: AgentKey, record: RecordName): Promise<void>;
  /** From now on the engine takes no writes (a full disk), or takes them again. Leave it out where that cannot be done. */
  refuseWrites?(refuse: boolean): Promise<void>;
  dispose(): Promise<void>;
}

export interface ContractSubject {
  readonly name: string;
  create(): Promise<ContractWorld>;
  /** Seeds of the random histories; each is compared with the memory reference. Default: four fixed ones. */
  readonly seeds?: readonly number[];
  /** Operations in each random history. Default 600. */
  readonly operations?: number;
}

/** The part of a test runner that the suite needs. The functions of vitest, node:test with an `expect`, or jest fit. */
export interface TestApi {
  describe(name: string, body: () => void): unknown;
  it(name: string, body: () => Promise<void>, timeoutMs?: number): unknown;
  expect(actual: unknown): Expectation;
}

export interface Expectation {
  toBe(expected: unknown): void;
  toEqual(expected: unknown): void;
}

/** Registers one test: it gets a world of its own, which goes with it. */
export type Test = (name: string, body: (world: ContractWorld, expect: TestApi["expect"]) => Promise<void>) => void;

/** Generous: engines on busy machines are slow, and a runner's default may be 5 s. */
const testMs = 60_000;

export function testsOf(subject: ContractSubject, api: TestApi): Test {
  return (name, body) => {
    api.it(
      name,
      async () => {
        const world = await subject.create();
        try {
          await body(world, (actual) => api.expect(actual));
        } finally {
          await world.dispose();
        }
      },
      testMs,
    );
  };
}
