/** OpenAI's responses. */
import type { Reply } from "../reply.ts";
import { contentText, event, list, offered, record, text, withArguments } from "./format.ts";
import type { Answering, Conversation, Format, Frame, Json, SpokenMessage, WireRequest } from "./format.ts";
import { openaiRefusal } from "./openai-errors.ts";
import { ENCRYPTED, resolved, responsesProblems } from "./openai-responses-check.ts";

/** What a server keeps is bounded: the oldest is forgotten first. */
const MAX_STORED = 10_000;

function said(item: Json): SpokenMessage | undefined {
  if (item["type"] === "function_call_output") return { role: "tool", text: contentText(item["output"]) };
  if (item["type"] === "function_call") return { role: "assistant", text: "" };
  if (item["role"] === "user") return { role: "user", text: contentText(item["content"]) };
  if (item["role"] === "assistant") return { role: "assistant", text: contentText(item["content"]) };
  return undefined;
}

/** What stands side by side from one reply is one message, as in the other formats. */
function merged(messages: readonly SpokenMessage[]): SpokenMessage[] {
  const joined: SpokenMessage[] = [];
  for (const each of messages) {
    const last = joined.at(-1);
    if (each.role === "assistant" && last?.role === "assistant")
      joined[joined.length - 1] = { role: "assistant", text: last.text + each.text };
    else joined.push(each);
  }
  return joined;
}

function usageOf({ usage }: Reply): Json {
  return {
    input_tokens: usage.input_tokens,
    input_tokens_details: { cached_tokens: usage.cached_input_tokens },
    output_tokens: usage.output_tokens,
    output_tokens_details: { reasoning_tokens: usage.reasoning_tokens },
    total_tokens: usage.input_tokens + usage.output_tokens,
  };
}

interface Item {
  readonly kind: "reasoning" | "text" | "refusal" | "call";
  readonly value: Json;
  /** Its text, and the names of the events that carry it. */
  readonly body: string;
}

function itemsOf(reply: Reply, { request }: Answering): Item[] {
  const items: Item[] = [];
  const isSealed = list(request.body["include"]).includes("reasoning.encrypted_content");
  const status = reply.finish === "length" ? "incomplete" : "completed";
  if (reply.reasoning !== "") {
    const summary = [{ type: "summary_text", text: reply.reasoning }];
    const sealed = isSealed ? { encrypted_content: `${ENCRYPTED}${reply.id}` } : {};
    items.push({
      kind: "reasoning",
      value: { id: `rs_${reply.id}`, type: "reasoning", summary, ...sealed },
      body: reply.reasoning,
    });
  }
  const refusal = reply.odd.refusal;
  if (reply.text !== "" || reply.calls.length === 0) {
    const content =
      refusal === undefined
        ? [{ type: "output_text", text: reply.text, annotations: [], logprobs: [] }]
        : [{ type: "refusal", refusal }];
    const state = reply.calls.length > 0 ? "completed" : status;
    items.push({
      kind: refusal === undefined ? "text" : "refusal",
      value: { id: `msg_${reply.id}`, type: "message", status: state, role: "assistant", content },
      body: refusal ?? reply.text,
    });
  }
  for (const [i, call] of reply.calls.entries()) {
    const state = i === reply.calls.length - 1 ? status : "completed";
    const value = {
      id: `fc_${reply.id}${i}`,
      type: "function_call",
      status: state,
      call_id: call.id("call_"),
      name: call.name,
    };
    items.push({ kind: "call", value: { ...value, arguments: call.arguments_text }, body: call.arguments_text });
  }
  return items;
}

function envelope(reply: Reply, { model, request }: Answering, status: string): Json {
  return {
    id: `resp_${reply.id}`,
    object: "response",
    created_at: Math.floor(Date.now() / 1000),
    status,
    error: null,
    incomplete_details: status === "incomplete" ? { reason: "max_output_tokens" } : null,
    instructions: request.body["instructions"] ?? null,
    model,
    output: [],
    parallel_tool_calls: true,
    store: request.body["store"] !== false,
    tools: request.body["tools"] ?? [],
    usage: null,
  };
}

function finished(reply: Reply, answering: Answering): Json {
  const status = reply.finish === "length" ? "incomplete" : "completed";
  const output = itemsOf(reply, answering).map(({ value }) => value);
  return { ...envelope(reply, answering, status), output, usage: usageOf(reply) };
}

