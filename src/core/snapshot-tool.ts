/** The chunks that build one tool part, in whatever state it was left. */
import { isObject } from "./json.ts";
import { type Chunk, type Part, toolName } from "./transcript.ts";

export type Fields = { readonly [field: string]: unknown };

/** The call, then its approval, then its result: as far as the part got. */
export function toolChunks(part: Part): readonly Chunk[] {
  const id = part["toolCallId"];
  const state = part["state"];
  if (state === "input-streaming") return inputSoFar(part);
  // A chunk without its `input` fails the client's schema: a call that never got one is only begun.
  const opening = part["input"] === undefined ? [begun(part)] : [available(part)];
  const chunks: Chunk[] = [...opening, ...approvalChunks(part)];
  const result = {
    toolCallId: id,
    ...pick(part, ["providerExecuted", ["resultProviderMetadata", "providerMetadata"]]),
  };
  if (state === "output-available") {
    chunks.push({
      type: "tool-output-available",
      ...result,
      output: part["output"] ?? null,
      ...pick(part, ["preliminary"]),
    });
  } else if (state === "output-error") {
    chunks.push({ type: "tool-output-error", ...result, errorText: String(part["errorText"] ?? "") });
  } else if (state === "output-denied") {
    chunks.push({ type: "tool-output-denied", toolCallId: id });
  }
  return chunks;
}

/** What every chunk that opens a call says of it. */
function call(part: Part): Fields {
  return {
    toolCallId: part["toolCallId"],
    toolName: toolName(part),
    ...(part.type === "dynamic-tool" ? { dynamic: true } : {}),
    ...pick(part, ["providerExecuted", ["callProviderMetadata", "providerMetadata"], "toolMetadata", "title"]),
  };
}

function available(part: Part): Chunk {
  return { type: "tool-input-available", ...call(part), input: part["input"] };
}

function begun(part: Part): Chunk {
  return { type: "tool-input-start", ...call(part), ...pick(part, ["inputEncoding"]) };
}

function inputSoFar(part: Part): readonly Chunk[] {
  const raw = part["rawInput"];
  if (typeof raw !== "string") return [begun(part)];
  return [begun(part), { type: "tool-input-delta", toolCallId: part["toolCallId"], inputTextDelta: raw }];
}

function approvalChunks(part: Part): readonly Chunk[] {
  const approval = part["approval"];
  if (!isObject(approval)) return [];
  const request = {
    type: "tool-approval-request",
    approvalId: approval["id"],
    toolCallId: part["toolCallId"],
    // `inputSchemaInput` may be null and still be there.
    ...("inputSchemaInput" in approval ? { inputSchemaInput: approval["inputSchemaInput"] } : {}),
    ...pick(approval, [["descriptor", "approvalDescriptor"], ["requestReason", "reason"], "isAutomatic", "signature"]),
  };
  if (typeof approval["approved"] !== "boolean") return [request];
  const response = { type: "tool-approval-response", approvalId: approval["id"], approved: approval["approved"] };
  return [request, { ...response, ...pick(approval, ["reason"]) }];
}

/** The fields that are there, each under its own name or the one that the chunk has for it. Null counts as absent. */
export function pick(from: Fields, names: readonly (string | readonly [string, string])[]): Fields {
  const picked: { [field: string]: unknown } = {};
  for (const name of names) {
    const [field, as] = typeof name === "string" ? [name, name] : name;
    const value = from[field];
    if (value !== undefined && value !== null) picked[as] = value;
  }
  return picked;
}
