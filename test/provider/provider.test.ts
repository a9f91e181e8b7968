import { afterEach, describe, expect, test } from "vitest";
import { type Provider, type ProviderOptions, startProvider } from "../../src/testing/provider/index.ts";
import { ask, assistant, result, script, until, user, weather } from "./helper.ts";

let provider: Provider;
const start = async (options: Partial<ProviderOptions> = {}) => {
  provider = await startProvider({ script, ...options });
};
afterEach(() => provider.close());

const goOn = (partial: string) => [user("weather?"), assistant(partial), user("Go on.")];

describe("steps", () => {
  test("a first call: reasoning, text, calls, finish, usage, done", async () => {
    await start();
    const answer = await ask(provider, [user("report please")], { stream_options: { include_usage: true } });
    const kinds = answer.deltas.map((delta) => Object.keys(delta).at(-1));
    expect([...new Set(kinds)]).toEqual(["content", "reasoning_content", "tool_calls"]);
    expect(answer.deltas[0]).toEqual({ role: "assistant", content: "" });
    expect(answer.deltas.map((delta) => delta.reasoning_content ?? "").join("")).toBe("I need two look-ups first.");
    expect(answer.text).toBe("Let me look. ");
    expect(answer.calls).toMatchObject([
      { name: "look", arguments: '{"place":"a"}' },
      { name: "look", arguments: '{"place":"b"}' },
    ]);
    expect(new Set(answer.calls.map((one) => one.id)).size).toBe(2);
    expect([answer.finish, answer.done]).toEqual(["tool_calls", true]);
    expect(answer.usage).toMatchObject({ completion_tokens_details: { reasoning_tokens: 7 } });
    expect(provider.requests()).toMatchObject([
      { kind: "first", turn: "report", userText: "report please", step: 0, outcome: "finished", lastRole: "user" },
    ]);
    expect(provider.requests()[0]?.sent).toMatchObject({ text: 13, reasoning: 26, args: 26 });
  });

  test("the rounds behind the anchor are the step; without include_usage there is no usage", async () => {
    await start();
    const answer = await ask(provider, [
      user("report"),
      assistant("Let me look. ", "1", "2"),
      result("1"),
      result("2"),
    ]);
    expect(answer).toMatchObject({ text: "All done: two places looked up.", finish: "stop", usage: null, calls: [] });
    expect(provider.requests()).toMatchObject([{ kind: "step", step: 1, lastRole: "tool" }]);
  });

  test("exact match first, then the order of the list; a default with its continuation", async () => {
    const say = (text: string) => ({ steps: [{ text }] });
    const turns = ["a", "ab", "abc"].map((when) => ({ when, ...say(`turn ${when}`) }));
    await start({ script: { turns, default: say("default text"), continuation: "GO" }, manner: "exact" });
    expect((await ask(provider, [user("abc")])).text).toBe("turn abc");
    expect((await ask(provider, [user("xabcx")])).text).toBe("turn a");
    expect((await ask(provider, [user("zzz")])).text).toBe("default text");
    expect((await ask(provider, [user("zzz"), assistant("default text"), user("zzz")])).text).toBe("default text");
    expect((await ask(provider, [user("zzz"), assistant("defa"), user("GO")])).text).toBe("ult text");
    expect(provider.refusals()).toEqual([]);
  });

  test("a bad script is refused by name", async () => {
    await start();
    const bad = (value: unknown) => () => provider.setScript(value as typeof script);
    expect(bad({ turns: [{ when: "", steps: [{ text: "x" }] }] })).toThrow("turns[0].when");
    expect(bad({ turns: [{ when: "x", steps: [{ text: "x" }, { text: "y" }] }] })).toThrow("unreachable");
    expect(bad({ turns: [], default: { steps: [{ text: "x" }] } })).toThrow("continuation");
    expect(bad({ turns: [], pace: { chunkChars: [0, 1] } })).toThrow("pace.chunkChars");
    expect(bad({ turns: [{ when: "x", steps: [{ fault: { kind: "fire" } }] }] })).toThrow("fault.kind");
  });
});

