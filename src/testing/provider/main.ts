// node src/testing/provider/main.ts --port 0 --script file.json --seed 1 [--host h] [--prefill] [--manner m]
// Prints one line {"url":...} when it is ready. Without --script it starts empty: send one to POST /_script.

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { startProvider } from "./server.ts";
import type { Manner, Script } from "./types.ts";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "0" },
    host: { type: "string", default: "127.0.0.1" },
    seed: { type: "string", default: "1" },
    script: { type: "string" },
    prefill: { type: "boolean", default: false },
    manner: { type: "string" },
    "keep-bodies": { type: "boolean", default: false },
  },
});

const script: Script = values.script === undefined ? { turns: [] } : JSON.parse(readFileSync(values.script, "utf8"));
const manner = values.manner;
if (manner !== undefined && !["exact", "repeat", "empty"].includes(manner))
  throw new Error(`Unknown manner ${manner}.`);

const provider = await startProvider({
  script,
  host: values.host,
  port: Number(values.port),
  seed: Number(values.seed),
  prefill: values.prefill,
  keepBodies: values["keep-bodies"],
  ...(manner === undefined ? {} : { manner: manner as Manner }),
});
console.log(JSON.stringify({ url: provider.url }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void provider.close());
