/** The third way from a sequence to chunks: a whole turn of the public class, through the runtime and its store. */
import { setTimeout as sleep } from "node:timers/promises";
import type { LanguageModel, ToolSet } from "ai";
import { Think } from "../../src/index.ts";
import { open } from "../think/kit.ts";
import { modelFor, type Path } from "./paths.ts";

/** An interruption ends the turn here: what is compared is one answer. */
export const chunksOfRuntime: Path = async (sequence) => {
  const model = modelFor(sequence);
  class Played extends Think {
    override maxSteps = sequence.steps.length;
    override getModel = (): LanguageModel => model;
    override getTools = (): ToolSet => sequence.tools() as ToolSet;
    override onChatRecovery = (): { continue: boolean } => ({ continue: false });
  }
  const chat = await open(Played);
  const turn = await chat.submit("u1");
  while ((await chat.gateway.turn("chat/a", turn))?.state !== "settled") {
    // Tools of a sequence take time of their own.
    await sleep(1);
    await chat.time.advance(5);
  }
  return chat.log(turn);
};
