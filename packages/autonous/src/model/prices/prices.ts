import { listPriceOf } from "./list-prices.ts";
import { findByModel } from "../vendors/model-settings.ts";
import type { ModelUsage } from "../provider.ts";

export interface Price {
  readonly input_per_million: number;
  readonly output_per_million: number;
  /** Default: cache reads cost as much as other input. */
  readonly cached_input_per_million?: number;
  /** Default: cache writes cost as much as other input. */
  readonly cache_write_per_million?: number;
}

/** Configured prices, by the model's name in `AUTONOUS_MODEL`, with or without the provider. */
type Prices = Readonly<Record<string, Price>>;

/** Source of a price: the user's table, or the built-in list with its date. */
export type PriceSource = { readonly from: "table" } | { readonly from: "list"; readonly as_of: string };

/** Cost of a round; undefined if neither the table nor the list has the model. */
export function costOf(model: string, usage: ModelUsage, table: Prices, now = Date.now()): number | undefined {
  const row = priceOf(model, usage, table, now);
  if (row === undefined) return undefined;
  const cached = cachedOf(usage);
  const written = Math.min(usage.cache_write_tokens ?? 0, usage.input_tokens - cached);
  const whole =
    (usage.input_tokens - cached - written) * row.input_per_million +
    cached * (row.cached_input_per_million ?? row.input_per_million) +
    written * (row.cache_write_per_million ?? row.input_per_million) +
    usage.output_tokens * row.output_per_million;
  return whole / 1_000_000;
}

/** The price of a request of that size. */
function priceOf(
  model: string,
  { input_tokens }: Pick<ModelUsage, "input_tokens">,
  table: Prices,
  now: number,
): Price | undefined {
  return findByModel(table, model) ?? listPriceOf(model, { input_tokens, now })?.price;
}

function cachedOf({ input_tokens, cached_input_tokens = 0 }: ModelUsage): number {
  return Math.min(cached_input_tokens, input_tokens);
}

/** Price of cache reads relative to other input, if unknown: a tenth at most providers. */
const CACHED_SHARE = 0.1;

/**
 * Tokens counted against `max_tokens` and quotas: all of them, but cache reads only by their relative price. Rounded up
 * to a whole number.
 */
export function billedTokens(model: string, usage: ModelUsage, table: Prices = {}, now = Date.now()): number {
  const { input_per_million = 0, cached_input_per_million } = priceOf(model, usage, table, now) ?? {};
  const isKnown = cached_input_per_million !== undefined && input_per_million > 0;
  const share = isKnown ? Math.min(1, cached_input_per_million / input_per_million) : CACHED_SHARE;
  const cached = cachedOf(usage);
  return Math.ceil(usage.input_tokens - cached + cached * share) + usage.output_tokens;
}

/** Undefined: the model has no price. */
export function priceSource(model: string, table: Prices, now = Date.now()): PriceSource | undefined {
  if (findByModel(table, model) !== undefined) return { from: "table" };
  const listed = listPriceOf(model, { input_tokens: 0, now });
  return listed && { from: "list", as_of: listed.as_of };
}

/** As text, such as `list price of 2026-10-10`. */
export function sourceText(source: PriceSource | undefined): string {
  if (source === undefined) return "cost unknown: no price; add one under prices in config.json";
  return source.from === "table" ? "price from your table" : `list price of ${source.as_of}, in US dollars`;
}
