export { providerControl } from "./control.ts";
export { startProvider } from "./server.ts";
export {
  type Fault,
  type Finish,
  type Manner,
  type Pace,
  type Provider,
  type ProviderLog,
  type ProviderOptions,
  type Refusal,
  type RefusalCode,
  type RequestRecord,
  refusalCodes,
  type Script,
  type ScriptCall,
  type ScriptStep,
  type ScriptTurn,
} from "./types.ts";
