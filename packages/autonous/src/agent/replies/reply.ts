import type { AgentError } from "../agent-run.ts";
import { boundText } from "@autonous/runtime/internal";
import type { RuntimeEvent } from "@autonous/runtime";
import { parseReply } from "../../model/calls/json-reply.ts";
import { dropPartialSecret } from "./answer-pieces.ts";
import { asRecorded, readPlainCall, redactCall } from "./requested-calls.ts";
import type { RequestedCall } from "./requested-calls.ts";
import { CUT_OFF, interpretNative, unusable } from "./native-meaning.ts";
import type { ReplyMeaning } from "./native-meaning.ts";
import type { Message, ModelReply } from "../../model/provider.ts";
import { MAX_CHARACTERS } from "../../model/wire/received.ts";
import type { Run } from "../agent-run.ts";

type AssistantMessage = Extract<Message, { readonly role: "assistant" }>;

/** The outcome of a model round. */
export type Round = { readonly said?: AssistantMessage } & (
  | { readonly kind: "tool_calls"; readonly calls: readonly RequestedCall[] }
  | { readonly kind: "final"; readonly answer: string }
  /** Part of an answer that the output limit truncated. */
  | { readonly kind: "cut"; readonly answer: string }
  /** `advice`: what the user can do if the next reply is invalid too. */
  | { readonly kind: "invalid"; readonly message: string; readonly advice?: string }
  | ({ readonly kind: "failed" } & AgentError)
);

/** Payload of `model.completed`: enough to resume as if the round had just been requested. Contains no secrets. */
interface RoundRecord {
  readonly kind: Round["kind"];
  readonly transport: ModelReply["kind"];
  readonly text: string;
  readonly calls?: readonly RequestedCall[];
  /** Text beside the calls. */
  readonly progress?: string;
  /** The format, if the calls were written as text. */
  readonly written_as?: string;
  readonly maker?: string;
  readonly provider_parts?: unknown;
  readonly [more: string]: unknown;
}

export interface ReadReply {
  /** With the arguments as the model wrote them, which are used to run the calls. */
  readonly round: Round;
  readonly record: Readonly<Record<string, unknown>>;
}

/** A recorded round. Our own event: the hash chain proves that it is unchanged. */
export function recordedRound({ type, payload }: RuntimeEvent): Round {
  if (type === "model.failed") return payload as unknown as Round;
  const record = payload as unknown as RoundRecord;
  return { ...record, ...messageOf(record) } as unknown as Round;
}

/** The message of a recorded reply, so that a resumed run sends exactly the same again. */
function messageOf(record: RoundRecord): { said?: AssistantMessage } {
  const { kind, transport, calls = [], maker, provider_parts } = record;
  // Calls that were written as text are sent back as calls, not again as text.
  const text = record.written_as === undefined ? record.text : (record.progress ?? "");
  // Providers refuse calls without results, and empty messages.
  if (transport === "plain" || kind === "invalid") return text === "" ? {} : { said: { role: "assistant", text } };
  const asked = calls.map(({ tool_call_id, provider_call_id, name, arguments: args }) => ({
    tool_call_id,
    ...(provider_call_id === undefined ? {} : { provider_call_id }),
    name,
    arguments: args,
  }));
  const parts = {
    ...(maker === undefined ? {} : { maker }),
    ...(provider_parts === undefined ? {} : { provider_parts }),
  };
  return { said: { role: "assistant", text, ...(asked.length === 0 ? {} : { calls: asked }), ...parts } };
}

/** Interprets a reply, whatever its transport (spec 1, Model replies). */
export function readReply(run: Run, given: ModelReply): ReadReply {
  const excess = exceededLimit(given);
  if (excess !== undefined) return refuseReply(run, given, excess);
  const isPiece = given.kind === "native" && given.finish === "length" && given.calls.length === 0;
  return readWithinLimits(run, isPiece ? { ...given, text: dropPartialSecret(given.text) } : given);
}

