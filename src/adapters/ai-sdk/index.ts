/** The AI SDK (`ai` 7) behind the engine port. */

export {
  type DurableExecuteOptions,
  type DurableTool,
  type DurableToolOptions,
  durableTool,
  type ReconcileAnswer,
  type ReconcileRequest,
} from "./durable-tool.ts";
export { createEngine } from "./engine.ts";
