/** What must be true of a world in which nothing is left to happen. */

import { canonical } from "../../core/json.ts";
import { isToolPart, type Part, type UiMessage } from "../../core/transcript.ts";
import type { Promised } from "./clients.ts";
import type { FullStore } from "./facade.ts";
import { foldLog } from "./fold.ts";
import { epochMs } from "./machine.ts";
import type { AgentMirror, TurnMirror } from "./mirror.ts";
import type { TurnPlan } from "./scenario.ts";
import type { Scene } from "./scene.ts";
import { groupsOf, wantOf } from "./script.ts";

/** Logs of turns that ended in this time are there. */
const retainedMs = 50 * 60_000;

export async function checkEnd(scene: Scene, store: FullStore, promised: readonly Promised[]): Promise<void> {
  for (const { agent, turn } of promised) {
    if (!scene.mirror.turn(agent, turn)) scene.fail("C1", `turn ${turn} was acknowledged and is gone`);
  }
  for (const agent of scene.mirror.agents.values()) {
    for (const turn of agent.turns.values()) checkTurn(scene, agent, turn);
    checkOrder(scene, agent);
    await checkDisk(scene, agent, store);
  }
}

function checkTurn(scene: Scene, agent: AgentMirror, turn: TurnMirror): void {
  const { row } = turn;
  if (row.status !== "settled") return scene.fail("T1", `turn ${row.id} never ended: ${row.status}`);
  if (!row.outcome || row.endedAt === undefined) return scene.fail("T1", `turn ${row.id} ended without an outcome`);
  checkOutcome(scene, turn);
  checkMessage(scene, agent, turn);
  for (const effect of scene.effects.list) {
    if (effect.turn === row.id && !turn.ledger.has(effect.ordinal))
      scene.fail("C4", `${effect.tool} of ${row.id} ran without a ledger`);
  }
  if (agent.outbox.size > 0)
    scene.fail("H3", `notices of ${agent.key} are never delivered: ${[...agent.outbox.keys()].join(" ")}`);
  const tells = scene.scenario.asks.notices.includes("response");
  if (tells && !scene.cover.heard(null, `${row.id}/response`) && !scene.faults.struck.has("hook")) {
    scene.fail("H3", `nobody was told of the end of ${row.id}`);
  }
}

/** The turns that wrote the same message, in order: `continue` goes on with the last one. */
function writersOf(agent: AgentMirror, messageId: string): TurnMirror[] {
  return agent.order.flatMap((id) => {
    const turn = agent.turns.get(id);
    return turn?.row.messageId === messageId ? [turn] : [];
  });
}

/** The message is the fold of the log; a log shows all of the message that its turn found, and what it added. */
function checkMessage(scene: Scene, agent: AgentMirror, turn: TurnMirror): void {
  const { row } = turn;
  const writers = writersOf(agent, row.messageId);
  const stored = (agent.messages.get(row.messageId)?.parts ?? []).map(({ part }) => part);
  const shown = shownBy(turn);
  const until = turn === writers.at(-1) ? stored.length : shown.length;
  if (row.reason !== "nothing_to_continue" && canonical(shown) !== canonical(stored.slice(0, until))) {
    scene.fail(
      "A1",
      `message ${row.messageId} is ${JSON.stringify(stored)}; its log folds to ${JSON.stringify(shown)}`,
    );
  }
  const [first] = writers;
  const plan = scene.scenario.agents
    .flatMap((cast) => cast.turns)
    .find((known) => known.id === first?.row.inputs.at(-1));
  if (!plan)
    return row.reason === "nothing_to_continue" ? undefined : scene.fail("T1", `turn ${row.id} answers no message`);
  const before = writers[writers.indexOf(turn) - 1];
  checkContent(scene, agent, turn, plan, { shown, from: before ? groupsOf(asMessage(shownBy(before))).length : 0 });
}

function shownBy(turn: TurnMirror): Part[] {
  const shown = foldLog(turn.chunks).filter(
    (part) => part.type !== "text" || part["text"] !== "" || part["providerMetadata"] !== undefined,
  );
  // A last step in which nothing was said is not stored.
  while (shown.at(-1)?.type === "step-start") shown.pop();
  return shown;
}

function asMessage(parts: readonly Part[]): UiMessage {
  return { id: "", role: "assistant", parts };
}

/** An end that is not `completed` has a cause that the world knows of. */
function checkOutcome(scene: Scene, turn: TurnMirror): void {
  const { row } = turn;
  const { struck } = scene.faults;
  const causes = scene.cover.interruptions.get(row.id);
  scene.cover.mark(`outcome: ${row.outcome}${row.reason ? ` ${row.reason}` : ""}`);
  switch (row.outcome) {
    case "stopped":
      if (!scene.cover.stops.has(row.id)) scene.fail("T1", `turn ${row.id} was stopped, and nobody asked`);
      return;
    case "failed":
      if (!struck.has("model refused"))
        scene.fail("T1", `turn ${row.id} failed (${row.reason}), and nothing was refused`);
      return;
    case "sealed":
      if (row.reason === "continue_disabled" && !struck.has("recover no"))
        scene.fail("H5", `turn ${row.id} was declined, and the hook did not`);
      if (row.reason === "no_progress_timeout") {
        const live = scene.liveMs(turn.startedMs, turn.endedMs);
        if (live <= scene.scenario.policy.noProgressTimeoutMs)
          scene.fail("I6", `turn ${row.id} was given up after ${live} ms with an owner`);
      }
      if (row.reason === "max_attempts_exceeded") checkAttempts(scene, row.id, causes ?? new Map());
  }
}

