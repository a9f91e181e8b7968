/** What the scripted model says: one turn of two steps. */
import type { Script } from "../../src/testing/provider/index.ts";

export const question = "How does a chat turn survive the death of its process?";

export const firstText =
  "A letter that is carried by a rider can be lost with the rider. So the old posts kept a book: every letter was " +
  "written into it before anybody rode, and every station signed for what had arrived. When a horse fell, nobody " +
  "asked the sender to write the letter again, and nobody delivered it twice: the next rider read the book, and rode " +
  "on from the last signature. A chat turn can be kept in the same way. The question goes into the book before it is " +
  "answered, each word of the answer before it is shown, and each tool call before it is made. If the process dies, " +
  "another one opens the book, sees how far the answer had come, and asks the model for the rest only. And where the " +
  "book says that a tool was begun, but not that it ended, nobody can know from the book alone whether it took effect; " +
  "an honest clerk says so, and does not ride twice. Let me add a line of my own, and look up the length of the road. ";

export const secondText =
  "The road was looked up. Of my own line I am told that its outcome is unknown: the process ended after the call was " +
  "begun and before its result was recorded. So I do not write it a second time. Please look at the file: it knows.";

/** Pure; it runs in parallel to the effect, and is simply run again after a death. */
const lookupMs = 250;

export const steps = 2;

/** Of `agent.ts`: it writes its line at once, and takes its time to answer. */
export const effectTool = "append_slowly";

/** `stutter`: the model, asked to go on from `partial`, first says the end of it again, as models do. */
export function scriptOf(stutter?: { readonly partial: string; readonly repeated: string }): Script {
  const first = stutter ? stutter.partial + stutter.repeated + firstText.slice(stutter.partial.length) : firstText;
  const calls = [
    { name: effectTool, input: { line: "The rider was here." } },
    { name: "slow_lookup", input: { key: "length of the road", ms: lookupMs } },
  ];
  return {
    turns: [{ when: question, steps: [{ text: first, calls }, { text: secondText }] }],
    pace: { chunkChars: [4, 14], delayMs: [12, 26] },
  };
}
