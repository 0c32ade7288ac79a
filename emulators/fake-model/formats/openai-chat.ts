/** Chat completions: OpenAI's, and those of the many compatible servers, each in its dialect. */
import type { Reply, ReplyCall } from "../reply.ts";
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
import { chatProblems } from "./openai-chat-check.ts";
import { openaiRefusal } from "./openai-errors.ts";
import { thoughtFrames, thoughtsOf } from "./chat-thoughts.ts";
import type { Thoughts } from "./chat-thoughts.ts";

export interface ChatDialect {
  matches(path: string): boolean;
  id(call: ReplyCall, place: CallPlace): string;
  readonly thoughts: Thoughts;
  /** The finish reasons. */
  readonly finish: { readonly stop: string; readonly calls: string; readonly length: string };
  usage(reply: Reply): Json;
  /** Where a stream has its usage: in a separate chunk (on request, or always), or in the last one. */
  readonly usageAt: "asked" | "always" | "last" | "choice" | "x_groq";
  /** A call is sent in one chunk. */
  readonly wholeCalls?: true;
  /** A comment at the beginning of the stream. */
  readonly comment?: string;
  /** Additional fields in each response. */
  readonly head?: Json;
  problems(request: WireRequest): Iterable<Problem>;
  refusal(trouble: RefusalTrouble): Refusal;
  /** In a stream that has started. */
  errorFrame?(): string;
  /** Called with each reply that has calls. */
  onReply?(reply: Reply, calls: readonly Json[]): void;
  degraded?(request: WireRequest): Problem | undefined;
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
      .map(({ role, content }) => ({ role: text(role) as SpokenMessage["role"], text: contentText(content) })),
    ...offered(
      list(body["tools"])
        .map((tool) => record(record(tool)["function"]))
        .map(({ name, parameters: schema }) => ({ name, schema })),
    ),
  };
}

/** Calls in the conversation so far. */
function earlierCalls({ body }: WireRequest): number {
  return list(body["messages"]).reduce((sum: number, each) => sum + list(record(each)["tool_calls"]).length, 0);
}

/** The field `finish_reason`, or none. */
function finishOf(reply: Reply, { finish }: ChatDialect): Json {
  if (reply.odd.finish_reason !== undefined) {
    const { value } = reply.odd.finish_reason;
    return value === undefined ? {} : { finish_reason: value };
  }
  if (reply.finish === "length") return { finish_reason: finish.length };
  return { finish_reason: reply.calls.length > 0 || reply.odd.ends_as_calls ? finish.calls : finish.stop };
}

/** The usage fields of a chat completion as OpenAI has them. */
export function openaiUsage({ usage }: Reply): Json {
  return {
    prompt_tokens: usage.input_tokens,
    completion_tokens: usage.output_tokens,
    total_tokens: usage.input_tokens + usage.output_tokens,
    prompt_tokens_details: {
      cached_tokens: usage.cached_input_tokens,
      ...(usage.cache_write_tokens > 0 ? { cache_write_tokens: usage.cache_write_tokens } : {}),
      audio_tokens: 0,
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoning_tokens, audio_tokens: 0 },
  };
}

function headOf(
  reply: Reply,
  { model }: Answering,
  { object, dialect }: { object: string; dialect: ChatDialect },
): Json {
  const created = Math.floor(Date.now() / 1000);
  return { id: `chatcmpl-${reply.id}`, object, created, model, ...dialect.head };
}

function argumentsOf({ arguments_text }: ReplyCall, { odd }: Reply): unknown {
  if (odd.arguments_object === undefined) return arguments_text;
  try {
    return JSON.parse(arguments_text);
  } catch {
    return arguments_text; // it cannot be an object
  }
}

function callsOf(reply: Reply, { request, model }: Answering, dialect: ChatDialect): Json[] {
  const earlier = earlierCalls(request);
  const calls = reply.calls.map((call, index) => ({
    id: call.given_id ?? dialect.id(call, { index, earlier, model }),
    type: "function",
    function: { name: call.name, arguments: argumentsOf(call, reply) },
  }));
  dialect.onReply?.(reply, calls);
  return calls;
}

function whole(reply: Reply, answering: Answering, dialect: ChatDialect): Json {
  const calls = callsOf(reply, answering, dialect);
  const { content, fields } = thoughtsOf(reply, dialect.thoughts);
  const message = {
    role: "assistant",
    content: content === "" && calls.length > 0 ? null : reply.odd.refusal === undefined ? content : null,
    ...fields,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    refusal: reply.odd.refusal ?? null,
  };
  return {
    ...headOf(reply, answering, { object: "chat.completion", dialect }),
    choices: [{ index: 0, message, logprobs: null, ...finishOf(reply, dialect) }],
    ...(reply.odd.no_usage ? {} : { usage: dialect.usage(reply) }),
  };
}