describe("continuation manners", () => {
  test("exact: the rest and nothing else, by user message and by prefill", async () => {
    await start({ manner: "exact", prefill: true });
    expect((await ask(provider, goOn(weather.slice(0, 20)))).text).toBe(weather.slice(20));
    expect((await ask(provider, goOn(weather.slice(0, 20)).slice(0, 2))).text).toBe(weather.slice(20));
    expect(provider.requests()).toMatchObject([
      { kind: "continuation", manner: "exact", partialChars: 20, repeated: null, lastRole: "user" },
      { kind: "continuation", manner: "exact", partialChars: 20, repeated: null, lastRole: "assistant" },
    ]);
  });

  test("exact: a whole partial gets no content, then the step's calls", async () => {
    await start({ manner: "exact" });
    const answer = await ask(provider, [user("report"), assistant("Let me look. "), user("Go on.")]);
    expect(answer.deltas.filter((delta) => typeof delta.content === "string")).toEqual([]);
    expect(answer.calls).toHaveLength(2);
    expect(answer.finish).toBe("tool_calls");
  });

  test("repeat: the end of the partial again, its length in the log", async () => {
    await start({ manner: "repeat" });
    for (let cut = 1; cut < weather.length; cut += 1) {
      const { text } = await ask(provider, goOn(weather.slice(0, cut)));
      const { repeated, manner } = provider.requests().at(-1)!;
      expect(manner).toBe("repeat");
      expect(text).toBe(weather.slice(cut - repeated!));
    }
    const lengths = provider.requests().map((record) => record.repeated!);
    expect([Math.min(...lengths), Math.max(...lengths)]).toEqual([1, 40]);
    await ask(provider, goOn(weather));
    expect(provider.requests().at(-1)).toMatchObject({ manner: "exact", repeated: null });
  });

  test("repeat: a short one may stay in the next partial, a long one must be gone", async () => {
    await start({ manner: "repeat", trimFrom: 8 });
    const lengths = new Set<number>();
    for (let cut = 10; cut < 80; cut += 1) {
      const partial = weather.slice(0, cut);
      await ask(provider, goOn(partial));
      const { repeated } = provider.requests().at(-1)!;
      const joined = `${partial}${partial.slice(-repeated!)}${weather.slice(cut, cut + 5)}`;
      const { status, text } = await ask(provider, goOn(joined));
      lengths.add(repeated!);
      expect(status).toBe(repeated! < 8 ? 200 : 400);
      if (status !== 200) continue;
      expect(text.endsWith(weather.slice(cut + 5))).toBe(true);
      const cutInRepeat = await ask(provider, goOn(joined.slice(0, cut + repeated! - 1)));
      expect(cutInRepeat.text.endsWith(weather.slice(cut))).toBe(true);
    }
    expect([lengths.has(7), lengths.has(8)]).toEqual([true, true]);
  });

  test("empty: an empty delta for a whole partial, else exact", async () => {
    await start({ manner: "empty" });
    const whole = await ask(provider, goOn(weather));
    expect(whole.deltas).toEqual([{ role: "assistant", content: "" }, { content: "" }]);
    expect([whole.finish, whole.done]).toEqual(["stop", true]);
    expect((await ask(provider, goOn(weather.slice(0, 9)))).text).toBe(weather.slice(9));
    expect(provider.requests().map((record) => record.manner)).toEqual(["empty", "exact"]);
  });

  test("dice give all manners, but no repeat for prefill", async () => {
    await start({ prefill: true });
    for (let cut = 10; cut < 50; cut += 1) await ask(provider, goOn(weather.slice(0, cut)));
    for (let times = 0; times < 9; times += 1) await ask(provider, goOn(weather));
    expect(new Set(provider.requests().map((record) => record.manner))).toEqual(new Set(["exact", "repeat", "empty"]));
    provider.reset();
    for (let cut = 10; cut < 50; cut += 1) await ask(provider, goOn(weather.slice(0, cut)).slice(0, 2));
    expect(new Set(provider.requests().map((record) => record.manner))).toEqual(new Set(["exact"]));
  });

  test("in a later step only the text behind the last round is the partial", async () => {
    await start({ manner: "exact" });
    const first = [user("report"), assistant("Let me "), user("Go on."), assistant("look. ", "1"), result("1")];
    expect((await ask(provider, [...first, assistant("All "), user("Go on.")])).text).toMatch(/^done: two/);
    expect(provider.requests()).toMatchObject([{ kind: "continuation", step: 1, partialChars: 4 }]);
  });

  test("a partial over several messages is joined", async () => {
    await start({ manner: "exact" });
    const again = [...goOn(weather.slice(0, 10)), assistant(weather.slice(10, 30)), user("Go on.")];
    expect((await ask(provider, again)).text).toBe(weather.slice(30));
  });
});

