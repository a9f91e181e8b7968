/** An agent for code: each public method of its class, called on the instance that is loaded now. */
import type { Runtime } from "../runtime/runtime.ts";
import type { ThinkBehaviour } from "../think/behaviour.ts";
import type { Think } from "../think/think.ts";

export type AgentHandle<T extends Think> = {
  readonly [K in keyof T as T[K] extends (...args: never[]) => unknown ? K : never]: T[K] extends (
    ...args: infer A
  ) => infer R
    ? (...args: A) => Promise<Awaited<R>>
    : never;
};

export function handle<T extends Think>(runtime: Runtime, keyOf: (id: string) => string, name: string): AgentHandle<T> {
  const key = keyOf(name);
  return new Proxy({} as AgentHandle<T>, {
    get(_target, property) {
      // A handle that is awaited is not a promise.
      if (property === "then" || typeof property === "symbol") return undefined;
      return async (...args: unknown[]) => {
        const { behaviour } = await runtime.agent(key);
        const think = (behaviour as ThinkBehaviour).think as unknown as Record<string, unknown>;
        const method = think[property];
        if (typeof method !== "function") throw new TypeError(`${think.constructor.name} has no method ${property}()`);
        return Reflect.apply(method, think, args);
      };
    },
  });
}
