/** A model server on loopback that speaks four wire formats, for tests without a model. */
import { createServer } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { echo } from "./behaviours.ts";
import type { Responder } from "./behaviours.ts";
import { spendsRound } from "./fault-kinds.ts";
import type { FaultKind } from "./fault-kinds.ts";
import { planFaults } from "./faults.ts";
import type { FaultPlan } from "./faults.ts";
import { anthropic } from "./formats/anthropic.ts";
import { isRecord } from "./formats/format.ts";
import type { Format, FormatName, Json, Trouble, WireRequest } from "./formats/format.ts";
import { gemini } from "./formats/gemini.ts";
import { openaiChat } from "./formats/openai-chat.ts";
import { makeOpenaiResponses } from "./formats/openai-responses.ts";
import { cutByLength, makeReply, tokensOf, withWideCharacter } from "./reply.ts";
import { chaosSchema, faultsSchema, parseAs, scriptSchema } from "./script.ts";
import type { ChaosInput, FaultInput, Round, Script } from "./script.ts";
import { forever, pause, sendPage, sendRefusal, sendStream, sendWhole } from "./send.ts";
import type { Sending } from "./send.ts";

export { readLoop } from "./behaviours.ts";

export interface FakeModelOptions {
  /** What it says: rounds, or a function of what was said to it. Without one it says again what it was told. */
  readonly script?: Script | Responder;
  readonly faults?: readonly FaultInput[];
  readonly chaos?: ChaosInput;
  /** The one key that is right. Not said: any, and below `/compatible` none is needed; `null`: none is needed anywhere. */
  readonly key?: string | null;
  /** The models that there are. Not said: any. */
  readonly models?: readonly string[];
  readonly context_tokens?: number;
  readonly limit_bytes?: number;
  /** How many characters a piece of a stream has. */
  readonly piece_characters?: number;
  /** 0, and not said: a free one. */
  readonly port?: number;
  /** How many requests are remembered; the oldest are forgotten first. */
  readonly keep_requests?: number;
  readonly onRequest?: (request: SeenRequest) => void;
}

/** A request that came, and what became of it. */
export interface SeenRequest {
  readonly format: FormatName;
  readonly path: string;
  readonly model: string;
  readonly stream: boolean;
  /** Without those that carry a key. */
  readonly headers: Json;
  readonly key: string | undefined;
  readonly body: Json;
  readonly bytes: number;
  /** From 1. One that is asked again is the same. */
  readonly round: number;
  /** As `performance.now` counts: when it came, and when the last byte of the answer was handed over. */
  readonly received_ms: number;
  answered_ms?: number;
  status?: number;
  fault?: FaultKind;
}

export interface FakeModel {
  /** Without a path: clients add `/v1` or `/v1beta`; `/compatible/v1` is chat completions that overlook unknown fields. */
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  /** Ends what is under way too. */
  close(): Promise<void>;
}

/** 32 MB is what Anthropic takes; the others differ little. */
const LIMIT_BYTES = 32 * 1024 * 1024;
const KEYS: ReadonlySet<string> = new Set(["authorization", "x-api-key", "x-goog-api-key"]);

