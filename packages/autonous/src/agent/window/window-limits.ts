/** Known limits of one model, in tokens as its server counts. */
export interface ModelLimits {
  /** Context window, input and reply together, as reported by the server. */
  readonly context_tokens?: number;
  /** Part of it that the server reserves for the reply, as reported. */
  readonly reply_tokens?: number;
  /** Server tokens per estimated token: differs by model, script and kind of text. */
  readonly ratio?: number;
  /** The largest accepted request. */
  readonly taken?: number;
  /** The smallest request that was refused without naming a limit. */
  readonly refused?: number;
  /** The server truncates requests, and the user was warned. */
  readonly cuts?: true;
  /** The previous request, as estimated and as the server counted it. */
  readonly last?: CountedRequest;
}

interface CountedRequest {
  readonly estimated: number;
  readonly counted: number;
  /** How often in a row a larger request had no larger count. */
  readonly stuck?: number;
}

/** Numbers from a server's refusal of an oversized request. Untrusted. */
export interface OverflowNumbers {
  readonly limit_tokens?: number;
  readonly sent_tokens?: number;
  readonly reply_tokens?: number;
}

/**
 * A token has between 0.75 and 6 bytes. A lower count covers only part of the request, for example without cached
 * input.
 */
const MIN_RATIO = 0.5;
const MAX_RATIO = 4;
/** No server has a smaller window: the number means something else. */
const MIN_LIMIT = 256;
const MAX_LIMIT = 1e9;

export function ratioOf({ ratio = 1 }: ModelLimits): number {
  return ratio;
}

/** Learns from a reply how its server counts. Recorded with the round, so that a resumed run knows it too. */
export function learnFromReply(known: ModelLimits, estimated: number, counted: number | undefined): ModelLimits {
  const reading = ratioFrom(estimated, counted);
  const stuck = reading === undefined ? {} : stuckOf(known, { estimated, counted: counted ?? 0 });
  if (stuck.stuck === STUCK) {
    return { context_tokens: Math.min(known.context_tokens ?? Number.POSITIVE_INFINITY, known.last?.counted ?? 0) };
  }
  const last = reading === undefined || counted === undefined ? {} : { last: { estimated, counted, ...stuck } };
  const ratio = stuck.stuck === undefined ? (reading ?? known.ratio) : known.ratio;
  const taken = Math.max(known.taken ?? 0, Math.ceil(estimated * (ratio ?? 1)));
  const { refused, last: _before, ...rest } = known;
  // A larger request was accepted: the refusal had another reason, or the count was wrong.
  const isRefused = refused !== undefined && refused > taken;
  return {
    ...rest,
    ...(ratio === undefined ? {} : { ratio }),
    taken,
    ...(isRefused ? { refused } : {}),
    ...last,
  };
}

/** Some servers silently truncate what does not fit (Ollama): their count no longer grows with the request. */
const STUCK = 2;
const GROWN = 1.02;
/** Smaller counts may be constants that a server always reports. */
const MIN_STUCK_TOKENS = 2_000;

function stuckOf({ last }: ModelLimits, { estimated, counted }: CountedRequest): { readonly stuck?: number } {
  if (last === undefined || counted < MIN_STUCK_TOKENS) return {};
  const isStuck = estimated > last.estimated * GROWN && counted <= last.counted;
  return isStuck ? { stuck: (last.stuck ?? 0) + 1 } : {};
}

function ratioFrom(estimated: number, counted: number | undefined): number | undefined {
  if (counted === undefined || estimated <= 0 || !Number.isFinite(counted)) return undefined;
  const ratio = counted / estimated;
  return ratio < MIN_RATIO ? undefined : Math.min(MAX_RATIO, rounded(ratio));
}

/** Recorded: few digits suffice, and are the same in every JSON. */
function rounded(ratio: number): number {
  return Math.ceil(ratio * 1000) / 1000;
}

