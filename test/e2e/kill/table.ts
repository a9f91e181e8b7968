/** The table of a campaign: a row for each point. */
import { type Column, columns, type Findings } from "./judge.ts";
import { type Cell, cellName, points } from "./plan.ts";
import { type Evidence, summary } from "./run.ts";
import { closingText } from "./script.ts";

export interface Judged {
  readonly evidence: Evidence;
  readonly findings: Findings;
  /** The cell that the run was planned for. */
  readonly cell: Cell;
}

export function faulty({ findings }: Judged): boolean {
  return columns.some((column) => findings[column].length > 0);
}

export function hitsOf(all: readonly Judged[]): Map<string, number> {
  const hits = new Map<string, number>();
  for (const { evidence } of all) {
    for (const { cell } of evidence.deaths) hits.set(cellName(cell), (hits.get(cellName(cell)) ?? 0) + 1);
  }
  return hits;
}

export function table(all: readonly Judged[]): string {
  const hits = hitsOf(all);
  const rows = [...points, "random" as const].flatMap((point) => {
    const own = all.filter(({ cell }) => cell.point === point);
    const kills =
      point === "random"
        ? String(hits.get("random") ?? 0)
        : `${hits.get(`${point}/before`) ?? 0}+${hits.get(`${point}/after`) ?? 0}`;
    if (own.length === 0 && /^[0+]+$/.test(kills)) return [];
    return [[point, String(own.length), kills, ...sums(own), median(recoveries(all, point))]];
  });
  const kills = all.reduce((sum, { evidence }) => sum + evidence.deaths.length, 0);
  const total = ["all", String(all.length), String(kills), ...sums(all), median(recoveries(all, null))];
  const head = ["point", "runs", "kills b+a", "seen", ...columns, "recovery ms"];
  return layout([head, ...rows, total]);
}

function sums(all: readonly Judged[]): string[] {
  const seen = all
    .flatMap(({ evidence }) => [...evidence.seen.turns.values()])
    .reduce((sum, { texts }) => sum + texts.size, 0);
  const count = (column: Column) => all.reduce((sum, { findings }) => sum + findings[column].length, 0);
  return [String(seen), ...columns.map((column) => String(count(column)))];
}

/** From the spawn of a process to the first request that its recovery sent to the provider. */
function recoveries(all: readonly Judged[], point: Cell["point"] | null): number[] {
  return all.flatMap(({ evidence }) =>
    evidence.lives.flatMap(({ spawnedAt, after }, index) => {
      if (!after || (point !== null && after.point !== point)) return [];
      const until = evidence.lives[index + 1]?.spawnedAt ?? Number.POSITIVE_INFINITY;
      const first = evidence.requests.find(({ startedAt }) => startedAt >= spawnedAt && startedAt < until);
      if (!first || first.userText === closingText) return [];
      const asked = evidence.acknowledged.find(({ text }) => text === first.userText);
      // What was sent only after the restart is no recovery.
      const before = (asked?.at ?? Number.POSITIVE_INFINITY) < spawnedAt || cellName(after) === "accepted/after";
      return before ? [first.startedAt - spawnedAt] : [];
    }),
  );
}

function median(values: readonly number[]): string {
  if (values.length === 0) return "-";
  const sorted = [...values].sort((a, b) => a - b);
  return String(sorted[Math.floor(sorted.length / 2)]);
}

function layout(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((text, column) => (column === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[column] ?? 0)))
      .join("  ");
  const [head = [], ...rest] = rows;
  return [line(head), widths.map((width) => "-".repeat(width)).join("  "), ...rest.map(line)].join("\n");
}

/** What broke in a run, and the command that plays it again. */
export function failure({ evidence, findings }: Judged, extra: string): string {
  const { plan, folder } = evidence;
  const found = columns.flatMap((column) => findings[column].map((text) => `  ${column}: ${text.slice(0, 600)}`));
  const again = `  again: npm run e2e:kill -- --run ${plan.run} --seed ${plan.seed}${extra}`;
  return [`FAILED ${summary(evidence)}`, ...found, again, `  kept: ${folder}`].join("\n");
}