export async function startFakeModel(options: FakeModelOptions = {}): Promise<FakeModel> {
  const state = openState(options);
  const stopping = new AbortController();
  const server = createServer((request, response) => {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const signal = AbortSignal.any([gone.signal, stopping.signal]);
    serve(state, { request, response, signal }).catch((error: unknown) => {
      // A mistake of the script's function, most likely: said where it is seen.
      const message = `fake-model: ${error instanceof Error ? error.message : String(error)}`;
      if (response.headersSent) response.destroy();
      else response.writeHead(500, { "content-type": "application/json" }).end(JSON.stringify({ error: { message } }));
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: state.requests,
    async close() {
      stopping.abort();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface State {
  readonly options: FakeModelOptions;
  readonly formats: readonly Format[];
  readonly plan: FaultPlan;
  readonly requests: SeenRequest[];
  readonly respond: (request: WireRequest, format: Format, round: number) => Promise<Round | undefined>;
  spent: number;
  /** Replies made so far: their ids come from it. */
  made: number;
}

function openState(options: FakeModelOptions): State {
  const { script = echo } = options;
  const rounds = typeof script === "function" ? undefined : parseAs(scriptSchema, script, "the script");
  const faults = [...parseAs(faultsSchema, options.faults ?? [], "the faults"), ...(rounds?.faults ?? [])];
  const given = options.chaos === undefined ? undefined : parseAs(chaosSchema, options.chaos, "the chaos");
  return {
    options,
    formats: [openaiChat, makeOpenaiResponses(), anthropic, gemini],
    plan: planFaults(faults, given ?? rounds?.chaos),
    requests: [],
    spent: 0,
    made: 0,
    async respond(request, format, round) {
      if (typeof script === "function") return await script(format.conversation(request));
      const all = rounds?.rounds ?? [];
      return rounds?.repeat === true ? all[(round - 1) % all.length] : all[round - 1];
    },
  };
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
}

async function serve(state: State, { request, response, signal }: Exchange): Promise<void> {
  const received_ms = performance.now();
  const { pathname: path, searchParams: query } = new URL(request.url ?? "/", "http://localhost");
  const format = state.formats.find((each) => each.matches(path));
  const limit = state.options.limit_bytes ?? LIMIT_BYTES;
  const { text, bytes } = await readBody(request, limit);
  const sending: Sending = { response, fault: undefined, signal };
  if (format === undefined || request.method !== "POST")
    return await sendRefusal((format ?? openaiChat).refusal({ kind: "unknown_path" }), sending);
  const body = parseBody(text);
  const wire: WireRequest = { path, query, headers: request.headers, body: body ?? {} };
  const seen: SeenRequest = {
    format: format.name,
    path,
    model: format.model(wire),
    stream: format.isStream(wire),
    headers: withoutKeys(request.headers),
    key: format.key(wire),
    body: wire.body,
    bytes,
    round: state.spent + 1,
    received_ms,
  };
  remember(state, seen);
  const trouble =
    bytes > limit ? ({ kind: "too_large", bytes, limit } as const) : troubleOf(state, seen, body === undefined);
  const refusal = trouble === undefined ? refusedBy(format, wire) : format.refusal(trouble);
  if (refusal === undefined) await answer(state, { format, wire, seen, sending });
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

function troubleOf({ options }: State, seen: SeenRequest, isBroken: boolean): Trouble | undefined {
  const { key, models, context_tokens = 200_000 } = options;
  const needsKey = key === undefined ? !seen.path.startsWith("/compatible/") : key !== null;
  if (needsKey && seen.key === undefined) return { kind: "no_key" };
  if (typeof key === "string" && seen.key !== key) return { kind: "wrong_key", key: seen.key ?? "" };
  if (isBroken) return { kind: "broken_json" };
  if (models !== undefined && seen.model !== "" && !models.includes(seen.model))
    return { kind: "unknown_model", model: seen.model };
  const tokens = tokensOf(seen.bytes);
  return tokens > context_tokens ? { kind: "too_long", tokens, limit: context_tokens } : undefined;
}

function refusedBy(format: Format, wire: WireRequest): ReturnType<Format["refusal"]> | undefined {
  for (const problem of format.problems(wire)) return format.refusal({ kind: "invalid", problem });
  return undefined;
}

interface Answer {
  readonly format: Format;
  readonly wire: WireRequest;
  readonly seen: SeenRequest;
  readonly sending: Sending;
}

async function answer(state: State, { format, wire, seen, sending: { response, signal } }: Answer): Promise<void> {
  const fault = state.plan.next(seen.round);
  if (fault !== undefined) seen.fault = fault.kind;
  const sending: Sending = { response, fault, signal };
  if (fault !== undefined && (await isOver(fault.kind, format, sending))) return;
  const round = await state.respond(wire, format, seen.round);
  if (round === undefined) {
    const message = `fake-model: the script is over, and this asks for round ${seen.round} of it`;
    return await sendRefusal(format.refusal({ kind: "invalid", problem: { message } }), sending);
  }
  const made = makeReply(round, { number: ++state.made, bytes: seen.bytes });
  const reply =
    fault?.kind === "length" ? cutByLength(made) : fault?.kind === "cut_in_character" ? withWideCharacter(made) : made;
  const pieces = piecesOf(state.options.piece_characters ?? 12);
  const answering = { request: wire, model: seen.model, pieces };
  if (seen.stream)
    await sendStream(format.frames(reply, answering), {
      ...sending,
      type: format.streamType(wire),
      errorFrame: format.errorFrame(),
    });
  else await sendWhole(format.whole(reply, answering), sending);
  if (spendsRound(fault?.kind) && response.writableFinished) state.spent = Math.max(state.spent, seen.round);
}

/** The faults before a reply: whether it ends with them. */
const EARLY_FAULTS: Partial<Record<FaultKind, (sending: Sending) => Promise<boolean> | boolean>> = {
  async slow_first_byte({ fault, signal }) {
    await pause(fault?.ms ?? 0, signal);
    return signal.aborted;
  },
  async hang(sending) {
    await forever(sending);
    return true;
  },
  reset({ response }) {
    response.socket?.resetAndDestroy();
    return true;
  },
  async wrong_content_type(sending) {
    await sendPage(sending);
    return true;
  },
};

const REFUSED_WITH = ["rate_limited", "server_error", "unavailable", "overloaded"] as const;

async function isOver(kind: FaultKind, format: Format, sending: Sending): Promise<boolean> {
  const refused = REFUSED_WITH.find((each) => each === kind);
  if (refused === undefined) return (await EARLY_FAULTS[kind]?.(sending)) ?? false;
  await sendRefusal(format.refusal({ kind: refused }), sending);
  return true;
}

/** Whole characters, so that each piece is well-formed text. */
function piecesOf(size: number): (text: string) => readonly string[] {
  return (text) => {
    const characters = Array.from(text);
    const pieces: string[] = [];
    for (let at = 0; at < characters.length; at += size) pieces.push(characters.slice(at, at + size).join(""));
    return pieces;
  };
}
