/** The demo itself: a scripted model, and three deaths at three places. */
import { constants, setPriority } from "node:os";
import { providerControl, type RequestRecord } from "../../src/testing/provider/index.ts";
import { answers, Client, type Final, textsOf } from "./client.ts";
import { type Durable, durableIn, inMidText, stepTexts } from "./durable.ts";
import { type Check, check, type Facts, Missed, repeatsItself } from "./facts.ts";
import { firstText, question, scriptOf, secondText, steps } from "./script.ts";
import { bareEnv, type Server, type Stage } from "./stage.ts";
import { count, endOf, type Timeline } from "./timeline.ts";
import { setTrap } from "./trap.ts";
import { until } from "./wait.ts";

/** The first two deaths: after so many characters of the first step's text, and after so many more of its continuation. */
const killAfter = { first: 240, more: 250 } as const;
const repeatedChars = 30;
const limitMs = 20_000;

export class ScriptedRun {
  readonly #stage: Stage;
  readonly #line: Timeline;
  readonly #facts: Facts;
  #control = providerControl("http://127.0.0.1");
  #env: NodeJS.ProcessEnv = {};
  #asked = 0;

  constructor(stage: Stage, line: Timeline, facts: Facts) {
    this.#stage = stage;
    this.#line = line;
    this.#facts = facts;
  }

  async run(): Promise<Check[]> {
    const stage = this.#stage;
    const url = await stage.provider();
    this.#control = providerControl(url);
    await this.#control.setScript(scriptOf());
    const model = { PERDURE_MODEL: "openai-compatible:scripted", PERDURE_BASE_URL: url };
    this.#env = { ...bareEnv(), ...model, PERDURE_EFFECTS_FILE: stage.effects };
    let server = await stage.server(this.#env);
    this.#line.say("start", `perdure serve (process ${server.pid}) on an empty file; a scripted model beside it`);

    const client = new Client(stage.api, "demo");
    this.#line.say("client", `asks ${endOf(question, 80)}`);
    await client.send(question);
    await this.#asks();

    const cut = await this.#killInText(client, server, killAfter.first, "in the middle of its text");
    server = await this.#goOn(client, cut);

    const more = textOf(cut).length + killAfter.more;
    const cutAgain = await this.#killInText(client, server, more, "in the middle of the continuation");
    this.#line.more(`the overlap of ${repeatedChars} characters was ${trimmed(textOf(cut), textOf(cutAgain))}`);
    server = await this.#goOn(client, cutAgain);

    await this.#killInTool(client, server);
    await this.#settleCalls(client);
    const final = await client.finished(limitMs);
    return this.#judge(client, final);
  }

  /** Waits for the next request to the model, says it, and answers it. */
  async #asks(): Promise<RequestRecord> {
    const from = this.#asked;
    const request = await until("the model is asked", limitMs, async () => (await this.#control.log(from)).requests[0]);
    this.#asked += 1;
    const kind = { first: "for the answer", step: "for the next step", continuation: "for the rest of its answer" };
    const carried = request.partialChars ? `, and sent ${request.partialChars} characters of it` : "";
    const refused = request.refusal === null ? "" : ` REFUSED: ${request.refusal}`;
    const what = `${request.kind ?? "?"}: is asked ${kind[request.kind ?? "first"]}${carried}${refused}`;
    this.#line.say("model", `call ${this.#asked}, ${what}`);
    return request;
  }

  async #killInText(client: Client, server: Server, chars: number, where: string): Promise<Durable> {
    const seen = () => stepTexts(client.tap.chunks)[0] ?? "";
    await until("the text streams", limitMs, () => seen().length >= chars || client.tap.done);
    server.kill();
    const durable = await this.#died(client, server, where);
    if (!inMidText(durable)) throw new Missed("the text had ended before the kill");
    return durable;
  }

  async #died(client: Client, server: Server, where: string): Promise<Durable> {
    await this.#stage.killed(server);
    await client.broken();
    const { size } = client.tap.seen;
    this.#facts.kills += 1;
    this.#facts.seenChunks = size;
    const durable = durableIn(this.#stage.data);
    const { length } = durable.chunks;
    this.#line.say("client", `has read ${count(size, "chunk")}, so far: ${endOf(client.text)}`);
    this.#line.say("KILL", `no. ${this.#facts.kills}: SIGKILL to process ${server.pid} ${where}`);
    this.#line.say("durable", `${count(length, "chunk")}, ${count(textOf(durable).length, "character")} of text`);
    if (size > length) throw new Error(`The client saw ${size} chunks, and only ${length} were durable.`);
    return durable;
  }

  async #restart(client: Client): Promise<{ server: Server; request: RequestRecord }> {
    const server = await this.#stage.server(this.#env);
    client.reattach();
    this.#line.say("restart", `perdure serve (process ${server.pid}) on the same file; the client reattaches`);
    const request = await this.#asks();
    const ms = request.startedAt - server.spawnedAt;
    this.#facts.recoveryMs = Math.max(this.#facts.recoveryMs ?? 0, ms);
    this.#line.more(`${ms} ms after the new process was spawned`);
    return { server, request };
  }

