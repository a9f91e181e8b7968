import { describe, expect, it } from "vitest";
import { registerStoreContract } from "../../src/testing/contract/store-contract.ts";
import { sqliteWorld } from "./worlds.ts";

registerStoreContract({ name: "sqlite", create: sqliteWorld }, { describe, expect, it });
