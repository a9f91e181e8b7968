/** `perdure`: the class, its types and its errors. */
export {
  type DurableExecuteOptions,
  type DurableTool,
  type DurableToolOptions,
  durableTool,
  type ReconcileAnswer,
  type ReconcileRequest,
} from "./adapters/ai-sdk/durable-tool.ts";
export { type ErrorCode, errorCodes, PerdureError, type Problem } from "./core/errors.ts";
export { type AgentContext, Think } from "./think/think.ts";
export type {
  AddMessagesOptions,
  ChatErrorContext,
  ChatRecoveryConfig,
  ChatRecoveryContext,
  ChatRecoveryOptions,
  ChatRecoveryReason,
  ChatResponseResult,
  MessagesInput,
  PrepareStepContext,
  SaveMessagesOptions,
  SaveMessagesResult,
  StepConfig,
  StepContext,
  ToolCallContext,
  ToolCallDecision,
  ToolCallResultContext,
  TurnConfig,
  TurnContext,
} from "./think/types.ts";
