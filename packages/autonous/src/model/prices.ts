import type { ModelUsage } from "./provider.ts";

interface Price {
  readonly input_per_million: number;
  readonly output_per_million: number;
  /** Without it, what was read from the provider's cache costs as much as any other input. */
  readonly cached_input_per_million?: number;
  /** Likewise for what was put into it. */
  readonly cache_write_per_million?: number;
}

/** Prices of a configuration: by the model as `AUTONOUS_MODEL` names it, or by what follows its provider. */
type Prices = Readonly<Record<string, Price>>;

/** What a round cost; undefined where the table does not know the model. */
export function costOf(model: string, usage: ModelUsage, table: Prices): number | undefined {
  const row = priceOf(model, table);
  if (row === undefined) return undefined;
  const cached = Math.min(usage.cached_input_tokens ?? 0, usage.input_tokens);
  const written = Math.min(usage.cache_write_tokens ?? 0, usage.input_tokens - cached);
  const whole =
    (usage.input_tokens - cached - written) * row.input_per_million +
    cached * (row.cached_input_per_million ?? row.input_per_million) +
    written * (row.cache_write_per_million ?? row.input_per_million) +
    usage.output_tokens * row.output_per_million;
  return whole / 1_000_000;
}

/** `anthropic:claude-x`, else `claude-x`; of `compatible:m@http://…` also `m`. */
function priceOf(model: string, table: Prices): Prices[string] | undefined {
  const short = model.replace(/^[a-z-]+:/, "");
  const bare = short.replace(/@https?:\/\/[^@]*$/, "");
  const name = [model, short, bare].find((each) => Object.hasOwn(table, each));
  return name === undefined ? undefined : table[name];
}
