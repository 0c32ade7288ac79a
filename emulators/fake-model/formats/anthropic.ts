/** Anthropic's messages. */
import type { Reply, ReplyCall } from "../reply.ts";
import { anthropicProblems, signatureOf } from "./anthropic-check.ts";
import { contentText, event, list, offered, record, text, withArguments } from "./format.ts";
import type {
  Answering,
  CallPlace,
  Conversation,
  Format,
  Frame,
  Json,
  Problem,
  Refusal,
  RefusalTrouble,
  SpokenMessage,
  WireRequest,
} from "./format.ts";

function rowOf(trouble: RefusalTrouble): readonly [status: number, type: string, message: string] {
  switch (trouble.kind) {
    case "no_key":
      return [401, "authentication_error", "x-api-key header is required"];
    case "wrong_key":
      return [401, "authentication_error", "invalid x-api-key"];
    case "unknown_model":
      return [404, "not_found_error", `model: ${trouble.model}`];
    case "too_large":
      return [413, "request_too_large", "Request exceeds the maximum size"];
    case "too_long":
      return [400, "invalid_request_error", `prompt is too long: ${trouble.tokens} tokens > ${trouble.limit} maximum`];
    case "broken_json":
      return [400, "invalid_request_error", "The request body is not valid JSON: unexpected character"];
    case "unknown_path":
      return [404, "not_found_error", "Not Found"];
    case "rate_limited":
      return [429, "rate_limit_error", "This request would exceed your account's rate limit. Please try again later."];
    case "server_error":
      return [500, "api_error", "Internal server error"];
    case "unavailable":
      return [503, "api_error", "Service unavailable"];
    case "overloaded":
      return [529, "overloaded_error", "Overloaded"];
    case "no_credit":
      return [
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
      ];
    case "invalid":
      return [trouble.problem.status ?? 400, "invalid_request_error", trouble.problem.message];
  }
}

function anthropicRefusal(trouble: RefusalTrouble): Refusal {
  const [status, type, message] = rowOf(trouble);
  return { status, body: { type: "error", error: { type, message }, request_id: "req_011CSHoEeqs5C35K2UUqR7Fy" } };
}

function* problems({ headers, body }: WireRequest): Generator<Problem> {
  if (headers["anthropic-version"] === undefined) yield { message: "anthropic-version: header is required" };
  yield* anthropicProblems(body);
}

function saidIn({ role, content }: Json): SpokenMessage[] {
  if (role !== "user") return [{ role: "assistant", text: contentText(content) }];
  const blocks =
    typeof content === "string" ? [{ type: "text", text: content }] : list(content).map((each) => record(each));
  return blocks.map((block: Json) =>
    block["type"] === "tool_result"
      ? { role: "tool", text: contentText(block["content"]) }
      : { role: "user", text: text(block["text"]) },
  );
}

function conversation({ body }: WireRequest): Conversation {
  return {
    format: "anthropic",
    model: text(body["model"]),
    system: contentText(body["system"]),
    messages: list(body["messages"]).flatMap((each) => saidIn(record(each))),
    ...offered(
      list(body["tools"])
        .map((tool) => record(tool))
        .map(({ name, input_schema: schema }) => ({ name, schema })),
    ),
  };
}

function stopOf({ odd, finish, calls }: Reply): Json {
  if (odd.refusal !== undefined) return { stop_reason: "refusal" };
  if (odd.finish_reason !== undefined)
    return odd.finish_reason.value === undefined ? {} : { stop_reason: odd.finish_reason.value };
  if (finish === "length") return { stop_reason: "max_tokens" };
  return { stop_reason: calls.length > 0 || odd.ends_as_calls ? "tool_use" : "end_turn" };
}

function usageOf({ usage }: Reply, output_tokens: number): Json {
  return {
    // Cache reads and writes are counted separately.
    input_tokens: Math.max(0, usage.input_tokens - usage.cached_input_tokens - usage.cache_write_tokens),
    cache_creation_input_tokens: usage.cache_write_tokens,
    cache_read_input_tokens: usage.cached_input_tokens,
    output_tokens,
    service_tier: "standard",
  };
}

interface Block {
  readonly kind: "reasoning" | "text" | "call";
  readonly begun: Json;
  readonly deltas: readonly Json[];
}

function blocksOf(reply: Reply, { pieces, request, model }: Answering, dialect: AnthropicDialect): Block[] {
  const blocks: Block[] = [];
  const calls = callsOf(reply, { request, model }, dialect);
  const signature = dialect.signature(reply);
  if (reply.reasoning !== "")
    blocks.push({
      kind: "reasoning",
      begun: { type: "thinking", thinking: "", signature: "" },
      deltas: [
        ...pieces(reply.reasoning).map((thinking) => ({ type: "thinking_delta", thinking })),
        ...(signature === "" ? [] : [{ type: "signature_delta", signature }]),
      ],
    });
  if (reply.text !== "")
    blocks.push({
      kind: "text",
      begun: { type: "text", text: "" },
      deltas: pieces(reply.text).map((piece) => ({ type: "text_delta", text: piece })),
    });
  for (const [index, call] of reply.calls.entries())
    blocks.push({
      kind: "call",
      begun: { type: "tool_use", ...calls[index], input: {} },
      deltas: ["", ...pieces(call.arguments_text)].map((partial_json) => ({ type: "input_json_delta", partial_json })),
    });
  return blocks;
}

