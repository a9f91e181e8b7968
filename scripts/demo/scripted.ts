/** The demo itself: a scripted model, and three deaths at three places. */
import { providerControl, type RequestRecord } from "../../src/testing/provider/index.ts";
import { Client } from "./client.ts";
import { type Durable, durableIn, inMidText, stepTexts } from "./durable.ts";
import { type Check, type Facts, Missed } from "./facts.ts";
import { judge } from "./judge.ts";
import { effectTool, firstText, question, scriptOf } from "./script.ts";
import { bareEnv, type Server, type Stage } from "./stage.ts";
import { count, endOf, type Timeline } from "./timeline.ts";
import { until } from "./wait.ts";

/** The first two deaths: after so many characters of the first step's text, and after so many more of its continuation. */
const killAfter = { first: 240, more: 250 } as const;
const repeatedChars = 30;
const limitMs = 40_000;
const agent = "scripts/demo/agent.ts";

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
    let server = await stage.server(this.#env, agent);
    this.#line.say("start", `perdure serve (process ${server.pid}) on an empty file; a scripted model beside it`);

    const client = new Client(stage.api, "demo");
    this.#line.say("client", `asks ${endOf(question, 80)}`);
    await client.send(question);
    await this.#asks();

    const cut = await this.#killInText(client, server, killAfter.first, "in the middle of its text");
    server = await this.#goOn(client, cut);

    const more = textOf(cut).length + killAfter.more;
    const cutAgain = await this.#killInText(client, server, more, "in the middle of the continuation");
    this.#overlap(textOf(cut), textOf(cutAgain));
    server = await this.#goOn(client, cutAgain);

    await this.#killInTool(client, server);
    await this.#settleCalls(client);
    const final = await client.finished(limitMs);
    return judge(client, final, await this.#control.log(), stage.effectLines(), this.#facts);
  }

  /** Waits for the next request to the model, says it, and answers it. */
  async #asks(): Promise<RequestRecord> {
    const from = this.#asked;
    const request = await until("the model is asked", limitMs, async () => {
      if (this.#stage.effectLines() > 1) throw new Error(`${effectTool} has written its line again.`);
      return (await this.#control.log(from)).requests[0];
    });
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
    const server = await this.#stage.server(this.#env, agent);
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

  /** What became of the model's repeat, judged by what is durable of the continuation. */
  #overlap(before: string, after: string): void {
    const fresh = after.slice(before.length);
    if (fresh === "") throw new Missed("nothing of the continuation was durable yet");
    this.#facts.duplicatedText = !firstText.startsWith(after);
    if (this.#facts.duplicatedText) throw new Error(`The model's repeat was shown: ${JSON.stringify(fresh)}`);
    this.#line.more(`the overlap of ${repeatedChars} characters was trimmed before anybody saw it`);
  }

  async #killInTool(client: Client, server: Server): Promise<void> {
    await until(`${effectTool} writes its line`, limitMs, () => this.#stage.effectLines() > 0 || client.tap.done);
    if (client.tap.done) throw new Error(`The turn ended early: ${JSON.stringify(client.tap.chunks.at(-1))}`);
    server.kill();
    const { calls } = await this.#died(client, server, `inside ${effectTool}, which had written its line`);
    for (const { tool, state } of calls)
      this.#line.more(`${tool}: ${state}${state === "started" ? ", no result" : ""}`);
    const call = calls.find(({ tool }) => tool === effectTool);
    if (call?.state !== "started") throw new Error(`${effectTool} was ${call?.state ?? "never called"}, not started.`);
  }

  async #settleCalls(client: Client): Promise<void> {
    const { request } = await this.#restart(client);
    for (const { tool, state, runs } of durableIn(this.#stage.data).calls) {
      this.#line.say("tool", `${tool}: ${state}, ran ${runs === 1 ? "once" : `${runs} times`}`);
    }
    const told = toolAnswers(request).find((text) => text.includes("unknown"));
    if (told === undefined) throw new Error(`The model was not told that the outcome of ${effectTool} is unknown.`);
    this.#line.more(`the model is told: ${told.slice(0, 100)}...`);
  }
}

function textOf({ chunks }: Durable): string {
  return stepTexts(chunks)[0] ?? "";
}

/** What the tools answered, as the request says it to the model. */
function toolAnswers({ body }: RequestRecord): string[] {
  const { messages } = body as { messages: readonly { role: string; content: unknown }[] };
  return messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
}
