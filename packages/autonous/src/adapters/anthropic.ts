import type { CallOptions } from "@autonous/runtime";
import { answerCalls, offeredTools } from "./runtime-tools.ts";
import type { OfferOptions, ToolRuntime } from "./runtime-tools.ts";

/** An entry of `tools` of the Messages API. */
export interface AnthropicTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: { readonly type: "object"; readonly [key: string]: unknown };
}

/** The available tools, for `tools` of the Messages API. */
export function anthropicTools(runtime: ToolRuntime, options: OfferOptions = {}): AnthropicTool[] {
  return offeredTools(runtime, options).map(({ name, description, schema }) => ({
    name,
    description,
    input_schema: { ...schema, type: "object" },
  }));
}

/** A block of the content of an assistant's message; only `tool_use` is read. */
export interface AnthropicBlock {
  readonly type: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
}

export interface AnthropicToolResult {
  type: "tool_result";
  tool_use_id: string;
  content: string;
  is_error?: true;
}

/**
 * Runs every `tool_use` of a message's content. Returns the content of the user message that has to follow;
 * empty if the model requested no calls. Never throws.
 */
export async function runAnthropicToolUses(
  runtime: ToolRuntime,
  content: readonly AnthropicBlock[],
  options: CallOptions = {},
): Promise<AnthropicToolResult[]> {
  const asked = content.filter(({ type }) => type === "tool_use");
  const calls = asked.map(({ name = "", input }) => ({ name, input }));
  const answers = await answerCalls(runtime, calls, options);
  return answers.map(({ text, isError }, index) => ({
    type: "tool_result",
    tool_use_id: asked[index]?.id ?? "",
    content: text,
    ...(isError ? { is_error: true } : {}),
  }));
}
