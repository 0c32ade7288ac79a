import { expect, test } from "vitest";
import { LIST_PRICES, listPriceOf } from "./list-prices.ts";
import { costOf, priceSource, sourceText } from "./prices.ts";

const NOW = Date.parse("2026-11-16T12:00:00Z");
const MILLION = { input_tokens: 1_000_000, output_tokens: 1_000_000 };
const SMALL = { input_tokens: 100_000, output_tokens: 100_000 };

// oxfmt-ignore
const COSTS = [
  { title: "a current model",                      model: "anthropic:claude-sonnet-5-5",          usage: MILLION, cost: 12 },
  { title: "the same at a fixed day",              model: "anthropic:claude-haiku-4-5-20251001",  usage: MILLION, cost: 6 },
  { title: "a fixed day in the other form",        model: "openai:gpt-6-luna-2026-09-22",         usage: SMALL,   cost: 0.06 },
  { title: "by chat completions",                  model: "openai-chat:gpt-6-sol",                usage: SMALL,   cost: 1.2 },
  { title: "a prompt at the border",               model: "anthropic:claude-haiku-5-5",           usage: SMALL,   cost: 0.06 },
  { title: "a long prompt",                        model: "anthropic:claude-haiku-5-5",           usage: { input_tokens: 100_001, output_tokens: 0 }, cost: 0.050_000_5 },
  { title: "a long prompt whose price is unknown", model: "openai:gpt-6.1-sol",                   usage: MILLION, cost: undefined },
  { title: "cached input",                         model: "anthropic:claude-opus-5-5",            usage: { input_tokens: 1_000_000, output_tokens: 0, cached_input_tokens: 1_000_000 }, cost: 0.2 },
  { title: "cached input without a price",         model: "google:gemini-3.5-flash",              usage: { input_tokens: 1_000_000, output_tokens: 0, cached_input_tokens: 1_000_000 }, cost: 1.5 },
  { title: "a server of one's own",                model: "compatible:gpt-6-luna@http://127.0.0.1:1/v1", usage: SMALL, cost: undefined },
  { title: "another provider's model",             model: "anthropic:gpt-6-luna",                 usage: SMALL,   cost: undefined },
  { title: "a model that is not listed",           model: "openai:gpt-6-luna-mini",               usage: SMALL,   cost: undefined },
  { title: "a name of every object",               model: "openai:constructor",                   usage: SMALL,   cost: undefined },
  { title: "a script",                             model: "script:claude-opus-5",                 usage: SMALL,   cost: undefined },
  { title: "no model",                             model: "direct",                               usage: SMALL,   cost: undefined },
] as const;

for (const { title, model, usage, cost } of COSTS)
  test(`the list of prices: ${title}`, () => {
    const is = costOf(model, usage, {}, NOW);
    if (cost === undefined) expect(is).toBeUndefined();
    else expect(is).toBeCloseTo(cost, 9);
  });

test("the user's table comes before the list, by either name of the model", () => {
  const own = { input_per_million: 7, output_per_million: 0 };
  for (const name of ["claude-opus-5", "anthropic:claude-opus-5"]) {
    expect(costOf("anthropic:claude-opus-5", MILLION, { [name]: own }, NOW)).toBe(7);
    expect(priceSource("anthropic:claude-opus-5", { [name]: own }, NOW)).toEqual({ from: "table" });
  }
  expect(sourceText(priceSource("anthropic:claude-opus-5", {}, NOW))).toBe("list price of 2026-10-10, in US dollars");
  expect(sourceText(priceSource("compatible:m@http://h/v1", {}, NOW))).toContain("cost unknown");
});

test("a price that ends on a day is another one on the day after", () => {
  const price = (day: string) =>
    listPriceOf("google:gemini-3.8-flash", { input_tokens: 1, now: Date.parse(day) })?.price;
  expect(price("2026-12-31T23:59:59Z")).toMatchObject({ input_per_million: 0.75 });
  expect(price("2027-01-01T00:00:00Z")).toEqual({ input_per_million: 1.5, output_per_million: 7.5 });
});

test("every price is one: more than 0, cheaper from the cache, dearer out than in", () => {
  for (const { as_of, source, models } of LIST_PRICES) {
    expect(as_of).toMatch(/^2026-\d\d-\d\d$/);
    expect(source).toMatch(/^https:/);
    for (const row of Object.values(models))
      for (const { input, output, cached = input, written = input } of [
        row,
        ...(row.long?.price ? [row.long.price] : []),
      ])
        expect(cached > 0 && cached <= input && input <= written && input < output).toBe(true);
  }
});