function contentOf(reply: Reply, { request, model }: Answering, dialect: AnthropicDialect): Json[] {
  const content: Json[] = [];
  const calls = callsOf(reply, { request, model }, dialect);
  if (reply.reasoning !== "")
    content.push({
      type: "thinking",
      thinking: reply.reasoning,
      signature: dialect.signature(reply),
    });
  if (reply.text !== "") content.push({ type: "text", text: reply.text });
  for (const [index, call] of reply.calls.entries())
    content.push({ type: "tool_use", ...calls[index], input: parsed(call.arguments_text) });
  return content;
}

/** Without streaming, arguments are parsed JSON; invalid arguments are omitted, as the real server does. */
function parsed(arguments_text: string): Json {
  try {
    return record(JSON.parse(arguments_text));
  } catch {
    return {};
  }
}

function messageOf(reply: Reply, { model }: Answering, fields: Json): Json {
  return { id: `msg_01${reply.id}`, type: "message", role: "assistant", model, stop_sequence: null, ...fields };
}

function whole(reply: Reply, answering: Answering, dialect: AnthropicDialect): Json {
  const usage = usageOf(reply, reply.usage.output_tokens);
  return messageOf(reply, answering, { content: contentOf(reply, answering, dialect), ...stopOf(reply), usage });
}

function frames(reply: Reply, answering: Answering, dialect: AnthropicDialect): Frame[] {
  const frame = (kind: Frame["kind"], type: string, fields: Json = {}): Frame => ({
    kind,
    data: event({ type, ...fields }, type),
  });
  const message = messageOf(reply, answering, { content: [], stop_reason: null, usage: usageOf(reply, 1) });
  const made = [frame("open", "message_start", { message }), frame("open", "ping")];
  for (const [index, { kind, begun, deltas }] of blocksOf(reply, answering, dialect).entries()) {
    made.push(frame(kind, "content_block_start", { index, content_block: begun }));
    for (const delta of deltas) {
      const piece = frame(kind, "content_block_delta", { index, delta });
      made.push(kind === "call" && delta["partial_json"] !== "" ? withArguments(piece) : piece);
    }
    made.push(frame(kind, "content_block_stop", { index }));
  }
  const usage = usageOf(reply, reply.usage.output_tokens);
  made.push(frame("close", "message_delta", { delta: { ...stopOf(reply), stop_sequence: null }, usage }));
  if (!reply.odd.no_done) made.push(frame("close", "message_stop"));
  return made;
}

/** How a compatible server differs from Anthropic's own. */
export interface AnthropicDialect {
  matches(path: string): boolean;
  id(call: ReplyCall, place: CallPlace): string;
  /** The signature of thinking; empty: unsigned. */
  signature(reply: Reply): string;
  /** Called with each reply that has calls. */
  onReply?(reply: Reply, calls: readonly Json[]): void;
  problems(request: WireRequest): Iterable<Problem>;
  refusal(trouble: RefusalTrouble): Refusal;
}

/** The ids and names of a reply's calls. */
function callsOf(
  reply: Reply,
  { request, model }: Pick<Answering, "request" | "model">,
  dialect: AnthropicDialect,
): Json[] {
  const earlier = earlierCalls(request);
  const calls = reply.calls.map((call, index) => ({
    id: call.given_id ?? dialect.id(call, { index, earlier, model }),
    name: call.name,
  }));
  dialect.onReply?.(reply, calls);
  return calls;
}

function earlierCalls({ body }: WireRequest): number {
  const blocks = list(body["messages"]).flatMap((each) => list(record(each)["content"]));
  return blocks.filter((block) => record(block)["type"] === "tool_use").length;
}

export function makeAnthropic(dialect: AnthropicDialect): Format {
  return {
    name: "anthropic",
    matches: (path) => dialect.matches(path),
    key: ({ headers }) => {
      const given = headers["x-api-key"];
      // A client with a token instead of a key sends it as a bearer token.
      return typeof given === "string" ? given : /^Bearer (.+)$/i.exec(headers.authorization ?? "")?.[1];
    },
    model: ({ body }) => text(body["model"]),
    isStream: ({ body }) => body["stream"] === true,
    streamType: () => "text/event-stream; charset=utf-8",
    problems: (request) => dialect.problems(request),
    conversation,
    refusal: (trouble) => dialect.refusal(trouble),
    whole: (reply, answering) => whole(reply, answering, dialect),
    frames: (reply, answering) => frames(reply, answering, dialect),
    errorFrame: () => ({
      kind: "close",
      data: event(record(dialect.refusal({ kind: "overloaded" }).body), "error"),
    }),
  };
}

export const ANTHROPIC_DIALECT: AnthropicDialect = {
  matches: (path) => path.endsWith("/messages"),
  id: (call) => call.id("toolu_01"),
  signature: ({ reasoning }) => signatureOf(reasoning),
  problems,
  refusal: anthropicRefusal,
};

export const anthropic = makeAnthropic(ANTHROPIC_DIALECT);
