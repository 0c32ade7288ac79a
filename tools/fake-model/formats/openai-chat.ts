/** OpenAI's chat completions, and those of the many servers that took the format over (below `/compatible`). */
import type { Reply } from "../reply.ts";
import { contentText, event, list, record, text, withArguments } from "./format.ts";
import type { Answering, Conversation, Format, Frame, Json, Said, WireRequest } from "./format.ts";
import { chatProblems } from "./openai-chat-check.ts";
import { openaiRefusal } from "./openai-errors.ts";

function isCompatible({ path }: WireRequest): boolean {
  return path.startsWith("/compatible/");
}

function conversation({ body }: WireRequest): Conversation {
  const messages = list(body["messages"]).map((each) => record(each));
  const isSystem = ({ role }: Json): boolean => role === "system" || role === "developer";
  return {
    format: "openai-chat",
    model: text(body["model"]),
    system: messages
      .filter((each) => isSystem(each))
      .map(({ content }) => contentText(content))
      .join("\n"),
    messages: messages
      .filter((each) => !isSystem(each))
      .map(({ role, content }) => ({ role: text(role) as Said["role"], text: contentText(content) })),
    tools: list(body["tools"]).map((tool) => text(record(record(tool)["function"])["name"])),
  };
}

function finishOf(reply: Reply): string {
  if (reply.finish === "length") return "length";
  return reply.calls.length > 0 ? "tool_calls" : "stop";
}

function usageOf({ usage }: Reply): Json {
  return {
    prompt_tokens: usage.input_tokens,
    completion_tokens: usage.output_tokens,
    total_tokens: usage.input_tokens + usage.output_tokens,
    prompt_tokens_details: { cached_tokens: usage.cached_input_tokens, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: usage.reasoning_tokens, audio_tokens: 0 },
  };
}

function headOf(reply: Reply, { model }: Answering, object: string): Json {
  return { id: `chatcmpl-${reply.id}`, object, created: Math.floor(Date.now() / 1000), model, service_tier: "default" };
}

function whole(reply: Reply, answering: Answering): Json {
  const calls = reply.calls.map(({ id, name, arguments_text }) => ({
    id: id("call_"),
    type: "function",
    function: { name, arguments: arguments_text },
  }));
  const message = {
    role: "assistant",
    content: reply.text === "" && calls.length > 0 ? null : reply.text,
    // OpenAI itself keeps the reasoning of this format to itself.
    ...(isCompatible(answering.request) && reply.reasoning !== "" ? { reasoning_content: reply.reasoning } : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    refusal: null,
    annotations: [],
  };
  return {
    ...headOf(reply, answering, "chat.completion"),
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(reply) }],
    usage: usageOf(reply),
  };
}

function frames(reply: Reply, answering: Answering): Frame[] {
  const { pieces, request } = answering;
  const head = headOf(reply, answering, "chat.completion.chunk");
  const frame = (kind: Frame["kind"], delta: Json, finish_reason: string | null = null): Frame => ({
    kind,
    data: event({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason }] }),
  });
  const made = [frame("open", { role: "assistant", content: "", refusal: null })];
  if (isCompatible(request))
    for (const piece of pieces(reply.reasoning)) made.push(frame("reasoning", { reasoning_content: piece }));
  for (const piece of pieces(reply.text)) made.push(frame("text", { content: piece }));
  for (const [index, call] of reply.calls.entries()) {
    const first = { index, id: call.id("call_"), type: "function", function: { name: call.name, arguments: "" } };
    made.push(frame("call", { tool_calls: [first] }));
    for (const piece of pieces(call.arguments_text))
      made.push(withArguments(frame("call", { tool_calls: [{ index, function: { arguments: piece } }] })));
  }
  made.push(frame("close", {}, finishOf(reply)));
  if (record(request.body["stream_options"])["include_usage"] === true)
    made.push({ kind: "close", data: event({ ...head, choices: [], usage: usageOf(reply) }) });
  made.push({ kind: "close", data: event("[DONE]") });
  return made;
}

export const openaiChat: Format = {
  name: "openai-chat",
  matches: (path) => path.endsWith("/chat/completions"),
  key: ({ headers }) => /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1],
  model: ({ body }) => text(body["model"]),
  isStream: ({ body }) => body["stream"] === true,
  streamType: () => "text/event-stream; charset=utf-8",
  problems: (request) => chatProblems(request.body, { compatible: isCompatible(request) }),
  conversation,
  refusal: openaiRefusal,
  whole,
  frames,
  errorFrame: () => ({ kind: "close", data: event(openaiRefusal({ kind: "server_error" }).body) }),
};
