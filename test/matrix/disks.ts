import { SqliteStore } from "../../src/adapters/sqlite/store.ts";
import type { Disk } from "../../src/testing/world/index.ts";
import { label, scratch } from "../contract/worlds.ts";

/** A file of its own. Who had it before a death is what a stopped process would be: open, and fenced. */
export async function sqliteDisk(): Promise<Disk> {
  const { path, remove } = scratch();
  const stores: SqliteStore[] = [];
  return {
    name: "sqlite",
    open: async () => {
      const store = new SqliteStore({ path, force: stores.length > 0 });
      await store.open(label);
      stores.push(store);
      return store;
    },
    dispose: async () => {
      for (const store of stores) await store.close();
      remove();
    },
  };
}
