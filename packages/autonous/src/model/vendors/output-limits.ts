import type { Failure } from "../failures/model-failure.ts";
import type { ModelRequest } from "../provider.ts";

/** Limits of one model learned from rejections, for the lifetime of the process. */
interface LearnedLimits {
  /** Maximum reply length that may be requested. */
  readonly reply?: number;
  /** Input and reply together. */
  readonly window?: number;
  /** It accepts the limit only under its newer name. */
  readonly isNewName?: true;
}

const learned = new Map<string, LearnedLimits>();
/** Maximum entries; older ones are dropped and learned again. */
const MAX_LEARNED = 1000;

/** By server and model, because limits of a model differ between servers. */
export interface LimitsOf {
  readonly base_url: string;
  readonly model: string;
}

function keyOf({ base_url, model }: LimitsOf): string {
  return `${base_url} ${model}`;
}

function learn(of: LimitsOf, more: LearnedLimits): void {
  const key = keyOf(of);
  const known = learned.get(key);
  learned.delete(key);
  learned.set(key, { ...known, ...more });
  for (const oldest of learned.keys()) if (learned.size > MAX_LEARNED) learned.delete(oldest);
}

export function wantsNewName(of: LimitsOf): boolean {
  return learned.get(keyOf(of))?.isNewName === true;
}

interface WantedReply {
  /** Maximum reply length by settings or model. */
  readonly max_tokens: number;
  /** Input and reply together, if known. */
  readonly window: number | undefined;
  /** Size of the request, rather over- than underestimated. */
  readonly input: () => number;
}

/** Minimum reply length to request; if it does not fit, the conversation is too long. */
const MIN_REPLY = 8192;

/** Reply length to request: the wanted one, limited by the model and by the space left by the input. */
export function replyTokens(of: LimitsOf, { max_tokens, window: known, input }: WantedReply): number {
  const { reply = max_tokens, window: said } = learned.get(keyOf(of)) ?? {};
  const most = Math.min(max_tokens, reply);
  const window = said ?? known;
  if (window === undefined) return most;
  return Math.min(most, Math.max(window - input(), Math.min(MIN_REPLY, Math.floor(window / 8))));
}

/** Bytes per token: prose has about 4, code 3 to 3.5. */
const BYTES_PER_TOKEN = 3;

/** Upper estimate of a request's tokens. */
export function inputTokens({ system, messages, tools }: ModelRequest): number {
  const said = messages.reduce((bytes, message) => bytes + bytesOf(message), Buffer.byteLength(system));
  return Math.ceil((said + Buffer.byteLength(JSON.stringify(tools))) / BYTES_PER_TOKEN);
}

function bytesOf(message: ModelRequest["messages"][number]): number {
  const { calls, provider_parts } = message.role === "assistant" ? message : {};
  const beside = [calls, provider_parts].map((each) =>
    each === undefined ? 0 : Buffer.byteLength(JSON.stringify(each)),
  );
  return beside.reduce((sum, each) => sum + each, Buffer.byteLength(message.text));
}

/** Once to the length named by the server, and once more to the space left by the input. */
const MAX_SHORTENED = 2;

interface FitOptions {
  readonly of: LimitsOf;
  readonly first: number | undefined;
  read(error: unknown): Failure;
}

/** Requests a reply, and again a shorter one if the server rejected only the reply length. */
export async function askFitting<Reply>(
  { of, first, read }: FitOptions,
  ask: (max_tokens: number | undefined) => Promise<Reply>,
): Promise<Reply> {
  let max_tokens = first;
  for (let shortened = 0; ; shortened++) {
    try {
      return await ask(max_tokens);
    } catch (error) {
      const shorter = shortened < MAX_SHORTENED ? shorterReply(of, read(error), max_tokens) : undefined;
      if (shorter === undefined) throw error;
      max_tokens = shorter;
    }
  }
}

/** Servers estimate parts of the input. */
const MARGIN = 0.02;

/**
 * A shorter reply length to request after a rejection because of the length alone; undefined if that would not help.
 * `sent`: the requested length, undefined if it was left to the server.
 */
function shorterReply(of: LimitsOf, failure: Failure, sent: number | undefined): number | undefined {
  const { reason } = failure;
  const message = failure.message.replace(/^\d{3} /, ""); // the status
  const isAboutInput = reason === "context_length" && ABOUT_INPUT.test(message);
  if (isAboutInput || failure.reply_tokens !== undefined) return replyLimitBesideInput(of, failure, sent);
  if ((reason !== "bad_request" && reason !== "context_length") || sent === undefined) return undefined;
  if (WRONG_NAME.test(message)) {
    if (wantsNewName(of)) return undefined;
    learn(of, { isNewName: true });
    return sent;
  }
  const reply = longestReply(message, sent);
  if (reply !== undefined) learn(of, { reply });
  return reply;
}

/** "max_tokens and input exceed the limit": a shorter reply may fit. */
function replyLimitBesideInput(of: LimitsOf, failure: Failure, sent: number | undefined): number | undefined {
  const { limit_tokens: limit, sent_tokens: all, reply_tokens: reply } = failure;
  if (limit === undefined || all === undefined || reply === undefined || reply <= 0) return undefined;
  const input = all - reply;
  const room = Math.floor(limit - input - Math.max(16, input * MARGIN));
  if (room < Math.min(MIN_REPLY / 2, Math.floor(limit / 8)) || room >= (sent ?? reply)) return undefined;
  learn(of, { window: limit });
  return room;
}

const ABOUT_INPUT = /context|prompt|input|messages/i;
const WRONG_NAME = /max_tokens.{0,80}(?:not supported|unsupported).{0,120}max_completion_tokens/is;
const ABOUT_REPLY =
  /max[ _]?(?:new[ _]?|output[ _]?|completion[ _]?)?tokens|maximum (?:output |completion |new )?tokens|(?:output|completion) tokens/i;
const TOO_LONG =
  /at most|less than|lower than|maximum|\bmax\b|range|between|<=|≤|>|exceed|limit|too (?:large|big|high|long)|above|up to|cannot be (?:more|greater|larger)/i;
/** A smaller number is not a reply limit. */
const MIN_LIMIT = 16;

/** The reply limit in a rejection: the largest number in it that is less than the requested length. */
function longestReply(message: string, sent: number): number | undefined {
  if (!ABOUT_REPLY.test(message) || !TOO_LONG.test(message)) return undefined;
  const numbers = [...message.matchAll(/(?<![\w.-])\d[\d,_]{0,14}(?![\w-])/g)].map(([text]) =>
    Number(text.replaceAll(/[,_]/g, "")),
  );
  const below = numbers.filter((each) => each >= MIN_LIMIT && each < sent);
  if (below.length === 0) return undefined;
  const most = Math.max(...below);
  return /exclusive/i.test(message) ? most - 1 : most;
}
