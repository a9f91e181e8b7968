import { describe, expect, it } from "vitest";
import { registerStoreContract } from "../../src/testing/contract/store-contract.ts";
import { memoryWorld } from "./worlds.ts";

registerStoreContract({ name: "memory", create: memoryWorld }, { describe, expect, it });
