/** What a model accepts. Asked of the model that the *next* request goes to, never of the one that was cut (P1). */
export interface ModelProfile {
  /** A request may end in an assistant message, which the model goes on with. */
  readonly prefill: boolean;
}

/** The default of an unknown model: what every provider accepts. */
export const cautious: ModelProfile = { prefill: false };

/** `provider` and `model` as the AI SDK names them (`anthropic.messages`, `claude-haiku-4-5`). */
export function profileOf(provider: string, model: string): ModelProfile {
  return { prefill: prefills(provider.split(".")[0] ?? "", model) };
}

/** Models known to continue a trailing assistant text. The rule is the API's, by model; later models of a family often lost it. */
function prefills(vendor: string, model: string): boolean {
  switch (vendor) {
    case "anthropic":
      return /^claude-(?:3|(?:opus|sonnet|haiku)-4(?:-[0125])?(?:-\d{8})?$)/.test(model);
    case "google":
      return /^gemini-(?:2|3-|3\.1-|3\.5-flash$)/.test(model);
    default:
      return false;
  }
}

/** Who made a part: opaque provider data goes back to the same origin only. */
export function originOf(provider: string, model: string): string {
  return `${provider}:${model}`;
}
