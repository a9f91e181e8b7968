import { describe, expect, it } from "vitest";
import { crashMatrix, memoryDisk } from "../../src/testing/world/index.ts";
import { sqliteDisk } from "./disks.ts";

function tell(name: string, report: Awaited<ReturnType<typeof crashMatrix>>): void {
  const { operations, singles, pairs, ms } = report;
  const writes = operations.filter((call) => call.write).length;
  console.log(
    `${name}: ${operations.length} operations (${writes} writes), ${singles} singles, ${pairs} pairs, ${ms} ms`,
  );
}

describe("crash matrix", () => {
  it("[S2] every single crash and every pair leaves no violation (memory)", { timeout: 120_000 }, async () => {
    const report = await crashMatrix({ disk: async () => memoryDisk(), pairs: true });
    tell("memory", report);
    expect(report.failures).toEqual([]);
    expect(report.operations.filter((call) => call.write).length).toBeGreaterThan(20);
    expect(report.pairs).toBeGreaterThan(1_000);
  });

  it("[S2][S3] every single crash ends in the same durable state (SQLite, memory)", { timeout: 120_000 }, async () => {
    const report = await crashMatrix({ disk: sqliteDisk, compare: async () => memoryDisk() });
    tell("sqlite", report);
    expect(report.failures).toEqual([]);
  });
});
