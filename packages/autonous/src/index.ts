export * from "@autonous/runtime";
export { parseReply } from "./model/calls/json-reply.ts";
export { runAgent } from "./agent/loop.ts";
export type { AgentOptions, AgentOutcome } from "./agent/agent-run.ts";
export { createProvider } from "./model/choose.ts";
export type { ModelProvider } from "./model/provider.ts";
export { CannotServe, createService } from "./service.ts";
export type { Service, ServiceOptions } from "./service.ts";
export { aiSdkFunctionTools, aiSdkTools, runAiSdkToolCall } from "./adapters/ai-sdk-tools.ts";
export type { AiSdkFunctionTool, AiSdkTool, AiSdkToolCall, AiSdkToolResult } from "./adapters/ai-sdk-tools.ts";
export { anthropicTools, runAnthropicToolUses } from "./adapters/anthropic.ts";
export type { AnthropicBlock, AnthropicTool, AnthropicToolResult } from "./adapters/anthropic.ts";
export { openAiChatTools, openAiResponsesTools, runOpenAiToolCall } from "./adapters/openai.ts";
export type {
  OpenAiChatCall,
  OpenAiChatResult,
  OpenAiChatTool,
  OpenAiResponsesCall,
  OpenAiResponsesResult,
  OpenAiResponsesTool,
} from "./adapters/openai.ts";
export type { OfferOptions, ToolRuntime } from "./adapters/runtime-tools.ts";
