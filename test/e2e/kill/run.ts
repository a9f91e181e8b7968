/** One run: a conversation of two or three turns with a server that is killed under it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { prng, seedOf } from "../../../src/testing/prng.ts";
import { type ProviderLog, providerControl, type RequestRecord } from "../../../src/testing/provider/index.ts";
import { type Connection, converse, type Message, message, type Watch } from "./client.ts";
import { type Heard, heard, type Mark, marks } from "./effects.ts";
import { type Look, look } from "./look.ts";
import { cellName, type Plan } from "./plan.ts";
import { closingText, userText } from "./script.ts";
import { Seen } from "./seen.ts";
import { converseStock, type StockView } from "./stock.ts";
import { type Death, type Life, Supervisor } from "./supervisor.ts";

/** What all runs share. */
export interface World {
  /** Providers: one that refuses a request that ends in an assistant message, and one that goes on with it. */
  readonly strict: string;
  readonly prefill: string;
  readonly env: NodeJS.ProcessEnv;
  readonly runMs: number;
}

/** A message that was acknowledged. */
export interface Acknowledged {
  readonly message: Message;
  readonly text: string;
  readonly turn: string;
  readonly at: number;
}

/** All that is known of a run from outside. */
export interface Evidence {
  readonly plan: Plan;
  readonly folder: string;
  readonly seen: Seen;
  readonly acknowledged: readonly Acknowledged[];
  readonly deaths: readonly Death[];
  readonly lives: readonly Life[];
  readonly look: Look | null;
  readonly stock: StockView | null;
  readonly requests: readonly RequestRecord[];
  readonly refusals: ProviderLog["refusals"];
  readonly marks: readonly Mark[];
  readonly heard: readonly Heard[];
  /** What went wrong in the running itself. */
  readonly troubles: readonly string[];
}

export async function runPlan(plan: Plan, world: World): Promise<Evidence> {
  const folder = mkdtempSync(join(tmpdir(), `perdure-kill-${plan.seed}-${plan.run}-`));
  writeFileSync(join(folder, "plan.json"), JSON.stringify(plan, null, 2));
  const provider = plan.prefill ? world.prefill : world.strict;
  const conversation = `run-${plan.run}`;
  const since = await lengthOf(provider);
  const supervisor = new Supervisor({ plan, folder, provider, conversation, env: world.env });
  const seen = new Seen();
  const acknowledged: Acknowledged[] = [];
  const abort = new AbortController();
  const late = setTimeout(() => abort.abort(new Error(`not over after ${world.runMs} ms`)), world.runMs);
  const dice = prng(seedOf("client", plan.seed, plan.run));
  const connection: Connection = { url: () => supervisor.url(), agent: conversation, seen, dice, signal: abort.signal };
  const troubles: string[] = [];
  let found: Look | null = null;
  let stock: StockView | null = null;
  try {
    supervisor.start();
    stock = await within(abort.signal, talk(plan, connection, supervisor, acknowledged));
    if (plan.freshLook) await supervisor.replace();
    supervisor.disarm();
    found = await look(
      await within(abort.signal, supervisor.url()),
      conversation,
      acknowledged.map(({ turn }) => turn),
    );
  } catch (error) {
    troubles.push(error instanceof Error ? error.message : String(error));
  } finally {
    clearTimeout(late);
    abort.abort();
    await supervisor.stop();
  }
  const log = await logOf(provider, since, conversation);
  const { deaths, lives } = supervisor;
  troubles.push(...supervisor.troubles);
  const left = { marks: marks(folder), heard: heard(folder) };
  return { plan, folder, seen, acknowledged, deaths, lives, look: found, stock, ...log, ...left, troubles };
}

/** The conversation. What the stock client made of its turn, if it was used. */
async function talk(
  plan: Plan,
  connection: Connection,
  supervisor: Supervisor,
  acknowledged: Acknowledged[],
): Promise<StockView | null> {
  const say = (id: string, text: string, more: Watch = {}) => {
    const sent = message(id, text);
    const note = (turn: string) => acknowledged.push({ message: sent, text, turn, at: Date.now() });
    return [sent, { ...more, acknowledged: note }] as const;
  };
  let second: Promise<unknown> | null = null;
  const follow = (): void => {
    if (plan.second !== null) second ??= converse(connection, ...say("user-2", plan.second));
    second?.catch(() => {});
  };
  const first = say("user-1", userText(plan.scenario), {
    chunk: (_turn, count) => {
      if (count >= plan.secondAfter) follow();
    },
  });
  await connection.url();
  supervisor.armRandom();
  let shown: StockView | null = null;
  if (plan.stock) shown = await converseStock(connection, ...first);
  else await converse(connection, ...first);
  follow();
  await second;
  await converse(connection, ...say("user-3", closingText));
  return shown;
}

function within<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const late = new Promise<never>((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  late.catch(() => {});
  return Promise.race([work, late]);
}

/** Indexes of records that were seen, by provider: what came before a run is not asked for again. */
const lengths = new Map<string, number>();

async function lengthOf(provider: string): Promise<number> {
  return lengths.get(provider) ?? 0;
}

async function logOf(
  provider: string,
  since: number,
  conversation: string,
): Promise<Pick<Evidence, "requests" | "refusals">> {
  const log = await providerControl(provider).log(since);
  const last = log.requests.at(-1);
  if (last) lengths.set(provider, Math.max(lengths.get(provider) ?? 0, last.index + 1));
  const requests = log.requests.filter((record) => record.conversation === conversation);
  const own = new Set(requests.map(({ index }) => index));
  return { requests, refusals: log.refusals.filter(({ request }) => own.has(request)) };
}

/** Writes what is known of a run beside its files. */
export function keep(evidence: Evidence): void {
  const { seen, look, ...rest } = evidence;
  const text = JSON.stringify(
    { ...rest, seen: seen.turns, look },
    (_key, value: unknown) => (value instanceof Map ? Object.fromEntries(value) : value),
    1,
  );
  writeFileSync(join(evidence.folder, "evidence.json"), text);
}

export function forget(evidence: Evidence): void {
  rmSync(evidence.folder, { recursive: true, force: true });
}

export function summary({ plan, deaths }: Evidence): string {
  const killed = deaths.map(({ cell }) => cellName(cell)).join(", ") || "never";
  return `run ${plan.run} (${plan.scenario}${plan.second ? ", queued" : ""}${plan.stock ? ", stock" : ""}) killed at ${killed}`;
}
