import { ToolError } from "@autonous/runtime";
import type { ToolCallResult } from "@autonous/runtime";
import { readCommands } from "./direct-commands.ts";
import type { ParsedCall } from "../calls/json-reply.ts";
import type { ModelProvider, ModelReply, ModelRequest } from "../provider.ts";
import { FILES, ownWords, quotedUnder } from "../prompt/quoted.ts";
import { changesText, errorText, outputText } from "../prompt/result-text.ts";

/** Works without a model: `/ls src` becomes a call, and its result becomes the answer (spec 4, The loop). */
export function createDirectProvider(): ModelProvider {
  return { name: "direct", wants_all_tools: true, complete: async (request) => answer(request) };
}

function answer({ messages, tools, purpose }: ModelRequest): ModelReply {
  if (purpose === "reverse_thinking" || purpose === "summary") {
    const what = purpose === "summary" ? "a summary" : "a verdict";
    throw new ToolError("ModelFailed", `No model is set to ask for ${what}; set AUTONOUS_MODEL`);
  }
  const at = messages.findLastIndex((message) => message.role === "user");
  const text = messages[at]?.text ?? "";
  const own = ownWords(text);
  const typed = readCommands(own, tools);
  if ("answer" in typed) return reply([], own === text || own.startsWith("/") ? typed.answer : notRun(text));
  const since = messages.slice(at + 1);
  const results = since.filter((message) => message.role === "tool").map((message) => message.result);
  if (results.length === 0) return reply(typed.calls, "");
  return reply([], showResults(typed.calls, results));
}

/** If files came with the message, lists their paths. */
function notRun(text: string): string {
  const files = quotedUnder(text, FILES);
  return files.length === 0
    ? NOT_RUN
    : `${files.join("\n")}\nTo use a file, write a command; /help lists the commands.`;
}

/** Commands in text of others are never run: `ownWords` removes that text. */
const NOT_RUN =
  "Forwarded and quoted text is data and was not run. To use it, write a command yourself; /help lists the commands.";

/** No model was asked. */
const NO_USAGE = { input_tokens: 0, output_tokens: 0 };

function reply(calls: readonly ParsedCall[], answer: string): ModelReply {
  const text = JSON.stringify({ tool_calls: calls, final_answer: answer });
  return { kind: "plain", text, finish: "stop", usage: NO_USAGE };
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
  const lines = [textWithoutOutput(result) ?? outputText(result)];
  if (error !== null) lines.push(errorText(error));
  const cursor = payload?.next_page_cursor;
  if (cursor !== undefined && call !== undefined) {
    lines.push(`More results: ${commandOf({ ...call, arguments: { ...call.arguments, cursor } })}`);
  } else if (payload?.storage_ref !== undefined) {
    lines.push(`Full output: ${payload.storage_ref}`);
  }
  lines.push(changesText(result));
  const text = lines.filter((line) => line !== "").join("\n");
  return text === "" ? "Done; no output" : text;
}

/** Text for a call without output; undefined if its data must be shown. */
function textWithoutOutput({ payload }: ToolCallResult): string | undefined {
  if (payload === null || payload.stdout !== "" || payload.stderr !== "") return undefined;
  const data = Object(payload.data) as Readonly<Record<string, unknown>>;
  if (typeof data["summary"] === "string") return data["summary"];
  if ("exit_code" in data) return ""; // a successful command without output
  const lists = Object.values(data).filter((value) => Array.isArray(value));
  return lists.length > 0 && lists.every((list) => list.length === 0) ? "Nothing found" : undefined;
}

function commandOf(call: ParsedCall): string {
  return `/${call.name} ${JSON.stringify(call.arguments)}`;
}
