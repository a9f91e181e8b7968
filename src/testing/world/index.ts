export { type Fault as WorldFault, faultsOf, type Strike } from "./faults.ts";
export type { Disk } from "./machine.ts";
export { type CrashPoint, crashMatrix, type MatrixOptions, type MatrixReport, twoTurns } from "./matrix.ts";
export { explain, shrink } from "./report.ts";
export { type Scenario, scenarioOf } from "./scenario.ts";
export type { Violation } from "./scene.ts";
export { memoryDisk, runWorld, type StoreCall, type WorldOptions, type WorldResult } from "./world.ts";
