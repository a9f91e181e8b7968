/**
 * perdure/testing: what Perdure is tested with, for those who write an adapter or an agent. No test runner is imported.
 *
 *   startProvider           a model provider over HTTP, strict, scripted, and able to fail in every documented way
 *   scriptedModel           a model in memory, without a network
 *   registerStoreContract   the contract of a store, for any adapter
 *   runWorld                one seed of the deterministic simulator
 *   crashMatrix             a scripted turn, crashed before and after every operation of a store
 */
export { type ContractSubject, type ContractWorld, registerStoreContract } from "./contract/store-contract.ts";
export { between, type Dice, pick, prng, seedOf } from "./prng.ts";
export * from "./provider/index.ts";
export { type ScriptedModelOptions, scriptedModel } from "./scripted-model.ts";
export * from "./world/index.ts";
