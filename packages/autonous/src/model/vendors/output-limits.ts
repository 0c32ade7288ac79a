import type { Failure } from "../failures/failure.ts";
import type { ModelRequest } from "../provider.ts";

/** What refusals have taught of one model, for as long as the process lives. */
interface Learned {
  /** The longest reply that may be asked for. */
  readonly reply?: number;
  /** Input and reply together. */
  readonly window?: number;
  /** It takes the limit under its newer name only. */
  readonly isNewName?: true;
}

const learned = new Map<string, Learned>();
/** By server and model; more are forgotten, and learned again. */
const MOST_LEARNED = 1000;

/** By server and model, as limits differ between servers of the same model. */
export interface LimitsOf {
  readonly base_url: string;
  readonly model: string;
}

function keyOf({ base_url, model }: LimitsOf): string {
  return `${base_url} ${model}`;
}

function learn(of: LimitsOf, more: Learned): void {
  const key = keyOf(of);
  const known = learned.get(key);
  learned.delete(key);
  learned.set(key, { ...known, ...more });
  for (const oldest of learned.keys()) if (learned.size > MOST_LEARNED) learned.delete(oldest);
}

export function wantsNewName(of: LimitsOf): boolean {
  return learned.get(keyOf(of))?.isNewName === true;
}

interface Wanted {
  /** The longest reply that the settings or the model allow. */
  readonly max_tokens: number;
  /** Input and reply together, where that is known. */
  readonly window: number | undefined;
  /** What the request has, rather counted too high than too low. */
  readonly input: () => number;
}

/** A reply is asked for in this length at least; where it does not fit, the conversation is too long. */
const LEAST_REPLY = 8192;

/** The longest reply to ask for: what is wanted, as far as this model gives it and it fits beside the input. */
export function replyTokens(of: LimitsOf, { max_tokens, window: known, input }: Wanted): number {
  const { reply = max_tokens, window: said } = learned.get(keyOf(of)) ?? {};
  const most = Math.min(max_tokens, reply);
  const window = said ?? known;
  if (window === undefined) return most;
  return Math.min(most, Math.max(window - input(), Math.min(LEAST_REPLY, Math.floor(window / 8))));
}

/** Prose has about 4, code 3 to 3.5. */
const BYTES_PER_TOKEN = 3;

/** What a request has at most, in tokens. */
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

/** By the length that the server names, and once more by what fits beside the input. */
const MOST_SHORTENED = 2;

interface Fitting {
  readonly of: LimitsOf;
  readonly first: number | undefined;
  read(error: unknown): Failure;
}

/** Asks for a reply, and again for a shorter one where the server refused because of its length alone. */
export async function askFitting<Reply>(
  { of, first, read }: Fitting,
  ask: (max_tokens: number | undefined) => Promise<Reply>,
): Promise<Reply> {
  let max_tokens = first;
  for (let shortened = 0; ; shortened++) {
    try {
      return await ask(max_tokens);
    } catch (error) {
      const shorter = shortened < MOST_SHORTENED ? shorterReply(of, read(error), max_tokens) : undefined;
      if (shorter === undefined) throw error;
      max_tokens = shorter;
    }
  }
}

/** Servers count some of the input by estimate. */
const MARGIN = 0.02;

/**
 * A shorter reply to ask for after a refusal that is about its length alone; undefined where that would not help.
 * `sent`: what was asked for, undefined where it was left to the server.
 */
function shorterReply(of: LimitsOf, failure: Failure, sent: number | undefined): number | undefined {
  const { reason } = failure;
  const message = failure.message.replace(/^\d{3} /, ""); // the status
  const isAboutInput = reason === "context_length" && ABOUT_INPUT.test(message);
  if (isAboutInput || failure.reply_tokens !== undefined) return besideInput(of, failure, sent);
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

/** "max_tokens and input exceed the limit": a shorter reply may fit where a long one does not. */
function besideInput(of: LimitsOf, failure: Failure, sent: number | undefined): number | undefined {
  const { limit_tokens: limit, sent_tokens: all, reply_tokens: reply } = failure;
  if (limit === undefined || all === undefined || reply === undefined || reply <= 0) return undefined;
  const input = all - reply;
  const room = Math.floor(limit - input - Math.max(16, input * MARGIN));
  if (room < Math.min(LEAST_REPLY / 2, Math.floor(limit / 8)) || room >= (sent ?? reply)) return undefined;
  learn(of, { window: limit });
  return room;
}

const ABOUT_INPUT = /context|prompt|input|messages/i;
const WRONG_NAME = /max_tokens.{0,80}(?:not supported|unsupported).{0,120}max_completion_tokens/is;
const ABOUT_REPLY =
  /max[ _]?(?:new[ _]?|output[ _]?|completion[ _]?)?tokens|maximum (?:output |completion |new )?tokens|(?:output|completion) tokens/i;
const TOO_LONG =
  /at most|less than|lower than|maximum|\bmax\b|range|between|<=|≤|>|exceed|limit|too (?:large|big|high|long)|above|up to|cannot be (?:more|greater|larger)/i;
/** A limit below this is not one of a reply. */
const LEAST_LIMIT = 16;

/** The longest reply that a refusal names: of its numbers, the largest that is less than what was sent. */
function longestReply(message: string, sent: number): number | undefined {
  if (!ABOUT_REPLY.test(message) || !TOO_LONG.test(message)) return undefined;
  const numbers = [...message.matchAll(/(?<![\w.-])\d[\d,_]{0,14}(?![\w-])/g)].map(([text]) =>
    Number(text.replaceAll(/[,_]/g, "")),
  );
  const below = numbers.filter((each) => each >= LEAST_LIMIT && each < sent);
  if (below.length === 0) return undefined;
  const most = Math.max(...below);
  return /exclusive/i.test(message) ? most - 1 : most;
}
