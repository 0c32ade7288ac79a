import type { CallOptions } from "@autonous/runtime";
import { answerCall, offeredTools } from "./runtime-tools.ts";
import type { OfferOptions, ToolRuntime } from "./runtime-tools.ts";

interface OpenAiFunction {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
}

/** An entry of `tools` of chat completions. */
export interface OpenAiChatTool {
  type: "function";
  function: OpenAiFunction;
}

/** An entry of `tools` of the Responses API. */
export interface OpenAiResponsesTool extends OpenAiFunction {
  type: "function";
  /** Strict mode does not support optional arguments; the gate checks the arguments anyway. */
  strict: false;
}

/** The available tools, for `tools` of chat completions. */
export function openAiChatTools(runtime: ToolRuntime, options: OfferOptions = {}): OpenAiChatTool[] {
  return functionsOf(runtime, options).map((each) => ({ type: "function", function: each }));
}

/** The available tools, for `tools` of the Responses API. */
export function openAiResponsesTools(runtime: ToolRuntime, options: OfferOptions = {}): OpenAiResponsesTool[] {
  return functionsOf(runtime, options).map((each) => ({ type: "function", ...each, strict: false }));
}

function functionsOf(runtime: ToolRuntime, options: OfferOptions): OpenAiFunction[] {
  return offeredTools(runtime, options).map(({ name, description, schema }) => ({
    name,
    description,
    parameters: { ...schema },
  }));
}

/** A member of `tool_calls` of a chat message. */
export interface OpenAiChatCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/** An item of type `function_call` in the output of a response. */
export interface OpenAiResponsesCall {
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
}

export interface OpenAiChatResult {
  role: "tool";
  tool_call_id: string;
  content: string;
}

export interface OpenAiResponsesResult {
  type: "function_call_output";
  call_id: string;
  output: string;
}

/** Runs one call, of either API, and returns the message or item that answers it. Never throws. */
export async function runOpenAiToolCall(
  runtime: ToolRuntime,
  call: OpenAiChatCall,
  options?: CallOptions,
): Promise<OpenAiChatResult>;
export async function runOpenAiToolCall(
  runtime: ToolRuntime,
  call: OpenAiResponsesCall,
  options?: CallOptions,
): Promise<OpenAiResponsesResult>;
export async function runOpenAiToolCall(
  runtime: ToolRuntime,
  call: OpenAiChatCall | OpenAiResponsesCall,
  options: CallOptions = {},
): Promise<OpenAiChatResult | OpenAiResponsesResult> {
  const { name, arguments: input } = "function" in call ? call.function : call;
  const { text } = await answerCall(runtime, { name, input }, options);
  if ("function" in call) return { role: "tool", tool_call_id: call.id, content: text };
  return { type: "function_call_output", call_id: call.call_id, output: text };
}
