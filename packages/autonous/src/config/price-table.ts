/** The price of a model per million tokens, in the currency that the user chose. */
interface Price {
  readonly input_per_million: number;
  readonly output_per_million: number;
  /** For input read from the provider's cache. */
  readonly cached_input_per_million?: number;
  /** For input written to the provider's cache. */
  readonly cache_write_per_million?: number;
}

/** Keyed by model: as in `AUTONOUS_MODEL`, or without the provider. */
export type PriceTable = Readonly<Record<string, Price>>;

/** The fields of a price, and whether each is required. */
// oxfmt-ignore
const FIELDS = {
  input_per_million:        true,
  output_per_million:       true,
  cached_input_per_million: false,
  cache_write_per_million:  false,
} as const;
const MAX_PRICE = 1_000_000;

/** `prices` of a configuration file, checked. Each problem begins with the name of the affected part. */
export function readPrices(value: unknown): { readonly prices: PriceTable; readonly problems: readonly string[] } {
  if (!isRecord(value)) return { prices: {}, problems: ["prices: has to be an object, with a price for each model"] };
  const problems = Object.entries(value).flatMap(([model, price]) =>
    problemsOf(price).map((each) => `prices: "${model.slice(0, 80)}" ${each}`),
  );
  return { prices: problems.length === 0 ? (value as PriceTable) : {}, problems };
}

function problemsOf(price: unknown): readonly string[] {
  if (!isRecord(price)) return ["has to be an object"];
  const unknown = Object.keys(price).filter((key) => !Object.hasOwn(FIELDS, key));
  const wrong = Object.entries(FIELDS).filter(
    ([field, isNeeded]) => !isPrice(price[field]) && (isNeeded || price[field] !== undefined),
  );
  return [
    ...unknown.map((key) => `has ${JSON.stringify(key.slice(0, 80))}, which is not a field of a price`),
    ...wrong.map(([field]) => `has to have a number from 0 to ${MAX_PRICE} as ${field}`),
  ];
}

function isPrice(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value <= MAX_PRICE;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The JSON Schema of `prices`. */
export function makePriceSchema(): Readonly<Record<string, unknown>> {
  const amount = { type: "number", minimum: 0, maximum: MAX_PRICE };
  return {
    description:
      "What models cost, for each million tokens, by their names: max_cost_cents counts with it. From a project: no.",
    type: "object",
    additionalProperties: {
      type: "object",
      properties: Object.fromEntries(Object.keys(FIELDS).map((field) => [field, amount])),
      required: Object.entries(FIELDS).flatMap(([field, isNeeded]) => (isNeeded ? [field] : [])),
      additionalProperties: false,
    },
  };
}
