import type { Fault, ProviderLog, Script } from "./types.ts";

/** Drives a provider that runs in another process. `url` is what the provider printed (ends in `/v1`). */
export function providerControl(url: string) {
  const base = new URL(url).origin;
  const post = async (path: string, body: unknown): Promise<void> => {
    const response = await fetch(base + path, { method: "POST", body: JSON.stringify(body) });
    const answer = await response.text();
    if (!response.ok) throw new Error(`Provider control ${path} failed (${response.status}): ${answer}`);
  };
  return {
    /** Requests from index `since` on, and their refusals. */
    log: async (since = 0): Promise<ProviderLog> => {
      const response = await fetch(`${base}/_log?since=${since}`);
      return (await response.json()) as ProviderLog;
    },
    setScript: (script: Script): Promise<void> => post("/_script", script),
    setFault: (fault: Fault | null): Promise<void> => post("/_fault", fault),
    reset: (): Promise<void> => post("/_reset", null),
  };
}
