import { ToolError } from "@autonous/runtime";
import type { ToolCallResult } from "@autonous/runtime";
import { readCommands } from "./direct-commands.ts";
import type { ParsedCall } from "./json-reply.ts";
import type { ModelProvider, ModelReply, ModelRequest } from "./provider.ts";
import { errorText, outputText } from "./result-text.ts";

/** No model at all: `/ls src` becomes a call, and what the call gave becomes the answer (spec 4, The loop). */
export function createDirectProvider(): ModelProvider {
  return { name: "direct", complete: async (request) => answer(request) };
}

function answer({ messages, tools, purpose }: ModelRequest): ModelReply {
  if (purpose === "reverse_thinking")
    throw new ToolError("ModelFailed", "There is no model to ask for a verdict; set AUTONOUS_MODEL");
  const task = messages.find((message) => message.role === "user");
  const typed = readCommands(task?.text ?? "", tools);
  if ("answer" in typed) return reply([], typed.answer);
  const results = messages.filter((message) => message.role === "tool").map((message) => message.result);
  if (results.length === 0) return reply(typed.calls, "");
  return reply([], showResults(typed.calls, results));
}

function reply(calls: readonly ParsedCall[], answer: string): ModelReply {
  return { text: JSON.stringify({ tool_calls: calls, final_answer: answer }), finish: "stop" };
}

function showResults(calls: readonly ParsedCall[], results: readonly ToolCallResult[]): string {
  const parts = results.map((result, index) => {
    const call = calls[index];
    const shown = showResult(call, result);
    return results.length === 1 || call === undefined ? shown : `${commandOf(call)}\n${shown}`;
  });
  return parts.join("\n\n");
}

function showResult(call: ParsedCall | undefined, result: ToolCallResult): string {
  const { payload, error } = result;
  const lines = [outputText(result)];
  if (error !== null) lines.push(errorText(error));
  const cursor = payload?.next_page_cursor;
  if (cursor !== undefined && call !== undefined) {
    lines.push(`There is more: ${commandOf({ ...call, arguments: { ...call.arguments, cursor } })}`);
  } else if (payload?.storage_ref !== undefined) {
    lines.push(`The whole output is kept as ${payload.storage_ref}`);
  }
  const text = lines.filter((line) => line !== "").join("\n");
  return text === "" ? "Done; there is nothing to show" : text;
}

function commandOf(call: ParsedCall): string {
  return `/${call.name} ${JSON.stringify(call.arguments)}`;
}
