/** What a model costs, for each million tokens, in the currency of whoever wrote it. */
interface Price {
  readonly input_per_million: number;
  readonly output_per_million: number;
  /** Of input that the provider had in its cache. */
  readonly cached_input_per_million?: number;
  /** Of input that the provider put into its cache. */
  readonly cache_write_per_million?: number;
}

/** By the model as `AUTONOUS_MODEL` names it, or by what follows its provider. */
export type PriceTable = Readonly<Record<string, Price>>;

/** What each price holds, and whether it has to. */
// oxfmt-ignore
const FIELDS = {
  input_per_million:        true,
  output_per_million:       true,
  cached_input_per_million: false,
  cache_write_per_million:  false,
} as const;
const MOST = 1_000_000;

/** `prices` of a configuration file, checked. Each problem begins with the part that it is about. */
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
    ...unknown.map((key) => `has ${JSON.stringify(key.slice(0, 80))}, which is no part of a price`),
    ...wrong.map(([field]) => `has to have a number from 0 to ${MOST} as ${field}`),
  ];
}

function isPrice(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value <= MOST;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The JSON Schema of it. */
export function makePriceSchema(): Readonly<Record<string, unknown>> {
  const amount = { type: "number", minimum: 0, maximum: MOST };
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