  /** A restart after a death in the text. The first time, the model repeats itself before it goes on. */
  async #goOn(client: Client, durable: Durable): Promise<Server> {
    const partial = textOf(durable);
    const stutters = this.#facts.kills === 1;
    const repeated = partial.slice(-repeatedChars);
    if (stutters) await this.#control.setScript(scriptOf({ partial, repeated }));
    const { server, request } = await this.#restart(client);
    if (request.kind !== "continuation")
      throw new Error(`The model was asked for a ${request.kind}, not for the rest.`);
    if (request.partialChars !== partial.length) {
      throw new Error(`${partial.length} characters were durable, and the model was sent ${request.partialChars}.`);
    }
    if (stutters) this.#line.more(`it begins by saying its last ${repeatedChars} characters again: ${endOf(repeated)}`);
    await this.#control.setScript(scriptOf());
    return server;
  }

  async #killInTool(client: Client, server: Server): Promise<void> {
    const trap = await setTrap({ pid: server.pid, path: this.#stage.effects, fromBytes: 0 });
    const dead = { yet: false };
    server.ended.then(() => (dead.yet = true)).catch(() => {});
    await until("the model calls its tools", limitMs, () => dead.yet || callsBegun(client));
    if (!dead.yet) yieldToTrap(server.pid);
    await until("append_effect writes its line", limitMs, () => dead.yet || client.tap.done);
    await trap.remove();
    if (!dead.yet) throw new Error("The turn ended, and append_effect had never written its line.");
    const { calls } = await this.#died(client, server, "the instant that append_effect had written its line");
    for (const { tool, state } of calls)
      this.#line.more(`${tool}: ${state}${state === "started" ? ", no result" : ""}`);
    if (calls.find(({ tool }) => tool === "append_effect")?.state !== "started") {
      throw new Missed("the result of append_effect was durable before the kill");
    }
  }

  async #settleCalls(client: Client): Promise<void> {
    const { request } = await this.#restart(client);
    for (const { tool, state, runs } of durableIn(this.#stage.data).calls) {
      this.#line.say("tool", `${tool}: ${state}, ran ${runs === 1 ? "once" : `${runs} times`}`);
    }
    const told = toolAnswers(request).find((text) => text.includes("unknown"));
    if (told === undefined) throw new Error("The model was not told that the outcome of append_effect is unknown.");
    this.#line.more(`the model is told: ${told.slice(0, 100)}...`);
  }

  async #judge(client: Client, final: Final): Promise<Check[]> {
    const { requests, refusals } = await this.#control.log();
    const facts = this.#facts;
    const texts = answers(final.messages).map((message) => textsOf(message).join(""));
    const text = texts.join("");
    facts.outcome = final.turn.outcome ?? final.turn.state;
    facts.seenChunks = client.tap.seen.size;
    facts.lostChunks = final.lostChunks;
    facts.duplicatedText = [text, client.text].some(repeatsItself);
    facts.assistantMessages = Math.max(texts.length, answers(client.chat.messages).length);
    facts.modelCalls = requests.length;
    facts.effects = this.#stage.effectLines();
    const script = firstText + secondText;
    const kept = client.shown.every((shown) => text.startsWith(shown));
    const most = steps + facts.kills;
    return [
      check(
        "the turn's end",
        [facts.outcome, final.turn.error].filter(Boolean).join(": "),
        facts.outcome === "completed",
      ),
      check("deaths of the process", facts.kills, facts.kills === 3),
      check("chunks that were seen and lost", `${facts.lostChunks} of ${facts.seenChunks}`, facts.lostChunks === 0),
      check("shown text that was taken back", kept ? "none" : "some", kept),
      check("text that was said twice", facts.duplicatedText ? "some" : "none", !facts.duplicatedText),
      check("answer in the transcript", text === script ? "equal to the script" : endOf(text), text === script),
      check(
        "answer in the SDK's client",
        client.text === script ? "equal to the script" : endOf(client.text),
        client.text === script,
      ),
      check("assistant messages", facts.assistantMessages, facts.assistantMessages === 1),
      check("lines that append_effect wrote", facts.effects, facts.effects === 1),
      check(`model calls (${steps} steps, ${facts.kills} deaths)`, facts.modelCalls, facts.modelCalls <= most),
      check(
        "requests that the provider refused",
        refusals.map(({ code }) => code).join(", ") || 0,
        refusals.length === 0,
      ),
    ];
  }
}

function callsBegun({ tap }: Client): boolean {
  return tap.done || tap.chunks.some(({ type }) => type === "tool-input-start");
}

/** From here to the kill the server goes last on a busy machine: else it could be done before the trap is woken. */
function yieldToTrap(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It has died already, or may not be told: then the trap is only less sure.
  }
}

function textOf({ chunks }: Durable): string {
  return stepTexts(chunks)[0] ?? "";
}

/** What became of the repeat, judged by what is durable of the continuation. */
function trimmed(before: string, after: string): string {
  const fresh = after.slice(before.length);
  if (fresh === "") throw new Missed("nothing of the continuation was durable yet");
  return firstText.startsWith(after) ? "trimmed before anybody saw them" : `SHOWN, as ${endOf(fresh)}`;
}

/** What the tools answered, as the request says it to the model. */
function toolAnswers({ body }: RequestRecord): string[] {
  const { messages } = body as { messages: readonly { role: string; content: unknown }[] };
  return messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
}
