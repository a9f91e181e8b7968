/** The user's tools: what is offered to a model, and what the runtime is told of them. */
import { asSchema, type FlexibleSchema, isExecutableTool, type Schema, type Tool } from "@ai-sdk/provider-utils";
import { canonical, isObject } from "../../core/json.ts";
import { limits } from "../../core/limits.ts";
import type { RecoveryKind } from "../../core/records.ts";
import type { ToolFacts } from "../../ports/behaviour.ts";
import type { DurableToolOptions } from "./durable-tool.ts";
import { own, shortDigest } from "./plain.ts";

export type AnyTool = Tool & DurableToolOptions;
/** The users' own. The SDK's `ToolSet` says the same of its tools in a type that its own functions do not take. */
export type Tools = Readonly<Record<string, AnyTool>>;

/** By schema, not by tool: hooks like to make new tool objects around the same schemas. */
const converted = new WeakMap<object, Schema>();

/** The tools that a request offers. The SDK converts a schema in every step unless it is given a converted one. */
export function offered(tools: Tools, active: readonly string[] | undefined): Tools {
  const chosen =
    active === undefined ? tools : Object.fromEntries(Object.entries(tools).filter(([name]) => active.includes(name)));
  return Object.fromEntries(Object.entries(chosen).map(([name, tool]) => [name, withSchema(tool)]));
}

function withSchema(tool: AnyTool): AnyTool {
  const schema: unknown = tool.inputSchema;
  if ((typeof schema !== "object" && typeof schema !== "function") || schema === null) return tool;
  // A derived object keeps the getters and methods of a tool that is a class instance.
  return Object.create(tool, {
    inputSchema: { value: schemaOf(schema as FlexibleSchema), enumerable: true },
  }) as AnyTool;
}

function schemaOf(schema: FlexibleSchema): Schema {
  const known = converted.get(schema);
  if (known) return known;
  const made = asSchema(schema);
  converted.set(schema, made);
  return made;
}

export function factsOf(tools: Tools, name: string): ToolFacts | null {
  const tool = own(tools, name);
  if (!tool) return null;
  const asked = tool.timeoutMs;
  const timeoutMs = typeof asked === "number" && asked > 0 && Number.isFinite(asked) ? asked : limits.toolMs;
  return { executable: isExecutableTool(tool) && !needsApproval(tool), policy: policyOf(tool), timeoutMs };
}

/** There are no approvals yet: a tool that may ask for one is never executed without. */
export function needsApproval(tool: AnyTool): boolean {
  return tool.needsApproval !== undefined && tool.needsApproval !== false;
}

function policyOf({ recovery }: AnyTool): RecoveryKind {
  if (isObject(recovery)) return typeof recovery["reconcile"] === "function" ? "reconcile" : "report";
  return recovery === "retry" ? "retry" : "report";
}

const digests = new WeakMap<object, Promise<string>>();

/** `provider:model name#digest ...`, short enough to be stored with every attempt. */
export async function fingerprintOf(origin: string, tools: Tools): Promise<string> {
  const named = await Promise.all(
    Object.entries(tools).map(async ([name, tool]) => `${name}#${await digestOf(tool).catch(() => "?")}`),
  );
  const list = named.sort().join(" ");
  const shown = list.length <= fingerprintCharsMax ? list : `${named.length} tools #${shortDigest(list)}`;
  return shown === "" ? origin : `${origin} ${shown}`;
}

const fingerprintCharsMax = 400;

function digestOf(tool: AnyTool): Promise<string> {
  if (tool.type === "provider") return Promise.resolve(shortDigest(canonical({ id: tool.id, args: tool.args })));
  const schema = asSchema(tool.inputSchema);
  const known = digests.get(schema);
  if (known !== undefined) return known;
  const made = Promise.resolve().then(async () => shortDigest(canonical(await schema.jsonSchema)));
  digests.set(schema, made);
  return made;
}
