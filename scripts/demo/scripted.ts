/** The demo itself: a scripted model, and three deaths at three places. */
import { providerControl, type RequestRecord } from "../../src/testing/provider/index.ts";
import { answers, Client, type Final, textsOf } from "./client.ts";
import { type Durable, durableIn, inMidText, stepTexts } from "./durable.ts";
import { type Check, check, type Facts, Missed, repeatsItself } from "./facts.ts";
import { firstText, question, scriptOf, secondText, steps } from "./script.ts";
import { bareEnv, type Server, type Stage } from "./stage.ts";
import { count, endOf, type Timeline } from "./timeline.ts";
import { setTrap } from "./trap.ts";
import { until } from "./wait.ts";

/** Where the first two deaths are: characters of the first step's text that the client must have seen. */
const killAt = { first: 240, continuation: 560 } as const;
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

    const cut = await this.#killInText(client, server, killAt.first, "in the middle of its text");
    server = await this.#goOn(client, cut);

    const cutAgain = await this.#killInText(client, server, killAt.continuation, "in the middle of the continuation");
    this.#line.more(
      `the ${repeatedChars} characters that the model repeated: ${trimmed(textOf(cut), textOf(cutAgain))}`,
    );
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
    const carried = request.partialChars ? `, sent the ${request.partialChars} characters that are durable` : "";
    const refused = request.refusal === null ? "" : ` REFUSED: ${request.refusal}`;
    const what = `${request.kind ?? "?"}: is asked ${kind[request.kind ?? "first"]}${carried}${refused}`;
    this.#line.say("model", `call ${this.#asked}, ${what}`);
    return request;
  }

  async #killInText(client: Client, server: Server, chars: number, where: string): Promise<Durable> {
    const seen = () => stepTexts(client.tap.chunks)[0] ?? "";
    await until("the text streams", limitMs, () => seen().length >= chars || client.tap.done);
    process.kill(server.pid, "SIGKILL");
    const durable = await this.#died(client, server, where);
    if (!inMidText(durable)) throw new Missed("the text had ended before the kill");
    this.#line.more(`the text ended in ${endOf(seen())}`);
    return durable;
  }

  async #died(client: Client, server: Server, where: string): Promise<Durable> {
    const how = await server.ended;
    if (how !== "SIGKILL") throw new Error(`The server ended by itself (${how}).\n${this.#stage.output("server")}`);
    await client.broken();
    this.#facts.kills += 1;
    const durable = durableIn(this.#stage.data);
    const { tap } = client;
    this.#facts.seenChunks = tap.seen.size;
    this.#line.say("KILL", `no. ${this.#facts.kills}: SIGKILL to process ${server.pid} ${where}`);
    this.#line.say("durable", `${count(durable.chunks.length, "chunk")}; the client had seen ${tap.seen.size} of them`);
    if (tap.seen.size > durable.chunks.length) throw new Error("The client saw a chunk that was not durable.");
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
    if (stutters) this.#line.more(`it begins by saying its last ${repeatedChars} characters again: ${endOf(repeated)}`);
    await this.#control.setScript(scriptOf());
    return server;
  }

  async #killInTool(client: Client, server: Server): Promise<void> {
    const trap = await setTrap({ pid: server.pid, path: this.#stage.effects, fromBytes: 0 });
    const dead = { yet: false };
    server.ended.then(() => (dead.yet = true)).catch(() => {});
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
    this.#line.more(`the model is told: ${told.slice(0, 140)}...`);
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
