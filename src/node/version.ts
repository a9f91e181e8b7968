import { createRequire } from "node:module";

/** The package's version: it stands beside the owner's name in the store. */
export const version: string = (createRequire(import.meta.url)("perdure/package.json") as { version: string }).version;