/** Learns limit and counting from a refusal, as far as reported. Afterwards the same request counts as too large. */
export function learnFromOverflow(known: ModelLimits, estimated: number, numbers: OverflowNumbers): ModelLimits {
  const { limit, input, reply } = plausibleNumbers(numbers, estimated);
  const before = ratioOf(known);
  if (limit === undefined) {
    const ratio = ratioFrom(estimated, input) ?? before;
    const refused = Math.min(known.refused ?? Number.POSITIVE_INFINITY, Math.floor(estimated * ratio));
    const { taken = 0, ...rest } = known;
    // It accepted as much before, so its limit has shrunk.
    return { ...rest, ratio, refused, ...(taken === 0 || taken >= refused ? {} : { taken }) };
  }
  const room = limit - (reply ?? 0);
  const least = (room + 1) / Math.max(1, estimated);
  const ratio = Math.min(MAX_RATIO, Math.max(ratioFrom(estimated, input) ?? before, rounded(least)));
  const size = Math.floor(estimated * ratio);
  // An implausible count is ignored; the refused size is the limit.
  const searched = size > room ? {} : { refused: size };
  return { ratio, context_tokens: limit, ...(reply === undefined ? {} : { reply_tokens: reply }), ...searched };
}

interface CheckedNumbers {
  readonly limit?: number;
  readonly input?: number;
  readonly reply?: number;
}

/**
 * Plausible numbers: a refused request is larger than the limit. If the server names far less than estimated, it
 * counted something else, such as messages.
 */
function plausibleNumbers(
  { limit_tokens, sent_tokens, reply_tokens }: OverflowNumbers,
  estimated: number,
): CheckedNumbers {
  const isLimit = limit_tokens !== undefined && limit_tokens >= MIN_LIMIT && limit_tokens <= MAX_LIMIT;
  if (sent_tokens === undefined) return isLimit ? { limit: limit_tokens } : {};
  const isReply = reply_tokens !== undefined && reply_tokens > 0 && reply_tokens < sent_tokens;
  const input = sent_tokens - (isReply ? reply_tokens : 0);
  if (input < estimated * MIN_RATIO || sent_tokens > MAX_LIMIT) return {};
  if (!isLimit || sent_tokens <= limit_tokens) return { input };
  return { input, limit: limit_tokens, ...(isReply && reply_tokens < limit_tokens ? { reply: reply_tokens } : {}) };
}

/** Share of the range between the largest accepted and the smallest refused request that the next one uses. */
const FIRST_STEP = 0.7;
const LATER_STEP = 0.5;
/** The search stops when the bounds are closer than this. */
const CLOSE = 0.9;

/** Maximum size of a request whose server refused one without numbers. */
export function searchedLimit({ taken = 0, refused }: ModelLimits): number | undefined {
  if (refused === undefined) return undefined;
  if (taken >= refused * CLOSE) return taken;
  return Math.floor(taken + (refused - taken) * (taken === 0 ? FIRST_STEP : LATER_STEP));
}

/**
 * Space for the reply if its maximum is unknown: a share of the window, at least enough for a call, at most what
 * models write.
 */
const REPLY_SHARE = 0.1;
const MIN_REPLY = 4_000;
const MIN_REPLY_SHARE = 0.2;
const MAX_REPLY = 32_000;
/** A larger configured maximum is not fully reserved: it would leave no room for messages. */
const MAX_REPLY_SHARE = 0.5;

/** Part of a window that is reserved for the reply. `wanted`: the requested maximum. */
export function replyRoom({ reply_tokens }: ModelLimits, limit: number, wanted: number | undefined): number {
  if (reply_tokens !== undefined) return reply_tokens;
  if (wanted !== undefined) return Math.min(wanted, Math.floor(limit * MAX_REPLY_SHARE));
  const least = Math.min(MIN_REPLY, limit * MIN_REPLY_SHARE);
  return Math.floor(Math.min(MAX_REPLY, Math.max(limit * REPLY_SHARE, least)));
}
