import { defineConfig } from "tsdown";

export default defineConfig({
  entry: {
    index: "src/index.ts",
    "node/index": "src/node/index.ts",
    "sqlite/index": "src/adapters/sqlite/index.ts",
    "testing/index": "src/testing/index.ts",
    "cli/main": "src/cli/main.ts",
  },
  format: "esm",
  platform: "node",
  target: "node22.18",
  dts: true,
  clean: true,
  fixedExtension: false,
  logLevel: "warn",
  checks: { pluginTimings: false },
  deps: { neverBundle: ["vitest", "fast-check"], onlyBundle: [] },
});
