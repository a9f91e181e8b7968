/** The model named by PERDURE_MODEL: `openai:…`, `anthropic:…`, `google:…`, `openai-compatible:…`. */
import type { LanguageModel } from "ai";
import { PerdureError } from "../core/errors.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Provider packages are optional peers: loaded when named. */
const providers: Readonly<Record<string, (model: string, env: Env) => Promise<LanguageModel>>> = {
  openai: async (model, env) => (await import("@ai-sdk/openai")).createOpenAI(base(env))(model),
  anthropic: async (model, env) => (await import("@ai-sdk/anthropic")).createAnthropic(base(env))(model),
  google: async (model, env) => (await import("@ai-sdk/google")).createGoogleGenerativeAI(base(env))(model),
  "openai-compatible": async (model, env) => {
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    const baseURL = env["PERDURE_BASE_URL"] ?? "http://127.0.0.1:11434/v1";
    const apiKey = env["PERDURE_API_KEY"];
    return createOpenAICompatible({
      name: "openai-compatible",
      baseURL,
      includeUsage: true,
      ...(apiKey ? { apiKey } : {}),
    }).chatModel(model);
  },
};

function base(env: Env): { baseURL?: string } {
  const baseURL = env["PERDURE_BASE_URL"];
  return baseURL ? { baseURL } : {};
}

export async function modelOf(env: Env): Promise<LanguageModel> {
  const named = env["PERDURE_MODEL"] ?? "";
  const colon = named.indexOf(":");
  const provider = named.slice(0, Math.max(colon, 0));
  const model = named.slice(colon + 1);
  const make = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  if (!make || model === "") throw notConfigured(named);
  try {
    return await make(model, env);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") throw missing(provider, error);
    throw error;
  }
}

function notConfigured(named: string): PerdureError {
  const known = Object.keys(providers).map((name) => `${name}:<model>`);
  return new PerdureError({
    code: "MODEL_NOT_CONFIGURED",
    message:
      named === "" ? "PERDURE_MODEL is not set." : `PERDURE_MODEL is "${named}", which names no provider and model.`,
    next: `Nothing was started. Set it to one of ${known.join(", ")}, or serve a module of your own.`,
  });
}

function missing(provider: string, cause: unknown): PerdureError {
  return new PerdureError(
    {
      code: "PROVIDER_PACKAGE_MISSING",
      message: `The package of provider "${provider}" is not installed.`,
      next: `Nothing was started. Install it: npm install @ai-sdk/${provider}`,
    },
    { cause },
  );
}
