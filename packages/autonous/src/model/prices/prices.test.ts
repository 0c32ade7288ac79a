import { expect, test } from "vitest";
import { billedTokens, costOf } from "./prices.ts";

const TABLE = {
  "claude-x": {
    input_per_million: 3,
    output_per_million: 15,
    cached_input_per_million: 0.3,
    cache_write_per_million: 3.75,
  },
  "openai:gpt-x": { input_per_million: 2, output_per_million: 8 },
  "org/m@1": { input_per_million: 1, output_per_million: 1 },
};

// oxfmt-ignore
const COSTS = [
  { model: "anthropic:claude-x",                usage: { input_tokens: 1_000_000, output_tokens: 0 },                             cost: 3 },
  { model: "anthropic:claude-x",                usage: { input_tokens: 0, output_tokens: 1_000_000 },                             cost: 15 },
  { model: "anthropic:claude-x",                usage: { input_tokens: 1_000_000, output_tokens: 0, cached_input_tokens: 500_000 }, cost: 1.65 },
  { model: "anthropic:claude-x",                usage: { input_tokens: 10, output_tokens: 0, cached_input_tokens: 1_000_000 },    cost: 0.000_003 },
  { model: "anthropic:claude-x",                usage: { input_tokens: 1_000_000, output_tokens: 0, cache_write_tokens: 500_000 }, cost: 3.375 },
  { model: "anthropic:claude-x",                usage: { input_tokens: 1_000_000, output_tokens: 0, cached_input_tokens: 800_000, cache_write_tokens: 900_000 }, cost: 0.99 },
  { model: "openai:gpt-x",                      usage: { input_tokens: 1_000_000, output_tokens: 0, cache_write_tokens: 500_000 }, cost: 2 },
  { model: "openai:gpt-x",                      usage: { input_tokens: 500_000, output_tokens: 0, cached_input_tokens: 500_000 }, cost: 1 },
  { model: "openai-chat:gpt-x",                 usage: { input_tokens: 1, output_tokens: 1 },                                     cost: undefined },
  { model: "compatible:org/m@1@http://h:1/v1",  usage: { input_tokens: 1_000_000, output_tokens: 1_000_000 },                     cost: 2 },
  { model: "direct",                            usage: { input_tokens: 1, output_tokens: 1 },                                     cost: undefined },
  { model: "constructor",                       usage: { input_tokens: 1, output_tokens: 1 },                                     cost: undefined },
] as const;

for (const { model, usage, cost } of COSTS) {
  test(`${JSON.stringify(usage)} of ${model} cost ${cost ?? "an unknown amount"}`, () => {
    const is = costOf(model, usage, TABLE);
    if (cost === undefined) expect(is).toBeUndefined();
    else expect(is).toBeCloseTo(cost, 12);
  });
}

// oxfmt-ignore
const COUNTED = [
  { title: "all of it where nothing was cached",           model: "anthropic:claude-x",        usage: { input_tokens: 1000, output_tokens: 10 },                                                      tokens: 1010 },
  { title: "cache reads by the user's price",              model: "anthropic:claude-x",        usage: { input_tokens: 1000, output_tokens: 10, cached_input_tokens: 900 },                            tokens: 200 },
  { title: "cache writes in full",                         model: "anthropic:claude-x",        usage: { input_tokens: 1000, output_tokens: 10, cached_input_tokens: 500, cache_write_tokens: 500 },   tokens: 560 },
  { title: "cache reads by the list price",                model: "anthropic:claude-sonnet-5-5", usage: { input_tokens: 1000, output_tokens: 0, cached_input_tokens: 1000 },                          tokens: 50 },
  { title: "a tenth where the price has none for reads",   model: "openai:gpt-x",              usage: { input_tokens: 1000, output_tokens: 0, cached_input_tokens: 1000 },                            tokens: 100 },
  { title: "a tenth without a price",                       model: "compatible:m@http://h/v1",  usage: { input_tokens: 1000, output_tokens: 5, cached_input_tokens: 995 },                             tokens: 110 },
  { title: "no more than the input as cached",             model: "compatible:m@http://h/v1",  usage: { input_tokens: 10, output_tokens: 0, cached_input_tokens: 1_000_000 },                         tokens: 1 },
  { title: "reads that cost more than other input once",   model: "compatible:dear",           usage: { input_tokens: 1000, output_tokens: 0, cached_input_tokens: 1000 },                            tokens: 1000 },
  { title: "a tenth where all is free",                    model: "compatible:free",           usage: { input_tokens: 1000, output_tokens: 0, cached_input_tokens: 1000 },                            tokens: 100 },
] as const;

const MORE = {
  ...TABLE,
  dear: { input_per_million: 1, output_per_million: 1, cached_input_per_million: 2 },
  free: { input_per_million: 0, output_per_million: 0, cached_input_per_million: 0 },
};

for (const { title, model, usage, tokens } of COUNTED) {
  test(`against limits count: ${title}`, () => expect(billedTokens(model, usage, MORE)).toBe(tokens));
}
