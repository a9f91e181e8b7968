/** A public class in a process of its own, on the real engine and a script for a model. */
import type { LanguageModel } from "ai";
import { createEngine } from "../../src/adapters/ai-sdk/index.ts";
import { SqliteStore } from "../../src/adapters/sqlite/store.ts";
import { splitKey } from "../../src/core/ids.ts";
import type { AgentClass } from "../../src/node/agents.ts";
import { type AgentHandle, handle } from "../../src/node/handle.ts";
import { ThinkBehaviour } from "../../src/think/behaviour.ts";
import { Think } from "../../src/think/think.ts";
import { scratch } from "../contract/worlds.ts";
import { type AnyStore, spoken, user, World, type WorldParts } from "../runtime/kit.ts";
import type { Script } from "./model.ts";

export { Gate, judged, key, spoken, textIn, types, user } from "../runtime/kit.ts";

type More = Partial<Omit<WorldParts, "behaviour">> & { readonly env?: unknown };

export class Chat<T extends Think> extends World {
  constructor(Class: AgentClass<T>, { env, ...parts }: More = {}) {
    const engine = createEngine();
    super({
      ...parts,
      behaviour(agent, world) {
        const { gateway } = world;
        const stash = (turn: string, data: unknown): void => gateway.stash(agent, turn, data);
        const think = new Class({ key: agent, name: splitKey(agent).id, gateway, stash }, env);
        return new ThinkBehaviour(agent, think, engine, (turn) => gateway.runs(agent, turn));
      },
    });
  }

  /** The agent, as code has it. */
  agent(name = "a"): AgentHandle<T> {
    return handle<T>(this.runtime, (id) => `chat/${id}`, name);
  }

  /** Chunks of text that are durable. */
  async said(text: string): Promise<void> {
    const durable = (): string =>
      this.landed.flatMap(({ chunks }) => chunks?.map((some) => spoken(some.chunks)) ?? []).join("");
    await this.time.until(() => durable().endsWith(text), `"${text}" to be durable`);
  }

  /** The answer of a `saveMessages` with one message. */
  async ask(id: string, text = "hi"): Promise<Awaited<ReturnType<Think["saveMessages"]>>> {
    return this.time.of(
      (this.agent() as AgentHandle<Think>).saveMessages([user(id, text)] as never),
      `the answer to ${id}`,
    );
  }

  /** The part of the last message that is about the call. */
  async part(toolCallId = "c1"): Promise<Record<string, unknown> | undefined> {
    const parts = (await this.messages()).flatMap((message) => message.parts);
    return parts.findLast((part) => part["toolCallId"] === toolCallId);
  }
}

export async function open<T extends Think>(Class: AgentClass<T>, more: More = {}): Promise<Chat<T>> {
  const chat = new Chat(Class, more);
  await chat.open();
  return chat;
}

/** A class with this model, that goes on from its own text. */
export function speaking(model: LanguageModel | Script): new (...given: ConstructorParameters<typeof Think>) => Think {
  return class extends Think {
    override modelProfile = { prefill: true };
    override getModel(): LanguageModel {
      return model;
    }
  };
}

/** Stores that the main cases run on. `done` is called when a test is over. */
export const stores: readonly { name: string; parts(): { parts: Pick<WorldParts, "store">; done(): Promise<void> } }[] =
  [
    { name: "memory", parts: () => ({ parts: {}, done: async () => {} }) },
    {
      name: "SQLite",
      parts() {
        const { path, remove } = scratch();
        const opened: SqliteStore[] = [];
        const store = (): AnyStore => {
          // Death without close: the old store stays open, as that of a stopped process would.
          opened.push(new SqliteStore({ path, force: opened.length > 0 }));
          return opened.at(-1) as AnyStore;
        };
        const done = async (): Promise<void> => {
          for (const one of opened) await one.close();
          remove();
        };
        return { parts: { store }, done };
      },
    },
  ];
