/** The public API of the product. docs/library.md documents each name. */
export * from "@autonous/runtime";
export { runAgent } from "./agent/loop.ts";
export type { AgentOptions, AgentOutcome } from "./agent/agent-run.ts";
export { createProvider } from "./model/choose.ts";
export type { ModelProvider } from "./model/provider.ts";
export { CannotServe, createService } from "./service.ts";
export type { Service, ServiceOptions } from "./service.ts";
export { aiSdkFunctionTools, aiSdkTools, runAiSdkToolCall } from "./adapters/ai-sdk-tools.ts";
export type { AiSdkToolCall } from "./adapters/ai-sdk-tools.ts";
export { anthropicTools, runAnthropicToolUses } from "./adapters/anthropic.ts";
export type { AnthropicBlock } from "./adapters/anthropic.ts";
export { openAiChatTools, openAiResponsesTools, runOpenAiToolCall } from "./adapters/openai.ts";
export type { OpenAiChatCall, OpenAiResponsesCall } from "./adapters/openai.ts";
