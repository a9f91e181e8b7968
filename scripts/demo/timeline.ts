/** What the viewer reads: one line an event, with the seconds since the start. Coloured on a terminal only. */
import { styleText } from "node:util";

type Format = Parameters<typeof styleText>[0];

const colours: Readonly<Record<string, Format>> = {
  KILL: ["bold", "red"],
  model: "cyan",
  client: "green",
  durable: "yellow",
  tool: "magenta",
};

export class Timeline {
  readonly #start = performance.now();

  get seconds(): number {
    return (performance.now() - this.#start) / 1_000;
  }

  say(who: string, text: string): void {
    const at = styleText("dim", `${this.seconds.toFixed(2).padStart(6)}s`);
    console.log(`${at}  ${styleText(colours[who] ?? "dim", who.padEnd(8))} ${text}`);
  }

  /** A line that belongs to the one before. */
  more(text: string): void {
    console.log(`${" ".repeat(18)}${styleText("dim", text)}`);
  }

  plain(text = ""): void {
    console.log(text);
  }
}

export function good(text: string): string {
  return styleText("green", text);
}

export function bad(text: string): string {
  return styleText("red", text);
}

export function count(number: number, one: string): string {
  return `${number} ${one}${number === 1 ? "" : "s"}`;
}

/** The end of a text, in quotes, on one line. */
export function endOf(text: string, chars = 48): string {
  const shown = text.slice(-chars).replaceAll("\n", " ");
  return `"${text.length > chars ? "..." : ""}${shown}"`;
}
