import { addOnce } from "./loose-literal.ts";
import { TextReader, Unreadable } from "./text-reader.ts";
import type { ReadJson } from "./text-reader.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** DeepSeek writes tags as `<｜DSML｜invoke …>`, others with a namespace: `<minimax:tool_call>`. */
export const PREFIX = String.raw`(?:[|｜]?DSML[|｜])?(?:[\w-]{1,20}:)?`;

/** `<function=read>`, `<invoke name="read">`, `<tool name="read">`. */
export const NAMED_TAG = new RegExp(
  String.raw`<${PREFIX}(function|invoke|tool)(?:=|\s{1,5}name\s{0,5}=\s{0,5})["']?([^\s"'<>]{1,200})["']?(?:\s[^<>\n]{0,100})?>`,
  "iy",
);
const PARAMETER = new RegExp(
  String.raw`<${PREFIX}(?:parameter|param|argument|arg)(?:=|\s{1,5}name\s{0,5}=\s{0,5})["']?([^\s"'<>]{1,200})["']?((?:\s[^<>\n]{0,100})?)>`,
  "iy",
);
/** A value may contain such a tag; the real end is followed by another tag or nothing. */
const PARAMETER_END = new RegExp(
  String.raw`</${PREFIX}(?:parameter|param|argument|arg)>(?=\s*(?:</?${PREFIX}(?:parameter|param|argument|arg|function|invoke|tool)|$))`,
  "gi",
);
const CALL_END = new RegExp(String.raw`</${PREFIX}(?:function|invoke|tool)>`, "gi");
const CALL_END_HERE = new RegExp(CALL_END.source, "iy");
const CHILD = /<([A-Za-z_][\w-]{0,60})>/y;

/** The schema of each argument. */
export type PropertiesOf = (name: string) => JsonObject | undefined;

export interface TagArguments {
  readonly input: string;
  readonly repaired: readonly string[];
}

/** The arguments of a tag that names its call: JSON, or one tag per argument. Starts after the opening tag. */
export function readTagArguments(reader: TextReader, properties: JsonObject | undefined): TagArguments {
  if (reader.space().startsWith("{")) {
    const { value, repaired } = reader.json();
    reader.space().take(CALL_END_HERE);
    return { input: JSON.stringify(value), repaired };
  }
  const entries = new Map<string, unknown>();
  for (;;) {
    reader.space();
    const named = reader.take(PARAMETER);
    const key = named?.[1] ?? childName(reader, properties);
    if (key === undefined) break;
    const isText = /\bstring\s*=\s*["']?true/i.test(named?.[2] ?? "");
    const text = named === undefined ? reader.until(`</${key}>`) : untilParameterEnd(reader);
    addOnce(entries, key, isText ? text : typed(text, propertyOf(properties, key)));
  }
  reader.take(CALL_END_HERE);
  return { input: JSON.stringify(Object.fromEntries(entries)), repaired: [] };
}

function childName(reader: TextReader, properties: JsonObject | undefined): string | undefined {
  const before = reader.at;
  const name = reader.take(CHILD)?.[1];
  if (name !== undefined && propertyOf(properties, name) !== undefined) return name;
  reader.at = before;
  return undefined;
}

function untilParameterEnd(reader: TextReader): string {
  const { text, at } = reader;
  const end = reader.search(PARAMETER_END);
  // Some models omit the end of the last argument.
  const last = end ?? reader.search(CALL_END);
  if (last === undefined) throw reader.cutOff();
  reader.at = last.index + (end?.[0].length ?? 0);
  return text.slice(at, last.index);
}

const KEY_OPEN = /<arg_key>/y;
const VALUE_OPEN = /\s*<arg_value>/y;

/** GLM: repeated `<arg_key>path</arg_key><arg_value>a.ts</arg_value>`. */
export function readKeyedArguments(reader: TextReader, properties: JsonObject | undefined): TagArguments | undefined {
  const entries = new Map<string, unknown>();
  while (reader.space().take(KEY_OPEN) !== undefined) {
    const key = reader.until("</arg_key>").trim();
    if (reader.take(VALUE_OPEN) === undefined) throw new Unreadable("an argument has no value");
    addOnce(entries, key, typed(reader.until("</arg_value>"), propertyOf(properties, key)));
  }
  return entries.size === 0 ? undefined : { input: JSON.stringify(Object.fromEntries(entries)), repaired: [] };
}

const NAME_TAG = /<(?:name|tool_name)>([^<>]{1,200})<\/(?:name|tool_name)>/y;
const ARGUMENTS_TAG = /<(arguments|parameters|input|args)>/y;

/** `<name>read</name><arguments>{…}</arguments>`. */
export function readNameTag(
  reader: TextReader,
  propertiesOf: PropertiesOf,
): (TagArguments & { readonly name: string }) | undefined {
  const name = reader.take(NAME_TAG)?.[1]?.trim();
  if (name === undefined) return undefined;
  const open = reader.space().take(ARGUMENTS_TAG)?.[1];
  if (open === undefined) return { name, input: "{}", repaired: [] };
  const args = readTagArguments(reader, propertiesOf(name));
  if (!reader.space().startsWith(`</${open}>`)) throw new Unreadable("its arguments cannot be read");
  reader.at += open.length + 3;
  return { name, ...args };
}

function propertyOf(properties: JsonObject | undefined, key: string): JsonObject | undefined {
  return properties !== undefined && Object.hasOwn(properties, key) ? Object(properties[key]) : undefined;
}

/**
 * Stays text if the schema accepts text or is unknown; otherwise it is parsed as JSON. Line breaks around it belong to
 * the tags.
 */
function typed(written: string, schema: JsonObject | undefined): unknown {
  const text = written.replace(/^\r?\n/, "").replace(/\r?\n$/, "");
  if (schema === undefined || takesText(schema)) return text;
  const value = readValue(text.trim());
  return value === undefined ? text : value.value;
}

function takesText(schema: JsonObject): boolean {
  const { type, enum: values, anyOf, oneOf } = schema;
  if (Array.isArray(values)) return values.some((each) => typeof each === "string");
  if (type !== undefined) return type === "string" || (Array.isArray(type) && type.includes("string"));
  const branches = Array.isArray(anyOf) ? anyOf : oneOf;
  return Array.isArray(branches) ? branches.some((each) => takesText(Object(each) as JsonObject)) : true;
}

const SCALARS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["true", true],
  ["True", true],
  ["false", false],
  ["False", false],
  ["null", null],
  ["None", null],
]);

function readValue(text: string): Pick<ReadJson, "value"> | undefined {
  if (SCALARS.has(text)) return { value: SCALARS.get(text) };
  if (!text.startsWith("{") && !text.startsWith("[")) return undefined; // numbers are converted later by the schema
  try {
    const reader = new TextReader(text);
    const { value } = reader.json();
    return reader.space().isAtEnd ? { value } : undefined;
  } catch (error) {
    if (error instanceof Unreadable) return undefined;
    throw error;
  }
}