/** The events of one item between its beginning and its end. */
function inside({ kind, value, body }: Item, { pieces }: Answering): readonly (readonly [string, Json])[] {
  const item_id = value["id"];
  const deltas = pieces(body);
  if (kind === "reasoning") {
    const place = { item_id, summary_index: 0 };
    return [
      ["response.reasoning_summary_part.added", { ...place, part: { type: "summary_text", text: "" } }],
      ...deltas.map((delta) => ["response.reasoning_summary_text.delta", { ...place, delta }] as const),
      ["response.reasoning_summary_text.done", { ...place, text: body }],
      ["response.reasoning_summary_part.done", { ...place, part: { type: "summary_text", text: body } }],
    ];
  }
  if (kind === "text") {
    const place = { item_id, content_index: 0 };
    const part = { type: "output_text", annotations: [], logprobs: [] };
    return [
      ["response.content_part.added", { ...place, part: { ...part, text: "" } }],
      ...deltas.map((delta) => ["response.output_text.delta", { ...place, delta, logprobs: [] }] as const),
      ["response.output_text.done", { ...place, text: body, logprobs: [] }],
      ["response.content_part.done", { ...place, part: { ...part, text: body } }],
    ];
  }
  if (kind === "refusal") {
    const place = { item_id, content_index: 0 };
    return [
      ["response.content_part.added", { ...place, part: { type: "refusal", refusal: "" } }],
      ...deltas.map((delta) => ["response.refusal.delta", { ...place, delta }] as const),
      ["response.refusal.done", { ...place, refusal: body }],
      ["response.content_part.done", { ...place, part: { type: "refusal", refusal: body } }],
    ];
  }
  return [
    ...deltas.map((delta) => ["response.function_call_arguments.delta", { item_id, delta }] as const),
    ["response.function_call_arguments.done", { item_id, arguments: body }],
  ];
}

const EMPTY = {
  reasoning: { summary: [] },
  text: { content: [] },
  refusal: { content: [] },
  call: { arguments: "" },
} as const;

function frames(reply: Reply, answering: Answering): Frame[] {
  const made: Frame[] = [];
  const add = (kind: Frame["kind"], type: string, fields: Json): void => {
    const frame: Frame = { kind, data: event({ type, sequence_number: made.length, ...fields }, type) };
    made.push(type === "response.function_call_arguments.delta" ? withArguments(frame) : frame);
  };
  add("open", "response.created", { response: envelope(reply, answering, "in_progress") });
  add("open", "response.in_progress", { response: envelope(reply, answering, "in_progress") });
  for (const [output_index, item] of itemsOf(reply, answering).entries()) {
    const begun = { ...item.value, ...EMPTY[item.kind], ...("status" in item.value ? { status: "in_progress" } : {}) };
    const kind = item.kind === "refusal" ? "text" : item.kind;
    add(kind, "response.output_item.added", { output_index, item: begun });
    for (const [type, fields] of inside(item, answering)) add(kind, type, { output_index, ...fields });
    add(kind, "response.output_item.done", { output_index, item: item.value });
  }
  const response = finished(reply, answering);
  add("close", `response.${text(response["status"])}`, { response });
  return made;
}

/** One per server: it stores its responses, as the real one does unless the request says `store: false`. */
export function makeOpenaiResponses(): Format {
  const kept = new Map<string, Json>();
  const stored = { item: (id: string) => kept.get(id) };
  const keep = (reply: Reply, answering: Answering): void => {
    if (answering.request.body["store"] === false) return;
    for (const { value } of itemsOf(reply, answering)) kept.set(text(value["id"]), value);
    for (const id of kept.keys()) if (kept.size > MAX_STORED) kept.delete(id);
  };
  return {
    name: "openai-responses",
    matches: (path) => path.endsWith("/responses"),
    key: ({ headers }) => /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1],
    model: ({ body }) => text(body["model"]),
    isStream: ({ body }) => body["stream"] === true,
    streamType: () => "text/event-stream; charset=utf-8",
    problems: ({ body }) => responsesProblems(body, stored),
    conversation: ({ body }: WireRequest): Conversation => {
      const items = resolved(body, stored);
      const isSystem = ({ role }: Json): boolean => role === "system" || role === "developer";
      const system = items.filter((each) => isSystem(each)).map(({ content }) => contentText(content));
      return {
        format: "openai-responses",
        model: text(body["model"]),
        system: [text(body["instructions"]), ...system].filter((each) => each !== "").join("\n"),
        messages: merged(items.map((item) => said(item)).filter((each) => each !== undefined)),
        ...offered(
          list(body["tools"])
            .map((tool) => record(tool))
            .map(({ name, parameters: schema }) => ({ name, schema })),
        ),
      };
    },
    refusal: (trouble) =>
      trouble.kind === "too_long"
        ? openaiRefusal({
            kind: "invalid",
            problem: {
              message: "Your input exceeds the context window of this model. Please adjust your input and try again.",
              param: "input",
              code: "context_length_exceeded",
            },
          })
        : openaiRefusal(trouble),
    whole(reply, answering) {
      keep(reply, answering);
      return finished(reply, answering);
    },
    frames(reply, answering) {
      keep(reply, answering);
      return frames(reply, answering);
    },
    errorFrame: () => ({
      kind: "close",
      data: event(
        { type: "error", sequence_number: 99, code: "server_error", message: "The server had an error", param: null },
        "error",
      ),
    }),
  };
}
