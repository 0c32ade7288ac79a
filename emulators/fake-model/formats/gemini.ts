/** Gemini's generateContent and streamGenerateContent. */
import type { Reply } from "../reply.ts";
import { contentText, list, offered, record, text, withArguments } from "./format.ts";
import type {
  Answering,
  Conversation,
  Format,
  Frame,
  Json,
  Refusal,
  RefusalTrouble,
  SpokenMessage,
  WireRequest,
} from "./format.ts";
import { geminiRequestProblems } from "./gemini-check.ts";

interface Row {
  readonly code: number;
  readonly status: string;
  readonly message: string;
  readonly details?: readonly Json[];
}

const NO_CREDIT: Row = {
  code: 429,
  status: "RESOURCE_EXHAUSTED",
  message:
    "Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage your project and billing.",
};

function rowOf(trouble: RefusalTrouble): Row {
  const invalid = { code: 400, status: "INVALID_ARGUMENT" };
  switch (trouble.kind) {
    case "no_key":
      return {
        code: 403,
        status: "PERMISSION_DENIED",
        message:
          "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
      };
    // Not 401: an unknown key gets this error.
    case "wrong_key":
      return {
        ...invalid,
        message: "API key not valid. Please pass a valid API key.",
        details: [
          { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID", domain: "googleapis.com" },
        ],
      };
    case "unknown_model":
      return {
        code: 404,
        status: "NOT_FOUND",
        message: `models/${trouble.model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.`,
      };
    case "too_large":
      return { ...invalid, message: `Request payload size exceeds the limit: ${trouble.limit} bytes.` };
    case "too_long":
      return {
        ...invalid,
        message: `The input token count (${trouble.tokens}) exceeds the maximum number of tokens allowed (${trouble.limit}).`,
      };
    case "broken_json":
      return { ...invalid, message: "Invalid JSON payload received. Unexpected token." };
    case "unknown_path":
      return { code: 404, status: "NOT_FOUND", message: "Requested entity was not found." };
    case "rate_limited":
      return {
        code: 429,
        status: "RESOURCE_EXHAUSTED",
        message: "You exceeded your current quota, please check your plan and billing details.",
      };
    case "server_error":
      return { code: 500, status: "INTERNAL", message: "An internal error has occurred. Please retry." };
    case "unavailable":
      return { code: 503, status: "UNAVAILABLE", message: "The service is currently unavailable." };
    case "overloaded":
      return { code: 529, status: "UNAVAILABLE", message: "The model is overloaded. Please try again later." };
    case "no_credit":
      return NO_CREDIT;
    case "invalid": {
      const { status = 400, message, details } = trouble.problem;
      return { code: status, status: "INVALID_ARGUMENT", message, ...(details === undefined ? {} : { details }) };
    }
  }
}

function refusal(trouble: RefusalTrouble): Refusal {
  const error = rowOf(trouble);
  return { status: error.code, body: { error } };
}

const PATH = /\/models\/([^/:]+):(generateContent|streamGenerateContent)$/;

function modelOf({ path }: WireRequest): string {
  return decodeURIComponent(PATH.exec(path)?.[1] ?? "");
}

function isEvents({ query }: WireRequest): boolean {
  return query.get("alt") === "sse";
}

function saidIn({ role, parts }: Json): SpokenMessage[] {
  if (role === "model")
    return [{ role: "assistant", text: contentText(list(parts).filter((part) => record(part)["thought"] !== true)) }];
  return list(parts).map((each) => {
    const part = record(each);
    const response = record(part["functionResponse"])["response"];
    return response === undefined
      ? { role: "user", text: text(part["text"]) }
      : { role: "tool", text: JSON.stringify(response) };
  });
}

function conversation(request: WireRequest): Conversation {
  const { body } = request;
  return {
    format: "gemini",
    model: modelOf(request),
    system: contentText(record(body["systemInstruction"])["parts"]),
    messages: list(body["contents"]).flatMap((each) => saidIn(record(each))),
    ...offered(
      list(body["tools"])
        .flatMap((tool) => list(record(tool)["functionDeclarations"]).map((each) => record(each)))
        .map(({ name, parameters, parametersJsonSchema }) => ({ name, schema: parametersJsonSchema ?? parameters })),
    ),
  };
}

/** Calls are objects here: invalid JSON cannot be represented, and ends the reply. */
function readCalls(reply: Reply, model: string): { readonly parts: readonly Json[]; readonly isBroken: boolean } {
  const parts: Json[] = [];
  for (const [i, call] of reply.calls.entries()) {
    let args: unknown;
    try {
      args = JSON.parse(call.arguments_text);
    } catch {
      return { parts, isBroken: true };
    }
    const id = call.id("");
    // Only newer models issue ids, and sign the first call of a reply.
    const isNew = model.startsWith("gemini-3");
    const signature = i === 0 && (isNew || reply.reasoning !== "") ? { thoughtSignature: `Cl${reply.id}` } : {};
    parts.push({ functionCall: { ...(isNew ? { id } : {}), name: call.name, args }, ...signature });
  }
  return { parts, isBroken: false };
}

/** `share`: the part of the reply that was sent so far. */
function usageOf({ usage }: Reply, share: number): Json {
  const output_tokens = Math.floor(usage.output_tokens * share);
  return {
    promptTokenCount: usage.input_tokens,
    // Thinking is counted separately.
    candidatesTokenCount: Math.max(0, output_tokens - usage.reasoning_tokens),
    totalTokenCount: usage.input_tokens + output_tokens,
    ...(usage.cached_input_tokens > 0 ? { cachedContentTokenCount: usage.cached_input_tokens } : {}),
    ...(usage.reasoning_tokens > 0 ? { thoughtsTokenCount: Math.min(output_tokens, usage.reasoning_tokens) } : {}),
  };
}

/** The field `finishReason`, or none. */
function finishOf({ odd, finish }: Reply, isBroken: boolean): Json {
  if (odd.refusal !== undefined) return { finishReason: "SAFETY", finishMessage: odd.refusal };
  if (odd.finish_reason !== undefined)
    return odd.finish_reason.value === undefined ? {} : { finishReason: odd.finish_reason.value };
  if (finish === "length") return { finishReason: "MAX_TOKENS" };
  return { finishReason: isBroken ? "MALFORMED_FUNCTION_CALL" : "STOP" };
}

interface Chunk {
  readonly model: string;
  readonly candidate: Json;
  readonly share: number;
}

function chunkOf(reply: Reply, { model, candidate, share }: Chunk): Json {
  return {
    candidates: [{ ...candidate, index: 0 }],
    usageMetadata: usageOf(reply, share),
    modelVersion: model,
    responseId: reply.id,
  };
}

function whole(reply: Reply, { model }: Answering): Json {
  const { parts, isBroken } = readCalls(reply, model);
  const all = [
    ...(reply.reasoning === "" ? [] : [{ text: reply.reasoning, thought: true }]),
    ...(reply.text === "" ? [] : [{ text: reply.text }]),
    ...parts,
  ];
  const candidate = { content: { parts: all, role: "model" }, ...finishOf(reply, isBroken) };
  return chunkOf(reply, { model, candidate, share: 1 });
}

function frames(reply: Reply, { model, pieces, request }: Answering): Frame[] {
  const { parts, isBroken } = readCalls(reply, model);
  const chunks: { kind: Frame["kind"]; candidate: Json }[] = [];
  const add = (kind: Frame["kind"], part: Json): void => {
    chunks.push({ kind, candidate: { content: { parts: [part], role: "model" } } });
  };
  for (const piece of pieces(reply.reasoning)) add("reasoning", { text: piece, thought: true });
  for (const piece of pieces(reply.text)) add("text", { text: piece });
  for (const part of parts) add("call", part);
  const end = { content: { parts: [{ text: "" }], role: "model" }, ...finishOf(reply, isBroken) };
  chunks.push({ kind: "close", candidate: end });
  const last = chunks.length - 1;
  return chunks.map(({ kind, candidate }, i) => {
    const share = last === 0 ? 1 : Math.min(1, (i + 1) / last);
    const json = JSON.stringify(chunkOf(reply, { model, candidate, share }));
    // Without `alt=sse` the stream is one JSON array.
    const listed = `${i === 0 ? "[" : ",\r\n"}${json}${i === last ? "]" : ""}`;
    const frame = { kind, data: isEvents(request) ? `data: ${json}\r\n\r\n` : listed };
    return kind === "call" ? withArguments(frame, '"args":') : frame;
  });
}

export const gemini: Format = {
  name: "gemini",
  matches: (path) => PATH.test(path),
  key: ({ headers, query }) => {
    const given = headers["x-goog-api-key"];
    return typeof given === "string" ? given : (query.get("key") ?? undefined);
  },
  model: modelOf,
  isStream: ({ path }) => path.endsWith(":streamGenerateContent"),
  streamType: (request) => (isEvents(request) ? "text/event-stream" : "application/json; charset=UTF-8"),
  problems: (request) => geminiRequestProblems(request.body, modelOf(request)),
  conversation,
  refusal,
  whole,
  frames,
  errorFrame: () => ({ kind: "close", data: `data: ${JSON.stringify(refusal({ kind: "unavailable" }).body)}\r\n\r\n` }),
};
