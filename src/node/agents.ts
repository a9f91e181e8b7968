/** The agent classes of a host, under the names of their routes. */
import { PerdureError } from "../core/errors.ts";
import type { AgentContext, Think } from "../think/think.ts";

// biome-ignore lint/suspicious/noExplicitAny: a class of any environment may be served.
export type AgentClass<T extends Think<any> = Think<any>> = new (ctx: AgentContext, env: any) => T;

export type Agents = Readonly<Record<string, AgentClass>> | readonly AgentClass[];

/** `MyAgent` is served as `my-agent`. */
export function kebab(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1-$2")
    .replace(/[^A-Za-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .toLowerCase();
}

export function namedAgents(agents: Agents): Map<string, AgentClass> {
  const named = new Map<string, AgentClass>();
  const entries = Array.isArray(agents)
    ? agents.map((one: AgentClass) => [kebab(one.name), one] as const)
    : Object.entries(agents);
  for (const [name, agent] of entries as (readonly [string, AgentClass])[]) {
    if (!/^[a-z0-9][a-z0-9_-]*$/i.test(name)) throw badName(name);
    if (named.has(name)) throw duplicate(name);
    named.set(name, agent);
  }
  return named;
}

function badName(name: string): PerdureError {
  return new PerdureError({
    code: "BAD_ID",
    message: `"${name}" cannot be the name of an agent class in a route.`,
    next: "Nothing was started. Use letters, digits, - and _, beginning with a letter or a digit.",
  });
}

function duplicate(name: string): PerdureError {
  return new PerdureError({
    code: "DUPLICATE_AGENT",
    message: `Two agent classes would be served as "${name}".`,
    next: "Nothing was started. Give them different names, or pass `agents` as an object of names.",
  });
}
