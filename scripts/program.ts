// Runs a program to its end, with a limit on how long that may take.
import { spawn } from "node:child_process";

export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function runProgram(
  command: string,
  args: readonly string[],
  cwd: string,
  options: { readonly limitMs?: number; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<Run> {
  const { limitMs = 60_000, env = process.env } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: limitMs,
      killSignal: "SIGKILL",
    });
    const output = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        output[name] += text;
      });
    }
    child.on("error", reject);
    child.on("close", (code, signal) => {
      const note = signal ? `\nended by ${signal} (the limit is ${limitMs} ms)\n` : "";
      resolve({ code, stdout: output.stdout, stderr: output.stderr + note });
    });
  });
}
