/** One call of the Bot API, with what is made to go wrong on its way. */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { FaultInput, FaultKind } from "./faults.ts";
import { COUNTED, MAX_FILE_BYTES, METHODS } from "./methods/methods.ts";
import { readParameters } from "./parameters.ts";
import type { Parameters } from "./parameters.ts";
import { Refusal, tooMany } from "./refusal.ts";
import { sendJson } from "./send.ts";
import type { SeenCall, State } from "./state.ts";
import { CONFLICT } from "./updates.ts";
import type { Update } from "./updates.ts";

interface Call {
  readonly token: string;
  readonly method: string;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Undefined: it was too large to be kept. */
  readonly body: Buffer | undefined;
  readonly signal: AbortSignal;
}

const BY_SMALL_LETTERS: ReadonlyMap<string, string> = new Map(
  Object.keys(METHODS).map((name) => [name.toLowerCase(), name]),
);
const HTML_PAGE =
  "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><center><h1>502 Bad Gateway</h1></center></body>\r\n</html>\r\n";

export async function answerCall(state: State, call: Call): Promise<void> {
  const method = BY_SMALL_LETTERS.get(call.method.toLowerCase());
  checkToken(state, call.token);
  if (method === undefined) throw new Refusal(404, "Not Found: method not found");
  if (call.body === undefined) throw new Refusal(413, "Request Entity Too Large");
  const parameters = readParameters(call.query, call.request.headers, call.body);
  const chat = Number(parameters.values["chat_id"]) || undefined;
  const { text } = parameters.values;
  const fault = state.faults.next(method, { chat, ...(typeof text === "string" ? { text } : {}) });
  const seen = remember(state, { method, parameters, chat, fault });
  try {
    await answer(state, { ...call, method, parameters, seen, fault });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    seen.description = error.message;
    const { retry_after } = error.parameters;
    if (retry_after !== undefined) {
      state.pauses.set(chat, performance.now() + retry_after * 1000);
      call.response.setHeader("retry-after", String(retry_after));
    }
    seen.status = error.status;
    sendJson(call.response, error.status, error.body);
  }
  state.options.onCall?.(seen);
}

/** One that is not even shaped like a token is an address that is not there. */
export function checkToken({ token }: State, given: string): void {
  if (given === token) return;
  throw /^\d+:[\w-]+$/.test(given) ? new Refusal(401, "Unauthorized") : new Refusal(404, "Not Found");
}

interface Remembered {
  readonly method: string;
  readonly parameters: Parameters;
  readonly chat: number | undefined;
  readonly fault: FaultInput | undefined;
}

export function remember({ calls, options, pauses }: State, { method, parameters, chat, fault }: Remembered): SeenCall {
  const received_ms = performance.now();
  const is_early = COUNTED.has(method) && received_ms < (pauses.get(chat) ?? 0);
  const seen: SeenCall = {
    method,
    parameters: parameters.values,
    chat,
    received_ms,
    is_early,
    ...(fault === undefined ? {} : { fault: fault.kind }),
  };
  calls.push(seen);
  while (calls.length > (options.keep_calls ?? 10_000)) calls.shift();
  return seen;
}

interface Answering extends Omit<Call, "method"> {
  readonly method: string;
  readonly parameters: Parameters;
  readonly seen: SeenCall;
  readonly fault: FaultInput | undefined;
}

const REFUSALS: Partial<Record<FaultKind, (fault: FaultInput) => Refusal>> = {
  rate_limited: ({ retry_after_s = 1 }) => tooMany(retry_after_s),
  server_error: () => new Refusal(500, "Internal Server Error"),
  unauthorized: () => new Refusal(401, "Unauthorized"),
  conflict: () => new Refusal(409, CONFLICT),
  blocked: () => new Refusal(403, "Forbidden: bot was blocked by the user"),
};

export function refusalFor(fault: FaultInput): Refusal | undefined {
  return REFUSALS[fault.kind]?.(fault);
}

async function answer(state: State, answering: Answering): Promise<void> {
  const { method, parameters, seen, fault, request, response, signal } = answering;
  const refusal = fault === undefined ? undefined : refusalFor(fault);
  if (refusal !== undefined) throw refusal;
  if (fault?.kind === "slow") await delay(fault.ms ?? 1000, undefined, { signal }).catch(() => undefined); // the client is gone
  if (fault?.kind === "hang") return await untilGone(signal);
  if (fault?.kind === "reset_before") {
    request.socket.resetAndDestroy();
    return;
  }
  const status = fault === undefined ? undefined : sendAsGateway(response, fault);
  if (status !== undefined) {
    seen.status = status;
    return;
  }
  const result = await run(state, { method, parameters, signal });
  seen.status = 200;
  const text = JSON.stringify({
    ok: true,
    result: method === "getUpdates" ? disturbed(state, result as readonly Update[], fault) : result,
  });
  if (fault?.kind === "hang_after") return await untilGone(signal);
  if (fault?.kind === "reset_after") request.socket.resetAndDestroy();
  else if (fault?.kind === "cut_answer") cut(response, text);
  else response.writeHead(200, { "content-type": "application/json" }).end(text);
}

/** Answers in the place of Telegram, where the fault says so; gives the status. */
export function sendAsGateway(response: ServerResponse, { kind }: FaultInput): number | undefined {
  if (kind === "bad_gateway") {
    response.writeHead(502, { "content-type": "text/html" }).end(HTML_PAGE);
    return 502;
  }
  if (kind !== "gateway_json") return undefined;
  sendJson(response, 503, { message: "no healthy upstream" });
  return 503;
}

export async function untilGone(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}

function cut(response: ServerResponse, text: string): void {
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  response.write(text.slice(0, text.length / 2), () => response.destroy());
}

async function run(
  state: State,
  { method, parameters, signal }: Pick<Answering, "method" | "parameters" | "signal">,
): Promise<unknown> {
  const { world, updates, limiter, options } = state;
  const chat = world.chats.get(Number(parameters.values["chat_id"]));
  if (limiter !== undefined && chat !== undefined && COUNTED.has(method)) limiter.check(chat, performance.now());
  return await METHODS[method]?.({
    world,
    updates,
    parameters,
    query_ms: (options.query_seconds ?? 60) * 1000,
    link_ms: (options.link_seconds ?? 3600) * 1000,
    max_file_bytes: options.max_file_bytes ?? MAX_FILE_BYTES,
    signal,
  });
}

/** How many of those that were confirmed come again with the fault `twice`. */
const AGAIN = 3;

function disturbed({ updates }: State, found: readonly Update[], fault: FaultInput | undefined): readonly Update[] {
  if (fault?.kind === "out_of_order") return found.toReversed();
  if (fault?.kind !== "twice") return found;
  return [...updates.given.slice(-AGAIN), ...found.flatMap((update) => [update, update])];
}
