import { defineConfig } from "vitest/config";
import { doors, pathOf } from "./scripts/doors.ts";

export default defineConfig({
  resolve: { alias: Object.keys(doors).map((name) => ({ find: new RegExp(`^${name}$`), replacement: pathOf(name) })) },
  test: {
    include: ["test/**/*.test.ts"],
    pool: "forks",
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
    reporters: ["default"],
  },
});
