import type { Price } from "./prices.ts";

/** Price in US dollars per million tokens. */
interface ListPrice {
  readonly input: number;
  readonly output: number;
  /** Cache reads. Omitted: unknown, counted as other input. */
  readonly cached?: number;
  /** Cache writes, for the shortest lifetime offered. */
  readonly written?: number;
  /** For requests with more input tokens than this. `price` omitted: unknown. */
  readonly long?: { readonly above: number; readonly price?: Omit<ListPrice, "long" | "until"> };
  /** The last day of this price; `afterwards` applies after it. */
  readonly until?: { readonly day: string; readonly afterwards: Omit<ListPrice, "long" | "until"> };
}

interface ListedProvider {
  /** The day on which these prices were current. */
  readonly as_of: string;
  readonly source: string;
  /** As `AUTONOUS_MODEL` names it. */
  readonly kinds: readonly string[];
  readonly models: Readonly<Record<string, ListPrice>>;
}

const OPUS = { input: 5, output: 25, cached: 0.5, written: 6.25 };
const SONNET_4 = { input: 3, output: 15, cached: 0.3, written: 3.75 };

/**
 * Prices of current models, standard tier. Models without a published price are not listed: their cost is unknown, not
 * 0. The user's table takes precedence.
 */
// oxfmt-ignore
export const LIST_PRICES: readonly ListedProvider[] = [
  {
    as_of: "2026-10-10", source: "https://platform.claude.com/docs/en/about-claude/pricing", kinds: ["anthropic"],
    models: {
      "claude-fable-5-1":  { input: 10,  output: 50,  cached: 0.25, written: 12.5 },
      "claude-fable-5":    { input: 10,  output: 50,  cached: 1,    written: 12.5 },
      "claude-opus-5-5":   { input: 4,   output: 20,  cached: 0.2,  written: 5 },
      "claude-opus-5":     OPUS,
      "claude-opus-4-8":   OPUS,
      "claude-opus-4-7":   OPUS,
      "claude-opus-4-6":   OPUS,
      "claude-opus-4-5":   OPUS,
      "claude-sonnet-5-5": { input: 2,   output: 10,  cached: 0.1,  written: 2.5 },
      "claude-sonnet-5":   { input: 2,   output: 10,  cached: 0.2,  written: 2.5 },
      "claude-sonnet-4-6": SONNET_4,
      "claude-sonnet-4-5": SONNET_4,
      "claude-haiku-5-5":  { input: 0.1, output: 0.5, cached: 0.01, written: 0.125, long: { above: 100_000, price: { input: 0.5, output: 2.5, cached: 0.05, written: 0.625 } } },
      "claude-haiku-4-5":  { input: 1,   output: 5,   cached: 0.1,  written: 1.25 },
    },
  },
  {
    as_of: "2026-10-27", source: "https://developers.openai.com/api/docs/pricing", kinds: ["openai", "openai-chat"],
    models: {
      "gpt-6.1-sol":   { input: 2,   output: 10,  cached: 0.1,  written: 2.5,   long: { above: 272_000 } },
      "gpt-6.1-terra": { input: 1,   output: 5,   cached: 0.05, written: 1.25,  long: { above: 272_000, price: { input: 2, output: 7.5, cached: 0.1 } } },
      "gpt-6-astra":   { input: 10,  output: 50,  cached: 1,                    long: { above: 272_000 } },
      "gpt-6-sol":     { input: 2,   output: 10,  cached: 0.2,  written: 2.5,   long: { above: 272_000, price: { input: 4, output: 15, cached: 0.4, written: 5 } } },
      "gpt-6-luna":    { input: 0.1, output: 0.5, cached: 0.01, written: 0.125, long: { above: 272_000, price: { input: 0.2, output: 0.75, cached: 0.02, written: 0.25 } } },
      "gpt-5.6-terra": { input: 2,   output: 12,  cached: 0.2,                  long: { above: 272_000 } },
      "gpt-5.6-luna":  { input: 0.2, output: 1.2, cached: 0.02,                 long: { above: 272_000 } },
    },
  },
  {
    as_of: "2026-10-07", source: "https://ai.google.dev/gemini-api/docs/pricing", kinds: ["google"],
    models: {
      "gemini-3.8-flash":       { input: 0.75, output: 3.75, cached: 0.075, until: { day: "2026-12-31", afterwards: { input: 1.5, output: 7.5 } } },
      "gemini-3.5-flash":       { input: 1.5,  output: 9 },
      "gemini-3.5-flash-lite":  { input: 0.3,  output: 2.5 },
      "gemini-3.1-pro-preview": { input: 2,    output: 12, long: { above: 200_000, price: { input: 4, output: 18 } } },
    },
  },
];

/** The list price for a request of that size on that day. */
export interface ListedPrice {
  /** Undefined: the price for requests of this size is unknown. */
  readonly price: Price | undefined;
  readonly as_of: string;
}

interface Occasion {
  readonly input_tokens: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Undefined if the model is not on the list. Self-hosted servers never are, whatever their models are called. */
export function listPriceOf(model: string, { input_tokens, now }: Occasion): ListedPrice | undefined {
  const at = model.indexOf(":");
  const [kind, name] = [model.slice(0, at), model.slice(at + 1)];
  const provider = LIST_PRICES.find(({ kinds }) => kinds.includes(kind));
  if (provider === undefined) return undefined;
  // `claude-haiku-4-5-20251001` and `gpt-6-sol-2026-09-22` are dated versions of a listed model.
  const row = rowOf(provider, name) ?? rowOf(provider, name.replace(/-(?:\d{8}|\d{4}-\d{2}-\d{2})$/, ""));
  if (row === undefined) return undefined;
  const { long, until } = row;
  const isOver = until !== undefined && new Date(now).toISOString().slice(0, 10) > until.day;
  const { as_of } = provider;
  if (long !== undefined && input_tokens > long.above) return { price: long.price && fullPrice(long.price), as_of };
  return { price: fullPrice(isOver ? until.afterwards : row), as_of };
}

function rowOf({ models }: ListedProvider, name: string): ListPrice | undefined {
  return Object.hasOwn(models, name) ? models[name] : undefined;
}

function fullPrice({ input, output, cached, written }: Omit<ListPrice, "long" | "until">): Price {
  return {
    input_per_million: input,
    output_per_million: output,
    ...(cached === undefined ? {} : { cached_input_per_million: cached }),
    ...(written === undefined ? {} : { cache_write_per_million: written }),
  };
}
