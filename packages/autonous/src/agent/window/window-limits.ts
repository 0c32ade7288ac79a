/** What is known of how much one model takes, in tokens as its server counts. */
export interface ModelLimits {
  /** What fits, input and reply together, as the server said. */
  readonly context_tokens?: number;
  /** What the server keeps of that for the reply, as it said. */
  readonly reply_tokens?: number;
  /** Tokens that the server counts for each one estimated here: it differs by model, script and kind of text. */
  readonly ratio?: number;
  /** The largest request that the server has taken. */
  readonly taken?: number;
  /** The smallest that it has refused without saying how much fits. */
  readonly refused?: number;
  /** The server reads less than it is sent, and the user was told so. */
  readonly cuts?: true;
  /** The last reply's request, as estimated here and as the server counted it. */
  readonly last?: CountedRequest;
}

interface CountedRequest {
  readonly estimated: number;
  readonly counted: number;
  /** How often in a row a larger request was counted as no more. */
  readonly stuck?: number;
}

/** The numbers that a server names when a request does not fit. Untrusted. */
export interface OverflowNumbers {
  readonly limit_tokens?: number;
  readonly sent_tokens?: number;
  readonly reply_tokens?: number;
}

/**
 * No text has fewer than 0.75 bytes or more than 6 for each token. What is counted lower than that counts only a part of
 * the request, such as what was not in the server's cache.
 */
const MIN_RATIO = 0.5;
const MAX_RATIO = 4;
/** Below this no server has a window: the number is something else. */
const MIN_LIMIT = 256;
const MAX_LIMIT = 1e9;

export function ratioOf({ ratio = 1 }: ModelLimits): number {
  return ratio;
}

/** After a reply: how its server counted the request. Recorded with the round, so that a resumed run knows the same. */
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
  // It takes more than it once refused: that was for another reason, or the count was wrong.
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
/** Smaller counts are made up, as by servers that always say the same. */
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

/** The record holds it: a few digits are enough, and are the same in every JSON. */
function rounded(ratio: number): number {
  return Math.ceil(ratio * 1000) / 1000;
}

/** After a refusal: what fits, and how the server counts, as far as it says so. Afterwards the same request counts as too large. */
export function learnFromOverflow(known: ModelLimits, estimated: number, numbers: OverflowNumbers): ModelLimits {
  const { limit, input, reply } = checked(numbers, estimated);
  const before = ratioOf(known);
  if (limit === undefined) {
    const ratio = ratioFrom(estimated, input) ?? before;
    const refused = Math.min(known.refused ?? Number.POSITIVE_INFINITY, Math.floor(estimated * ratio));
    const { taken = 0, ...rest } = known;
    // It has taken as much before: what it takes has become less.
    return { ...rest, ratio, refused, ...(taken === 0 || taken >= refused ? {} : { taken }) };
  }
  const room = limit - (reply ?? 0);
  const least = (room + 1) / Math.max(1, estimated);
  const ratio = Math.min(MAX_RATIO, Math.max(ratioFrom(estimated, input) ?? before, rounded(least)));
  const size = Math.floor(estimated * ratio);
  // A count that is beyond all bounds cannot be relied on: then the request alone tells what is too large.
  const searched = size > room ? {} : { refused: size };
  return { ratio, context_tokens: limit, ...(reply === undefined ? {} : { reply_tokens: reply }), ...searched };
}

interface CheckedNumbers {
  readonly limit?: number;
  readonly input?: number;
  readonly reply?: number;
}

/**
 * Numbers that make sense: a request that is refused as too large is larger than what fits. Where far less was sent than
 * is estimated here, something else was counted, such as messages.
 */
function checked({ limit_tokens, sent_tokens, reply_tokens }: OverflowNumbers, estimated: number): CheckedNumbers {
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
/** Closer than this it is not searched. */
const CLOSE = 0.9;

/** How large a request may be where its server refused one without numbers. */
export function searchedLimit({ taken = 0, refused }: ModelLimits): number | undefined {
  if (refused === undefined) return undefined;
  if (taken >= refused * CLOSE) return taken;
  return Math.floor(taken + (refused - taken) * (taken === 0 ? FIRST_STEP : LATER_STEP));
}

/** Left free for the reply where its longest is not known: a share of the window, but enough for a call, and no more than models write. */
const REPLY_SHARE = 0.1;
const MIN_REPLY = 4_000;
const MIN_REPLY_SHARE = 0.2;
const MAX_REPLY = 32_000;
/** A longest reply that is set larger than this is not counted on: nothing would be left for what was said. */
const MAX_REPLY_SHARE = 0.5;

/** How much of a window is left free for the reply. `wanted`: the longest reply that is asked for. */
export function replyRoom({ reply_tokens }: ModelLimits, limit: number, wanted: number | undefined): number {
  if (reply_tokens !== undefined) return reply_tokens;
  if (wanted !== undefined) return Math.min(wanted, Math.floor(limit * MAX_REPLY_SHARE));
  const least = Math.min(MIN_REPLY, limit * MIN_REPLY_SHARE);
  return Math.floor(Math.min(MAX_REPLY, Math.max(limit * REPLY_SHARE, least)));
}
