/** `perdure/node`: the host for Node. */
export type { AgentClass, Agents } from "./agents.ts";
export type { AgentHandle } from "./handle.ts";
export { type Host, type ServeOptions, serve } from "./serve.ts";