type MakeFrame = (kind: Frame["kind"], delta: Json, choice?: Json, chunk?: Json) => Frame;

function* contentFrames(reply: Reply, answering: Answering, { dialect, frame }: Making): Generator<Frame> {
  const { pieces } = answering;
  for (const { kind, delta } of thoughtFrames(reply, dialect.thoughts, pieces)) yield frame(kind, delta);
  for (const refusal of pieces(reply.odd.refusal ?? "")) yield frame("text", { refusal });
  for (const [index, call] of callsOf(reply, answering, dialect).entries()) {
    const { name, arguments: given } = record(call["function"]);
    if (dialect.wholeCalls || reply.odd.no_index || typeof given !== "string") {
      const place = reply.odd.no_index ? {} : { index };
      yield withArguments(frame("call", { tool_calls: [{ ...place, ...call }] }), '"arguments":');
      continue;
    }
    yield frame("call", { tool_calls: [{ index, ...call, function: { name, arguments: "" } }] });
    for (const piece of pieces(given))
      yield withArguments(frame("call", { tool_calls: [{ index, function: { arguments: piece } }] }));
  }
}

interface Making {
  readonly dialect: ChatDialect;
  readonly frame: MakeFrame;
}

function frames(reply: Reply, answering: Answering, dialect: ChatDialect): Frame[] {
  const { request } = answering;
  const head = headOf(reply, answering, { object: "chat.completion.chunk", dialect });
  const frame: MakeFrame = (kind, delta, choice = { finish_reason: null }, chunk = {}) => ({
    kind,
    data: event({ ...head, choices: [{ index: 0, delta, logprobs: null, ...choice }], ...chunk }),
  });
  const made: Frame[] = dialect.comment === undefined ? [] : [{ kind: "open", data: `: ${dialect.comment}\n\n` }];
  made.push(frame("open", { role: "assistant", content: "", refusal: null }));
  made.push(...contentFrames(reply, answering, { dialect, frame }));
  made.push(...closingFrames(reply, request, { dialect, frame, head }));
  if (!reply.odd.no_done) made.push({ kind: "close", data: event("[DONE]") });
  return made;
}

function closingFrames(reply: Reply, request: WireRequest, making: Making & { readonly head: Json }): Frame[] {
  const { dialect, frame, head } = making;
  const usage = dialect.usage(reply);
  const { usageAt: at } = dialect;
  const isTold = !reply.odd.no_usage;
  const inChoice = isTold && at === "choice" ? { usage } : {};
  const inChunk =
    isTold && at === "last" ? { usage } : isTold && at === "x_groq" ? { x_groq: { id: `req_${reply.id}`, usage } } : {};
  const last = frame("close", {}, { ...finishOf(reply, dialect), ...inChoice }, inChunk);
  const isAsked = record(request.body["stream_options"])["include_usage"] === true;
  if (!isTold || at === "last" || (at !== "always" && !isAsked)) return [last];
  return [last, { kind: "close", data: event({ ...head, choices: [], usage }) }];
}

export function makeChat(dialect: ChatDialect): Format {
  return {
    name: "openai-chat",
    matches: (path) => dialect.matches(path),
    key: ({ headers }) => /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1],
    model: ({ body }) => text(body["model"]),
    isStream: ({ body }) => body["stream"] === true,
    streamType: () => "text/event-stream; charset=utf-8",
    problems: (request) => dialect.problems(request),
    degraded: (request) => dialect.degraded?.(request),
    conversation,
    refusal: (trouble) => dialect.refusal(trouble),
    whole: (reply, answering) => whole(reply, answering, dialect),
    frames: (reply, answering) => frames(reply, answering, dialect),
    errorFrame: () => ({
      kind: "close",
      data: dialect.errorFrame?.() ?? event(record(dialect.refusal({ kind: "server_error" }).body)),
    }),
  };
}

/** Common to most. */
export const OPENAI_DIALECT: ChatDialect = {
  matches: (path) => path.endsWith("/chat/completions"),
  id: (call) => call.id("call_"),
  // OpenAI does not return reasoning in this format.
  thoughts: "hidden",
  finish: { stop: "stop", calls: "tool_calls", length: "length" },
  usage: openaiUsage,
  usageAt: "asked",
  head: { service_tier: "default" },
  problems: ({ body }) => chatProblems(body, { compatible: false }),
  refusal: openaiRefusal,
};

/** Any compatible server: below `/compatible`. */
export const compatibleChat = makeChat({
  ...OPENAI_DIALECT,
  matches: (path) => path.startsWith("/compatible/") && path.endsWith("/chat/completions"),
  thoughts: "reasoning_content",
  problems: ({ body }) => chatProblems(body, { compatible: true }),
});

export const openaiChat = makeChat(OPENAI_DIALECT);
