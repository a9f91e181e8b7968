/** `perdure serve`. */

import { type Agents, namedAgents } from "../node/agents.ts";
import { serve } from "../node/serve.ts";
import { version } from "../node/version.ts";
import type { TelemetryEvent } from "../ports/telemetry.ts";
import { builtIn } from "./assistant.ts";
import { loadAgents } from "./module.ts";

export interface ServeFlags {
  readonly port: number;
  readonly host: string;
  readonly data: string;
  readonly wait?: number;
  readonly grace: number;
}

export async function serveCommand(module: string | undefined, flags: ServeFlags): Promise<void> {
  const agents: Agents = module === undefined ? { assistant: await builtIn(process.env) } : await loadAgents(module);
  const host = await serve({
    agents,
    store: flags.data,
    port: flags.port,
    host: flags.host,
    env: process.env,
    graceMs: flags.grace,
    ...(flags.wait === undefined ? {} : { waitMs: flags.wait }),
    telemetry: { emit: report },
  });
  const names = [...namedAgents(agents).keys()].map((name) => `/agents/${name}`).join(", ");
  console.log(`perdure ${version}: ${names} on ${host.url} (data in ${flags.data})`);
}

/** What somebody who runs a server wants to see of it: recoveries and troubles, without content. */
function report(event: TelemetryEvent): void {
  if (event.type === "host:owner-lost") {
    console.error(
      "perdure: Another process has taken the data file by force. This one stops. (OWNER_LOST: docs/errors/OWNER_LOST.md)",
    );
    process.exitCode = 1;
    return;
  }
  if (!/^(chat:recovery|chat:request:failed|chat:onstart|agent:|notice:|tool:(unknown|late))/.test(event.type)) return;
  const fields = Object.entries(event.payload).map(([name, value]) => `${name}=${String(value)}`);
  console.error(`${new Date(event.at).toISOString()} ${event.type} agent=${event.agent} ${fields.join(" ")}`);
}
