/** What a vendor bills for a request, and its cache of prompts. */
import type { FormatName, WireRequest } from "./formats/format.ts";
import { anthropicBlocks, chatBlocks, createMarkedCache, createPrefixCache, promptText } from "./prompt-cache.ts";
import type { CachedInput } from "./prompt-cache.ts";
import type { InputUsage, Reply } from "./reply.ts";
import type { CacheKind } from "./vendors/vendors.ts";

/** In tokens. `input_tokens` is all of the input; of it, what was read from the cache and what was written to it. */
export interface Billed extends InputUsage {
  readonly output_tokens: number;
}

export const NOT_BILLED: Billed = {
  input_tokens: 0,
  cached_input_tokens: 0,
  cache_write_tokens: 0,
  output_tokens: 0,
};

export function addBills(a: Billed, b: Billed): Billed {
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    cached_input_tokens: a.cached_input_tokens + b.cached_input_tokens,
    cache_write_tokens: a.cache_write_tokens + b.cache_write_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
  };
}

/**
 * The bill of a reply of which a share was sent before the connection broke. The prompt was read either way; of the
 * reply, what was generated. Anthropic counts one token as soon as a stream begins.
 */
export function billOf({ usage }: Reply, { share, format }: { share: number; format: FormatName }): Billed {
  const least = format === "anthropic" ? 1 : 0;
  return {
    input_tokens: usage.input_tokens,
    cached_input_tokens: usage.cached_input_tokens,
    cache_write_tokens: usage.cache_write_tokens,
    output_tokens: share >= 1 ? usage.output_tokens : Math.max(least, Math.floor(usage.output_tokens * share)),
  };
}

export interface Cache {
  use(request: WireRequest, asked: { readonly format: FormatName; readonly model: string }): CachedInput;
}

const NO_CACHE: Cache = { use: () => ({ input_tokens: 0, read_tokens: 0, write_tokens: 0 }) };

/** The cache of one vendor. */
export function createCache(kind: CacheKind): Cache {
  if (kind === undefined) return NO_CACHE;
  const marked = createMarkedCache();
  const [step_tokens, minimum_tokens] = kind === "marked" ? [128, 1024] : kind;
  const prefix = createPrefixCache({ step_tokens, minimum_tokens });
  return {
    use({ body }, { format, model }) {
      // Behind a router, only Claude is cached by marks.
      const isMarked = kind === "marked" && (format === "anthropic" || /claude/i.test(model));
      if (!isMarked) return prefix.use(promptText(body), model);
      return marked.use(format === "anthropic" ? anthropicBlocks(body) : chatBlocks(body), model);
    },
  };
}

/** The input of a request as it is billed. `tokens`: what the request counts for as it came. */
export function inputUsage({ read_tokens, write_tokens }: CachedInput, tokens: number): InputUsage {
  const cached_input_tokens = Math.min(tokens, read_tokens);
  return {
    input_tokens: tokens,
    cached_input_tokens,
    cache_write_tokens: Math.min(tokens - cached_input_tokens, write_tokens),
  };
}
