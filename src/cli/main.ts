#!/usr/bin/env node
/** `perdure`: the command. Every failure is one clear line and a non-zero exit. */
import { Command, CommanderError, InvalidArgumentError } from "commander";
import { PerdureError } from "../core/errors.ts";
import { version } from "../node/version.ts";
import { serveCommand } from "./serve.ts";

const program = new Command("perdure")
  .description("Durable chat turns for AI agents.")
  .version(version)
  .exitOverride()
  .showHelpAfterError("(perdure --help lists the commands)");

program
  .command("serve")
  .description("Serve the agent classes that a module exports, or a built-in assistant for the model in PERDURE_MODEL.")
  .argument("[module]", "path of a module that exports classes extending Think")
  .option("--port <number>", "port to listen on; 0 takes a free one", portOf, 4437)
  .option("--host <address>", "address to listen on", "127.0.0.1")
  .option("--data <path>", "the SQLite file", "perdure.db")
  .option("--wait <duration>", "stand by until a live owner lets the file go: 30s, 500ms, 2m", durationOf)
  .option("--grace <duration>", "how long started tools may finish on SIGTERM", durationOf, 10_000)
  .exitOverride()
  .action(serveCommand);

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError("a port is a number from 0 to 65535.");
  return port;
}

function durationOf(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m)?$/.exec(text);
  if (!match) throw new InvalidArgumentError("a duration is a number with ms, s or m: 30s.");
  return Number(match[1]) * { ms: 1, s: 1_000, m: 60_000 }[(match[2] ?? "s") as "ms" | "s" | "m"];
}

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exit(error.exitCode);
  const text = PerdureError.is(error) || error instanceof Error ? error.message : String(error);
  console.error(`perdure: ${text}`);
  process.exit(1);
}
