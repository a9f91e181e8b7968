import { AISDKError, APICallError } from "@ai-sdk/provider";
import { asSchema, executeTool, isExecutableTool, safeValidateTypes, validateTypes } from "@ai-sdk/provider-utils";
import {
  convertToModelMessages,
  experimental_streamLanguageModelCall,
  gateway,
  RetryError,
  StreamProviderError,
  toUIMessageChunk,
  wrapLanguageModel,
} from "ai";
import { describe, expect, test } from "vitest";

/** What we call of the SDK. Two of the names are experimental: a version that drops them must fail here first. */
describe("the names that we use exist", () => {
  test.each(
    Object.entries({
      convertToModelMessages,
      experimental_streamLanguageModelCall,
      toUIMessageChunk,
      wrapLanguageModel,
      asSchema,
      executeTool,
      isExecutableTool,
      safeValidateTypes,
      validateTypes,
    }),
  )("%s", (_, given) => expect(given).toBeTypeOf("function"));

  test("the marks of errors, and the gateway", () => {
    for (const error of [AISDKError, APICallError, RetryError, StreamProviderError]) {
      expect(error.isInstance).toBeTypeOf("function");
    }
    expect(gateway.languageModel("x/y").modelId).toBe("x/y");
  });

  test("the parts that toUIMessageChunk does not know are still those that we filter", () => {
    for (const type of ["model-call-start", "model-call-end", "model-call-response-metadata"]) {
      expect(() => toUIMessageChunk({ type } as never)).toThrow();
    }
  });
});