function checkAttempts(scene: Scene, turn: string, causes: ReadonlyMap<string, number>): void {
  const { maxAttempts, maxInterruptedAttempts } = scene.scenario.policy;
  // The one that sealed it is not among them.
  const crashes = 1 + (causes.get("crash") ?? 0);
  const counted = crashes + (causes.get("cut") ?? 0) + (causes.get("prepare") ?? 0);
  const barren = scene.cover.modelCalls(turn) >= 20;
  if (counted <= maxAttempts && crashes <= maxInterruptedAttempts && !barren) {
    scene.fail(
      "I5",
      `turn ${turn} was sealed for its attempts after ${counted} interruptions, ${crashes} of them deaths`,
    );
  }
}

/** What the message says is what the models of the script said. */
function checkContent(
  scene: Scene,
  agent: AgentMirror,
  turn: TurnMirror,
  plan: TurnPlan,
  said: { readonly shown: readonly Part[]; readonly from: number },
): void {
  const groups = groupsOf(asMessage(said.shown));
  const completed = turn.row.outcome === "completed";
  groups.forEach((group, index) => {
    if (index < said.from) return;
    const step = `${plan.id}.${index}`;
    const texts = group.flatMap((part) => (part.type === "text" ? [String(part["text"])] : []));
    const text = texts.join("");
    const whole = scene.speech.whole(step);
    const ended = completed || index < groups.length - 1;
    const fine = (said: string): boolean => {
      if (!ended) return scene.speech.possible(step, said);
      return said === whole || (scene.zombies && scene.speech.came(step, said));
    };
    // A part of white space alone is not sent, so its model may have said it again.
    if (!fine(text) && !fine(texts.filter((said) => said.trim() !== "").join("")))
      scene.fail("T8", `step ${step} reads ${JSON.stringify(text)}; the script says ${JSON.stringify(whole)}`);
    for (const part of group.filter(isToolPart)) checkCall(scene, turn, part);
  });
  if (completed && said.from === 0) checkScript(scene, plan, groups);
  if (turn.ledger.size > 0 && !agent.messages.has(turn.row.messageId))
    scene.fail("A1", `turn ${turn.row.id} has calls and no message`);
}

/** A completed turn went through its script: every call that the model wanted was made. */
function checkScript(scene: Scene, plan: TurnPlan, groups: readonly Part[][]): void {
  const made = new Set(groups.flat().filter(isToolPart).map(wantOf));
  for (const call of plan.steps.flatMap((step) => step.calls)) {
    if (!made.has(call.id)) scene.fail("T5", `turn ${plan.id} completed without its call ${call.id}`);
  }
}

/** The result that is shown is that of the tool, and what is said of its effect is true. */
function checkCall(scene: Scene, turn: TurnMirror, part: Part): void {
  const row = [...turn.ledger.values()].find(({ label }) => label === part["toolCallId"]);
  const state = String(part["state"]);
  if (state !== "output-available" && state !== "output-error")
    scene.fail("T5", `call ${part["toolCallId"]} is stored as ${state}`);
  // It was announced in the log only, and never ran.
  if (!row) return;
  const effects = scene.effects.list.filter((effect) => effect.turn === turn.row.id && effect.ordinal === row.ordinal);
  const output = part["output"] as { did?: string } | undefined;
  if (state === "output-available" && output?.did === wantOf(part) && effects.length === 0) {
    scene.fail("C6", `call ${row.ordinal} of ${turn.row.id} has a result, and nothing was done`);
  }
  if (/had no effect|not executed/.test(String(part["errorText"] ?? "")) && effects.length > 0) {
    scene.fail("C5", `call ${row.ordinal} of ${turn.row.id} is said to have had no effect, and had one`);
  }
}

/** Queued turns run in the order of their acceptance. */
function checkOrder(scene: Scene, agent: AgentMirror): void {
  const started = agent.order.map((id) => agent.turns.get(id)?.row).filter((row) => row?.startedAt !== undefined);
  started.forEach((row, index) => {
    const before = started[index - 1];
    if (before && row && (before.endedAt ?? 0) > (row.startedAt ?? 0)) {
      scene.fail("T12", `turn ${row.id} started before ${before.id} had ended`);
    }
  });
}

/** The mirror was told the truth: the store reads back what landed (ST6). */
async function checkDisk(scene: Scene, agent: AgentMirror, store: FullStore): Promise<void> {
  const head = await store.head(agent.key);
  if (head?.wake !== null) scene.fail("I8", `${agent.key} has nothing left to do, and wakes at ${head?.wake}`);
  const differ = (what: string, a: unknown, b: unknown): void => {
    if (canonical(a) !== canonical(b))
      scene.fail("ST6", `${what} of ${agent.key} landed as ${JSON.stringify(b)} and reads ${JSON.stringify(a)}`);
  };
  differ("the state", await store.peek(agent.key), agent.state);
  for (const turn of agent.turns.values()) {
    differ(`turn ${turn.row.id}`, await store.turn(agent.key, turn.row.id), turn.row);
    differ(`the calls of ${turn.row.id}`, await store.ledger(agent.key, turn.row.id), [...turn.ledger.values()]);
    // Retention takes logs of turns that ended long ago.
    if (scene.schedule.now - (turn.row.endedAt ?? 0) + epochMs > retainedMs) continue;
    const page = await store.chunks(agent.key, turn.row.id, 0, Number.MAX_SAFE_INTEGER);
    const texts = page.segments.flatMap(({ chunks }) => chunks.map((chunk) => JSON.stringify(chunk)));
    differ(`the log of ${turn.row.id}`, texts, turn.texts);
  }
  const placed = await store.messages(agent.key, -1, 10_000);
  differ(
    "the conversation",
    placed.map(({ message }) => message.id),
    agent.placed,
  );
  for (const { message } of placed)
    differ(`message ${message.id}`, message.parts, agent.messages.get(message.id)?.parts);
}
