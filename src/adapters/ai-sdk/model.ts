/** Models as users give them. */
import { gateway, type LanguageModel, wrapLanguageModel } from "ai";
import { holdBack } from "./hold.ts";

export type ModelObject = Exclude<LanguageModel, string>;

/** A model, or its id, resolved as the SDK does it. */
export function resolveModel(model: unknown): ModelObject {
  if (typeof model === "string") return (globalThis.AI_SDK_DEFAULT_PROVIDER ?? gateway).languageModel(model);
  const given = model as Partial<ModelObject> | null | undefined;
  if (typeof given?.doStream === "function" && typeof given.modelId === "string") return given as ModelObject;
  throw new TypeError("getModel() must return a language model of the AI SDK, or the id of one.");
}

/** Ours is the outermost wrapper: the user's middleware runs inside it. `onAsk`: the request is complete, the provider is asked. */
export function guarded(model: ModelObject, onAsk: () => void): LanguageModel {
  const mute = model.specificationVersion === "v2";
  return wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: "v4",
      async wrapStream({ doStream }) {
        onAsk();
        const answer = await doStream();
        return { ...answer, stream: holdBack(answer.stream, mute) };
      },
    },
  });
}
