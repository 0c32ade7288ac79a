type Schema = Readonly<Record<string, unknown>>;
type Check = (wanted: unknown, value: unknown, schema: Schema) => boolean;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const all = (schemas: unknown): readonly Schema[] => schemas as readonly Schema[];

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === "string",
  integer: Number.isInteger,
  number: (value) => typeof value === "number",
  boolean: (value) => typeof value === "boolean",
};

const nothing: Check = () => true;

/** The words of JSON Schema that ours are written in. Each speaks only of values of its own type, as the standard has it. */
const KEYWORDS: Readonly<Record<string, Check>> = {
  $schema: nothing,
  $id: nothing,
  title: nothing,
  description: nothing,
  default: nothing,
  type: (type, value) => TYPES[String(type)]?.(value) === true,
  const: (wanted, value) => wanted === value,
  enum: (wanted, value) => (wanted as readonly unknown[]).includes(value),
  minLength: (least, value) => typeof value !== "string" || value.length >= Number(least),
  pattern: (pattern, value) => typeof value !== "string" || new RegExp(String(pattern), "u").test(value),
  minimum: (least, value) => typeof value !== "number" || value >= Number(least),
  maximum: (most, value) => typeof value !== "number" || value <= Number(most),
  minItems: (least, value) => !Array.isArray(value) || value.length >= Number(least),
  maxItems: (most, value) => !Array.isArray(value) || value.length <= Number(most),
  items: (schema, value) => !Array.isArray(value) || value.every((each) => fitsSchema(each, schema as Schema)),
  required: (names, value) =>
    !isObject(value) || (names as readonly string[]).every((name) => Object.hasOwn(value, name)),
  properties: (schemas, value) =>
    !isObject(value) ||
    Object.entries(schemas as Readonly<Record<string, Schema>>).every(
      ([name, schema]) => !Object.hasOwn(value, name) || fitsSchema(value[name], schema),
    ),
  additionalProperties: (wanted, value, { properties = {} }) => {
    const others = isObject(value)
      ? Object.entries(value).filter(([name]) => !Object.hasOwn(properties as object, name))
      : [];
    if (wanted === false) return others.length === 0;
    if (!isObject(wanted)) throw new Error("What the other properties of an object may be is said by a schema here");
    return others.every(([, other]) => fitsSchema(other, wanted));
  },
  allOf: (schemas, value) => all(schemas).every((schema) => fitsSchema(value, schema)),
  anyOf: (schemas, value) => all(schemas).some((schema) => fitsSchema(value, schema)),
  oneOf: (schemas, value) => all(schemas).filter((schema) => fitsSchema(value, schema)).length === 1,
};

/** Whether a value fits a schema. Throws for a word that is not known here: what is not checked must not seem to be. */
export function fitsSchema(value: unknown, schema: Schema): boolean {
  return Object.entries(schema).every(([keyword, wanted]) => {
    const check = KEYWORDS[keyword];
    if (check === undefined) throw new Error(`The schema uses "${keyword}", which is not checked here`);
    return check(wanted, value, schema);
  });
}
