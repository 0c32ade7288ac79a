/** Validates JSON Schemas by the rules of the servers that accept them. */
import { isRecord, list, record, text, unknownKeys, words } from "./format.ts";
import type { Json } from "./format.ts";

const TYPES = words("string number integer boolean object array null");
const MAPS = words("properties $defs definitions patternProperties");
const LISTS = words("anyOf oneOf allOf prefixItems");
const SINGLE = words("items not additionalProperties propertyNames contains if then else");

export interface SchemaProblem {
  /** Its path. */
  readonly place: readonly string[];
  readonly problem: string;
}

interface Child {
  readonly place: readonly string[];
  readonly schema: unknown;
}

function childrenOf(schema: Json): Child[] {
  const children: Child[] = [];
  for (const key of MAPS)
    for (const [name, child] of Object.entries(record(schema[key])))
      children.push({ place: [key, name], schema: child });
  for (const key of LISTS)
    list(schema[key]).forEach((child, i) => children.push({ place: [key, String(i)], schema: child }));
  for (const key of SINGLE) if (isRecord(schema[key])) children.push({ place: [key], schema: schema[key] });
  return children;
}

/** Each schema inside a schema, itself first. Real servers limit the depth too. */
function* walk(
  schema: unknown,
  place: readonly string[] = [],
): Generator<{ place: readonly string[]; schema: unknown }> {
  yield { place, schema };
  if (!isRecord(schema) || place.length > 64) return;
  for (const child of childrenOf(schema)) yield* walk(child.schema, [...place, ...child.place]);
}

/** By the meta-schema: what no draft allows. */
export function* metaProblems(root: unknown): Generator<SchemaProblem> {
  for (const { place, schema } of walk(root)) {
    if (typeof schema === "boolean") continue;
    if (!isRecord(schema)) {
      yield { place, problem: `${JSON.stringify(schema)} is not of type 'object', 'boolean'` };
      continue;
    }
    for (const problem of keywordProblems(schema)) yield { place, problem };
  }
}

function* keywordProblems(schema: Json): Generator<string> {
  const { type, required, pattern } = schema;
  const types = type === undefined ? [] : Array.isArray(type) ? type : [type];
  for (const each of types)
    if (typeof each !== "string" || !TYPES.includes(each))
      yield `${JSON.stringify(each)} is not valid under any of the given schemas`;
  if (required !== undefined && (!Array.isArray(required) || required.some((each) => typeof each !== "string")))
    yield `${JSON.stringify(required)} is not of type 'array'`;
  for (const key of MAPS)
    if (schema[key] !== undefined && !isRecord(schema[key]))
      yield `${JSON.stringify(schema[key])} is not of type 'object'`;
  for (const key of ["enum", ...LISTS])
    if (schema[key] !== undefined && list(schema[key]).length === 0) yield `'${key}' should be a non-empty array`;
  if (pattern !== undefined && !isPattern(pattern)) yield `${JSON.stringify(pattern)} is not a 'regex'`;
}

function isPattern(value: unknown): boolean {
  try {
    return typeof value === "string" && new RegExp(value, "u") instanceof RegExp;
  } catch {
    return false; // it does not compile: that is the result
  }
}

/** OpenAI's strict mode: every object closed, every property required, nothing that cannot be sampled. */
export function* strictProblems(root: unknown): Generator<SchemaProblem> {
  const banned = words(
    "oneOf allOf not if then else patternProperties propertyNames dependentRequired unevaluatedProperties",
  );
  for (const { place, schema } of walk(root)) {
    if (!isRecord(schema)) continue;
    for (const key of banned) if (key in schema) yield { place, problem: `'${key}' is not permitted` };
    if (schema["type"] !== "object" && !isRecord(schema["properties"])) continue;
    if (schema["additionalProperties"] !== false)
      yield { place, problem: "'additionalProperties' is required to be supplied and to be false" };
    const missing = Object.keys(record(schema["properties"])).find((name) => !list(schema["required"]).includes(name));
    if (missing !== undefined)
      yield {
        place,
        problem: `'required' is required to be supplied and to be an array including every key in properties. Missing '${missing}'`,
      };
  }
}

/** The subset of OpenAPI's schema that Gemini's `parameters` accepts. */
const GEMINI_FIELDS = words(
  `type format title description nullable enum maxItems minItems properties required minProperties maxProperties
   minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum`,
);

export interface GeminiProblem {
  readonly message: string;
  /** Set if the payload itself cannot be parsed. */
  readonly field?: string;
}

/** `at` is the path as the server writes it; its two kinds of messages use different forms. */
export function* geminiProblems(schema: unknown, at: string): Generator<GeminiProblem> {
  if (!isRecord(schema)) {
    yield {
      message: `Invalid value at '${at}' (type.googleapis.com/google.ai.generativelanguage.v1beta.Schema)`,
      field: at,
    };
    return;
  }
  for (const key of unknownKeys(schema, GEMINI_FIELDS))
    yield { message: `Invalid JSON payload received. Unknown name "${key}" at '${at}': Cannot find field.`, field: at };
  if (Array.isArray(schema["type"]))
    yield {
      message: `Invalid JSON payload received. Unknown name "type" at '${at}': Proto field is not repeating, cannot start list.`,
      field: at,
    };
  yield* geminiRules(schema, `GenerateContentRequest.${at}`);
  let number = 0;
  for (const child of Object.values(record(schema["properties"])))
    yield* geminiProblems(child, `${at}.properties[${number++}].value`);
  if (schema["items"] !== undefined) yield* geminiProblems(schema["items"], `${at}.items`);
  const variants = list(schema["anyOf"]);
  for (let i = 0; i < variants.length; i++) yield* geminiProblems(variants[i], `${at}.any_of[${i}]`);
}

function* geminiRules(schema: Json, at: string): Generator<GeminiProblem> {
  const type = text(schema["type"]).toLowerCase();
  if (schema["enum"] !== undefined && type !== "string")
    yield { message: `* ${at}.enum: only allowed for STRING type\n` };
  if (type === "array" && schema["items"] === undefined) yield { message: `* ${at}.items: missing field.\n` };
  if (type === "object" && Object.keys(record(schema["properties"])).length === 0)
    yield { message: `* ${at}.properties: should be non-empty for OBJECT type\n` };
  const properties = record(schema["properties"]);
  const undefinedAt = list(schema["required"]).findIndex((name) => !(String(name) in properties));
  if (undefinedAt !== -1) yield { message: `* ${at}.required[${undefinedAt}]: property is not defined\n` };
}
