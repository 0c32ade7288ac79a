import { readArguments } from "./json-reply.ts";
import { objectOf } from "../json-values.ts";

type JsonObject = Readonly<Record<string, unknown>>;

interface FittedArguments {
  readonly arguments: JsonObject;
  readonly repaired: readonly string[];
}

interface FitState {
  readonly value: unknown;
  readonly done: string;
}

/**
 * Converts arguments to the types in the schema if the model wrote them as text and the conversion is unambiguous:
 * `"10"` for a number, `"true"` for a boolean, JSON in a string for a list or object, one string for a list of strings;
 * `null` for an optional argument is removed. All other values are left unchanged for the gate to check.
 */
export function fitArguments(args: JsonObject, schema: JsonObject): FittedArguments {
  const repaired: string[] = [];
  const fitted = fitObject(args, schema, { path: "", repaired });
  return { arguments: repaired.length === 0 ? args : fitted, repaired };
}

interface Place {
  readonly path: string;
  readonly repaired: string[];
}

function fitObject(value: JsonObject, schema: JsonObject, { path, repaired }: Place): JsonObject {
  const properties = objectOf(schema["properties"]) ?? {};
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
  const kept: [string, unknown][] = [];
  for (const [key, inner] of Object.entries(value)) {
    const wanted = Object.hasOwn(properties, key) ? objectOf(properties[key]) : undefined;
    const place = { path: path === "" ? key : `${path}.${key}`, repaired };
    if (wanted === undefined) kept.push([key, inner]);
    else if (inner === null && !required.has(key) && !accepts(wanted, null))
      repaired.push(`${place.path}: null for an optional argument`);
    else kept.push([key, fitValue(inner, wanted, place)]);
  }
  return Object.fromEntries(kept);
}

function fitValue(value: unknown, schema: JsonObject, place: Place): unknown {
  const fitting = accepts(schema, value) || typeof value !== "string" ? undefined : fitString(value, schema);
  if (fitting !== undefined) place.repaired.push(`${place.path}: ${fitting.done}`);
  const fitted = fitting === undefined ? value : fitting.value;
  const items = objectOf(schema["items"]);
  if (Array.isArray(fitted) && items !== undefined)
    return fitted.map((each, index) => fitValue(each, items, { ...place, path: `${place.path}[${index}]` }));
  const inner = objectOf(fitted);
  return inner === undefined ? fitted : fitObject(inner, schema, place);
}

/** The only possible conversion of a text to one of the wanted types. */
function fitString(text: string, schema: JsonObject): FitState | undefined {
  const types = typesOf(schema) ?? new Set();
  const readings = [
    types.has("number") || types.has("integer") ? numberIn(text, types) : undefined,
    types.has("boolean") ? BOOLEANS.get(text.trim()) : undefined,
    types.has("array") || types.has("object") ? structureIn(text, types) : undefined,
    types.has("array") ? listOf(text, schema) : undefined,
  ].filter((each) => each !== undefined);
  return readings.length === 1 ? readings[0] : undefined;
}

const NUMBER = /^-?(?:0|[1-9]\d{0,15})(?:\.\d{1,15})?$/;

/** A number that would lose digits is left alone. */
function numberIn(text: string, types: ReadonlySet<unknown>): FitState | undefined {
  const written = text.trim();
  const value = Number(written);
  if (!NUMBER.test(written) || String(value) !== written) return undefined;
  if (!types.has("number") && !Number.isSafeInteger(value)) return undefined;
  return { value, done: "number in quotes" };
}

const BOOLEANS: ReadonlyMap<string, FitState> = new Map(
  [true, false].flatMap((value) => {
    const fitting = { value, done: "boolean in quotes" };
    return [`${value}`, value ? "True" : "False"].map((text) => [text, fitting] as const);
  }),
);

/** Parsed as strictly as arguments, as the only member of an object. */
function structureIn(text: string, types: ReadonlySet<unknown>): FitState | undefined {
  const written = text.trim();
  if (!written.startsWith("[") && !written.startsWith("{")) return undefined;
  const read = readArguments(`{"value":${written}}`);
  if (!("arguments" in read) || Object.keys(read.arguments).length !== 1) return undefined;
  const { value } = read.arguments;
  return types.has(typeOf(value)) ? { value, done: "JSON in a string" } : undefined;
}

/** One entry, unless the text may be several entries in one string. */
function listOf(text: string, { items }: JsonObject): FitState | undefined {
  const isOne = text.trim() !== "" && !/[,;\n[\]]/.test(text);
  const wanted = objectOf(items);
  if (!isOne || wanted === undefined || typesOf(wanted)?.has("string") !== true) return undefined;
  return { value: [text], done: "one string for a list" };
}

function accepts(schema: JsonObject, value: unknown): boolean {
  const types = typesOf(schema);
  if (types === undefined) return true;
  const type = typeOf(value);
  return types.has(type) || (type === "integer" && types.has("number"));
}

/** The types that a schema accepts; undefined if it does not say, or uses keywords that are not supported here. */
function typesOf(schema: JsonObject): ReadonlySet<unknown> | undefined {
  const { type, anyOf, oneOf, enum: values } = schema;
  if (typeof type === "string") return new Set([type]);
  if (Array.isArray(type)) return new Set(type);
  if (Array.isArray(values)) return new Set(values.map(typeOf));
  if (Object.hasOwn(schema, "const")) return new Set([typeOf(schema["const"])]);
  const branches = Array.isArray(anyOf) ? anyOf : oneOf;
  if (!Array.isArray(branches)) return undefined;
  const each = branches.map((branch) => typesOf(objectOf(branch) ?? {}));
  if (each.some((types) => types === undefined)) return undefined;
  return new Set(each.flatMap((types) => [...(types ?? [])]));
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}
