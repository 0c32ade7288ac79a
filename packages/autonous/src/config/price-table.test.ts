import { expect, test } from "vitest";
import { readPrices } from "./price-table.ts";

const PRICE = { input_per_million: 3, output_per_million: 15 };

test("prices are read per model name", () => {
  const prices = { "anthropic:m": PRICE, n: { ...PRICE, cached_input_per_million: 0 } };
  expect(readPrices(prices)).toEqual({ prices, problems: [] });
});

// oxfmt-ignore
const WRONG = [
  { title: "a list",              prices: [PRICE],                                    says: "has to be an object, with a price for each model" },
  { title: "a number",            prices: { m: 3 },                                   says: '"m" has to be an object' },
  { title: "half a price",        prices: { m: { input_per_million: 3 } },            says: "as output_per_million" },
  { title: "less than nothing",   prices: { m: { ...PRICE, input_per_million: -1 } }, says: "as input_per_million" },
  { title: "an unknown field",    prices: { m: { ...PRICE, per_call: 1 } },           says: 'has "per_call", which is not a field of a price' },
] as const;

for (const { title, prices, says } of WRONG) {
  test(`${title} is refused with a reason`, () => {
    const { prices: taken, problems } = readPrices(prices);
    expect(taken).toEqual({});
    expect(problems.join("; ")).toContain(says);
  });
}