describe("seeds", () => {
  const texts = async (seed: number) => {
    await start({ seed });
    const answers = [];
    for (const messages of [[user("weather")], [user("weather")], [user("report")], goOn(weather.slice(0, 30))]) {
      answers.push((await ask(provider, messages)).deltas);
    }
    await provider.close();
    return answers;
  };

  test("the same seed cuts the same chunks and mints the same ids, another seed does not", async () => {
    const [first, again, other] = [await texts(7), await texts(7), await texts(8)];
    expect(again).toEqual(first);
    expect(other).not.toEqual(first);
    // A retried request is not a replay.
    expect(first[1]).not.toEqual(first[0]);
  });

  test("surrogate pairs stay whole in chunks and repeats", async () => {
    const text = "🙂🚀".repeat(30);
    const pace = { chunkChars: [1, 3] as [number, number] };
    await start({ script: { turns: [{ when: "x", steps: [{ text }] }], pace }, manner: "repeat" });
    for (let cut = 2; cut < 60; cut += 2) {
      const { deltas } = await ask(provider, [user("x"), assistant(text.slice(0, cut)), user("more")]);
      expect(deltas.every((delta) => String(delta.content).isWellFormed())).toBe(true);
    }
    expect(provider.refusals()).toEqual([]);
  });

  test("delays are kept", async () => {
    const pace = { chunkChars: [10, 10], delayMs: [8, 12], firstByteMs: [40, 40] } as const;
    await start({ script: { ...script, pace: pace as unknown as NonNullable<typeof script.pace> } });
    await ask(provider, [user("weather")]);
    const { startedAt, firstByteAt, endedAt, sent } = provider.requests()[0]!;
    expect(firstByteAt! - startedAt).toBeGreaterThanOrEqual(39);
    expect(endedAt! - firstByteAt!).toBeGreaterThanOrEqual((sent.chunks - 1) * 7);
  });
});

test("a client that leaves is logged as such, with what was sent", async () => {
  await start({ script: { ...script, pace: { chunkChars: [2, 2], delayMs: [5, 5] } } });
  const leave = new AbortController();
  const asked = ask(provider, [user("weather")], {}, leave.signal);
  await until(() => (provider.requests()[0]?.sent.text ?? 0) > 10);
  leave.abort();
  expect(await asked).toMatchObject({ broken: true });
  await until(() => provider.requests()[0]?.outcome === "cut_by_client");
  const { sent, endedAt } = provider.requests()[0]!;
  const sentThen = sent.text;
  expect(endedAt).not.toBeNull();
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(provider.requests()[0]?.sent.text).toBe(sentThen);
  expect(sentThen).toBeLessThan(weather.length);
});

test("a slow client holds the provider back", async () => {
  const text = "x".repeat(20_000_000);
  await start({ script: { turns: [{ when: "big", steps: [{ text }] }], pace: { chunkChars: [20_000, 20_000] } } });
  const body = JSON.stringify({ model: "m", stream: true, messages: [user("big")] });
  const response = await fetch(`${provider.url}/chat/completions`, { method: "POST", body });
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(provider.requests()[0]?.sent.text).toBeLessThan(text.length);
  expect((await response.text()).length).toBeGreaterThan(text.length);
  expect(provider.requests()[0]).toMatchObject({ outcome: "finished", sent: { text: text.length } });
});
