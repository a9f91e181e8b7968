import type { Fault, Script, ScriptStep } from "./types.ts";

/** Checks a script of unknown origin (a file, `POST /_script`). Throws a TypeError that names the place. */
export function parseScript(value: unknown): Script {
  const script = value as Script;
  need(isRecord(value) && Array.isArray(script.turns), "script.turns must be an array");
  for (const [index, turn] of script.turns.entries()) {
    need(
      isRecord(turn as unknown) && typeof turn.when === "string" && turn.when !== "",
      `turns[${index}].when must be a text`,
    );
    checkSteps(turn.steps, `turns[${index}]`);
  }
  if (script.default !== undefined) {
    checkSteps(script.default.steps, "default");
    // Else a continuation of the default turn could not be told from a new user message.
    need(script.continuation !== undefined, "a script with `default` needs `continuation`");
  }
  need(script.continuation !== "", "script.continuation must not be empty");
  for (const key of ["chunkChars", "delayMs", "firstByteMs"] as const) {
    const range = script.pace?.[key];
    const least = key === "chunkChars" ? 1 : 0;
    const fine = range === undefined || (range.length === 2 && range[0] >= least && range[1] >= range[0]);
    need(fine, `pace.${key} must be [least, most], from ${least} on`);
  }
  return script;
}

function checkSteps(steps: ScriptStep[], where: string): void {
  need(Array.isArray(steps) && steps.length > 0, `${where}.steps must not be empty`);
  for (const [index, step] of steps.entries()) {
    const last = index === steps.length - 1;
    need(isRecord(step as unknown), `${where}.steps[${index}] must be an object`);
    for (const text of [step.text, step.reasoning]) {
      need(
        text === undefined || (typeof text === "string" && text.isWellFormed()),
        `${where}.steps[${index}]: bad text`,
      );
    }
    for (const call of step.calls ?? []) {
      need(typeof call.name === "string" && isRecord(call.input), `${where}.steps[${index}]: a call needs name, input`);
    }
    if (step.fault !== undefined) parseFault(step.fault);
    // A client only comes back after tool results, so a step without calls ends the turn.
    need(last || (step.calls ?? []).length > 0, `${where}.steps[${index}] has no calls: the next step is unreachable`);
  }
}

/** Checks a fault of unknown origin (a script, `POST /_fault`). */
export function parseFault(value: unknown): Fault {
  const kinds = ["stall", "reset", "eof", "status"];
  need(isRecord(value) && kinds.includes(String(value.kind)), `fault.kind must be one of ${kinds.join(", ")}`);
  return value as unknown as Fault;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function need(condition: boolean, message: string): asserts condition {
  if (!condition) throw new TypeError(`Bad provider script: ${message}.`);
}
