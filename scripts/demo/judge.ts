/** The verdict on a scripted run: here everything is known that the answer must be. */
import type { ProviderLog } from "../../src/testing/provider/index.ts";
import { answers, type Client, type Final, textsOf } from "./client.ts";
import { type Check, check, type Facts, repeatsItself } from "./facts.ts";
import { effectTool, firstText, secondText, steps } from "./script.ts";
import { endOf } from "./timeline.ts";

/** Fills in what can be known at the end, and judges it. */
export function judge(client: Client, final: Final, log: ProviderLog, effects: number, facts: Facts): Check[] {
  const texts = answers(final.messages).map((message) => textsOf(message).join(""));
  const [stored, shown] = [texts.join(""), client.text];
  Object.assign(facts, {
    outcome: final.turn.outcome ?? final.turn.state,
    seenChunks: client.tap.seen.size,
    lostChunks: final.lostChunks,
    duplicatedText: [stored, shown].some(repeatsItself),
    assistantMessages: Math.max(texts.length, answers(client.chat.messages).length),
    modelCalls: log.requests.length,
    effects,
  } satisfies Partial<Facts>);
  const { kills } = facts;
  const end = [facts.outcome, final.turn.error].filter(Boolean).join(": ");
  const kept = client.shown.every((text) => stored.startsWith(text));
  const refused = log.refusals.map(({ code }) => code).join(", ");
  const calls = log.requests.length;
  return [
    check("the turn's end", end, facts.outcome === "completed"),
    check("deaths of the process", kills, kills === 3),
    check("chunks that were seen and lost", `${final.lostChunks} of ${facts.seenChunks}`, final.lostChunks === 0),
    check("chunks that came twice", client.tap.again || "none", client.tap.again === 0),
    check("shown text that was taken back", kept ? "none" : "some", kept),
    check("text that was said twice", facts.duplicatedText ? "some" : "none", !facts.duplicatedText),
    asScripted("answer in the transcript", stored),
    asScripted("answer in the SDK's client", shown),
    check("assistant messages", facts.assistantMessages, facts.assistantMessages === 1),
    check(`lines that ${effectTool} wrote`, effects, effects === 1),
    check(`model calls (${steps} steps, ${kills} deaths)`, calls, calls <= steps + kills),
    check("requests that the provider refused", refused || "none", refused === ""),
  ];
}

function asScripted(what: string, text: string): Check {
  const same = text === firstText + secondText;
  return check(what, same ? "equal to the script" : `other than the script: ${endOf(text)}`, same);
}
