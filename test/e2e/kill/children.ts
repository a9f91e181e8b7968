/** Processes that must not outlive the campaign, however it ends. */
import type { ChildProcess } from "node:child_process";

const children = new Set<ChildProcess>();

export function adopt<T extends ChildProcess>(child: T): T {
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
}

process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
