/** One request and its answer. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { answer } from "./answer.ts";
import { inputUsage, NOT_BILLED } from "./books.ts";
import { isRecord } from "./formats/format.ts";
import type { Format, Json, Trouble, WireRequest } from "./formats/format.ts";
import { openaiChat } from "./formats/openai-chat.ts";
import { tokensOf } from "./reply.ts";
import { sendRefusal } from "./send.ts";
import type { Sending } from "./send.ts";
import type { Door, SeenRequest, State } from "./state.ts";
import type { Vendor } from "./vendors/vendors.ts";

/** 32 MB is what Anthropic takes; the others differ little. */
const LIMIT_BYTES = 32 * 1024 * 1024;
const KEYS: ReadonlySet<string> = new Set(["authorization", "x-api-key", "x-goog-api-key"]);
/** More of them are one mistake made again. */
const MAX_VIOLATIONS = 10;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
}

export async function serve(state: State, { request, response, signal }: Exchange): Promise<void> {
  const received_ms = performance.now();
  const { pathname: path, searchParams: query } = new URL(request.url ?? "/", "http://localhost");
  const door = state.door(path);
  const limit = state.options.limit_bytes ?? LIMIT_BYTES;
  const { text, bytes } = await readBody(request, limit);
  const sending: Sending = { response, fault: undefined, signal };
  if (door === undefined || request.method !== "POST")
    return await sendRefusal((door?.format ?? openaiChat).refusal({ kind: "unknown_path" }), sending);
  const { format, vendor } = door;
  const body = parseBody(text);
  const wire: WireRequest = { path, query, headers: request.headers, body: body ?? {} };
  const seen: SeenRequest = {
    format: format.name,
    vendor: vendor?.name,
    path,
    model: format.model(wire),
    stream: format.isStream(wire),
    headers: withoutKeys(request.headers),
    key: format.key(wire),
    body: wire.body,
    bytes,
    round: state.spent + 1,
    received_ms,
    violations: [],
    billed: NOT_BILLED,
  };
  remember(state, seen);
  const trouble =
    bytes > limit
      ? ({ kind: "too_large", bytes, limit } as const)
      : troubleOf(state, { seen, vendor, isBroken: body === undefined });
  const refusal = trouble === undefined ? refusedBy(format, wire, seen) : format.refusal(trouble);
  if (refusal === undefined)
    await answer(state, { door, wire, seen, sending, input: inputOf(state, { door, wire, seen }) });
  else await sendRefusal(refusal, sending);
  seen.answered_ms = performance.now();
  seen.status = response.statusCode;
  state.options.onRequest?.(seen);
}

function remember({ requests, options }: State, seen: SeenRequest): void {
  requests.push(seen);
  while (requests.length > (options.keep_requests ?? 1000)) requests.shift();
}

function withoutKeys(headers: IncomingHttpHeaders): Json {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !KEYS.has(name)));
}

/** No more is kept than may be said; the rest is counted, and let go. */
async function readBody(request: IncomingMessage, limit: number): Promise<{ text: string; bytes: number }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= limit) chunks.push(chunk);
  }
  return { text: bytes > limit ? "" : Buffer.concat(chunks).toString("utf8"), bytes };
}

function parseBody(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined; // the format says what it makes of that
  }
}

const CONTEXT_TOKENS = 200_000;

interface Checked {
  readonly seen: SeenRequest;
  readonly vendor: Vendor | undefined;
  readonly isBroken: boolean;
}

function troubleOf({ options }: State, { seen, vendor, isBroken }: Checked): Trouble | undefined {
  const { key, models, context_tokens = CONTEXT_TOKENS } = options;
  const byDefault = vendor?.needs_key ?? !seen.path.startsWith("/compatible/");
  const needsKey = key === undefined ? byDefault : key !== null;
  if (needsKey && seen.key === undefined) return { kind: "no_key" };
  if (typeof key === "string" && seen.key !== key) return { kind: "wrong_key", key: seen.key ?? "" };
  if (isBroken) return { kind: "broken_json" };
  if (models !== undefined && seen.model !== "" && !models.includes(seen.model))
    return { kind: "unknown_model", model: seen.model };
  const tokens = tokensOf(seen.bytes);
  if (vendor?.truncates === true || tokens <= context_tokens) return undefined;
  return { kind: "too_long", tokens, limit: context_tokens };
}

/** The input as it will be billed: what a server cuts off in silence is not read, and so not billed. */
function inputOf(
  { options }: State,
  { door, wire, seen }: { door: Door; wire: WireRequest; seen: SeenRequest },
): ReturnType<typeof inputUsage> {
  const { context_tokens = CONTEXT_TOKENS } = options;
  const tokens = tokensOf(seen.bytes);
  const read = door.vendor?.truncates === true ? Math.min(tokens, context_tokens) : tokens;
  return inputUsage(door.cache.use(wire, seen), read);
}

function refusedBy(format: Format, wire: WireRequest, seen: SeenRequest): ReturnType<Format["refusal"]> | undefined {
  const degraded = format.degraded?.(wire);
  if (degraded !== undefined) seen.violations = [degraded.message];
  let first: ReturnType<Format["refusal"]> | undefined;
  for (const problem of format.problems(wire)) {
    first ??= format.refusal({ kind: "invalid", problem });
    seen.violations = [...seen.violations, problem.message];
    if (seen.violations.length >= MAX_VIOLATIONS) break;
  }
  return first;
}
