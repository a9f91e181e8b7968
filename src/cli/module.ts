/** The agent classes that a module exports. */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type AgentClass, kebab } from "../node/agents.ts";

export async function loadAgents(path: string): Promise<Record<string, AgentClass>> {
  const exported = (await importModule(path)) as Record<string, unknown>;
  const agents: Record<string, AgentClass> = {};
  const known = new Set<unknown>();
  for (const value of Object.values(exported)) {
    if (!isAgentClass(value) || known.has(value)) continue;
    known.add(value);
    const name = kebab(value.name) || "agent";
    if (name in agents) throw new Error(`${path} exports two classes that would be served as "${name}".`);
    agents[name] = value;
  }
  if (known.size > 0) return agents;
  throw new Error(
    `${path} exports no class that extends Think. Export one: export class MyAgent extends Think { ... }`,
  );
}

async function importModule(path: string): Promise<unknown> {
  const url = pathToFileURL(resolve(path)).href;
  try {
    return await import(url);
  } catch (error) {
    const missing =
      (error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND" && String(error).includes(resolve(path));
    if (missing) throw new Error(`There is no module ${path}.`, { cause: error });
    throw error;
  }
}

/** By shape, not by identity: the module may have its own copy of the package. */
function isAgentClass(value: unknown): value is AgentClass {
  if (typeof value !== "function") return false;
  const prototype = value.prototype as Record<string, unknown> | undefined;
  return typeof prototype?.["saveMessages"] === "function" && typeof prototype["getModel"] === "function";
}