function readWithinLimits(run: Run, reply: ModelReply): ReadReply {
  const meaning = reply.kind === "plain" ? interpretPlain(run, reply) : interpretNative(run, reply);
  const text = run.redact(reply.text);
  const about = { transport: reply.kind, text, ...makerOf(reply), ...partsOf(run, reply) };
  const isRedacted = text !== reply.text.toWellFormed();
  if (meaning.kind === "invalid") {
    const advice = meaning.advice === undefined ? {} : { advice: meaning.advice };
    const message = run.redact(meaning.message);
    return readRecord({ ...about, kind: "invalid", message, ...advice, redacted: isRedacted });
  }
  if (meaning.kind === "tool_calls" && meaning.calls.length > MAX_CALLS) {
    return refuseReply(run, reply, `it has ${meaning.calls.length} tool calls, and at most ${MAX_CALLS} are allowed`);
  }
  if (meaning.kind === "final" || meaning.kind === "cut") {
    return readRecord({ ...about, kind: meaning.kind, answer: run.redact(meaning.text), redacted: isRedacted });
  }
  const asked = meaning.calls.map((call) => redactCall(run, call));
  const recorded = asked.map((each) => each.recorded);
  const redacted = isRedacted || recorded.some((call) => call.redacted);
  const progress = run.redact(meaning.text);
  const written = meaning.written_as === undefined ? {} : { written_as: meaning.written_as };
  const { record, round } = readRecord({
    ...about,
    kind: "tool_calls",
    progress,
    calls: recorded,
    ...written,
    redacted,
  });
  return { record, round: { ...round, kind: "tool_calls", calls: asked.map((each) => each.call) } };
}

/** The round of a record that contains everything about it. */
export function readRecord(record: RoundRecord): ReadReply {
  return { record, round: { ...record, ...messageOf(record) } as unknown as Round };
}

const MESSAGE_CHARACTERS = 4096;
const MAX_CALLS = 200;

/** Which limit a reply exceeds. */
function exceededLimit(reply: ModelReply): string | undefined {
  const calls = reply.kind === "native" ? reply.calls : [];
  if (calls.length > MAX_CALLS) return `it has ${calls.length} tool calls, and at most ${MAX_CALLS} are allowed`;
  const length = calls.reduce((sum, { name, input }) => sum + name.length + input.length, reply.text.length);
  return length > MAX_CHARACTERS ? `it has ${length} characters, and at most ${MAX_CHARACTERS} are allowed` : undefined;
}

function refuseReply(run: Run, { text }: ModelReply, excess: string): ReadReply {
  const message = `Cannot use the reply: ${excess}; send a shorter one`;
  const kept = run
    .redact(boundText(text, 2 * MESSAGE_CHARACTERS))
    .slice(0, MESSAGE_CHARACTERS)
    .toWellFormed();
  return readRecord({ kind: "invalid", transport: "plain", text: kept, message, redacted: false });
}

function interpretPlain(
  run: Run,
  { text, finish, problem }: Extract<ModelReply, { readonly kind: "plain" }>,
): ReplyMeaning {
  if (problem !== undefined) return unusable(problem);
  if (finish === "length") return CUT_OFF;
  const parsed = parseReply(text);
  return parsed.kind === "tool_calls"
    ? { ...parsed, calls: parsed.calls.map((call) => readPlainCall(run, call)) }
    : parsed;
}

/** The model whose ids and reasoning these are, for later requests to this or another model. */
function makerOf(reply: ModelReply): { readonly maker?: string } {
  return reply.kind === "plain" || reply.maker === undefined ? {} : { maker: reply.maker };
}

/**
 * Data that the provider requires back is stored unchanged or not at all: modified signed reasoning is refused, and
 * secrets must not be stored. Values that JSON cannot represent would also change.
 */
function partsOf(run: Run, reply: ModelReply): { readonly provider_parts?: unknown; readonly parts_dropped?: true } {
  if (reply.kind === "plain" || reply.provider_parts === undefined) return {};
  if (isTooDeep(reply.provider_parts)) return { parts_dropped: true };
  const text = JSON.stringify(reply.provider_parts);
  const parts = JSON.parse(text) as unknown;
  const isSafe =
    text.length <= MAX_CHARACTERS && !hasLoneSurrogate(text) && !run.options.runtime.redactValue(parts).redacted;
  return isSafe ? { provider_parts: asRecorded(parts) } : { parts_dropped: true };
}

const MAX_DEPTH = 100;

/** Whether a value is nested too deeply: recursive processing would overflow the stack. */
function isTooDeep(value: unknown): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []));
  }
  return false;
}

/** `JSON.stringify` escapes unpaired surrogates, which have no UTF-8 form. */
function hasLoneSurrogate(json: string): boolean {
  return /\\ud[89a-f][0-9a-f]{2}/.test(json);
}
