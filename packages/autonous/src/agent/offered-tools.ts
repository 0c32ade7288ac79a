import { isToolSearch } from "@autonous/runtime/internal";
import type { ToolInfo } from "@autonous/runtime";
import type { ModelTool } from "../model/provider.ts";

/** How much the tools may take of the first request: with the system text and a provider's own marks it stays below 8 KB. */
const BUDGET_BYTES = 6_750;

export interface OfferedTools {
  /** With their schemas, in every request. */
  readonly offered: readonly ModelTool[];
  /** The names of those that have to be looked for first. */
  readonly deferred: readonly string[];
}

interface Choice {
  /** What searches have found, in that order. */
  readonly found: Iterable<string>;
  /** To be offered from the start, whatever they take. */
  readonly first: readonly string[];
  readonly budget_bytes?: number;
}

/**
 * The tools that a model is sent: in the order in which they were registered, as far as the budget goes; the others are
 * found by the tool that searches. What was found is added at the end, so that what a provider caches stays as it is.
 */
export function chooseTools(
  tools: readonly ToolInfo[],
  { found, first, budget_bytes = BUDGET_BYTES }: Choice,
): OfferedTools {
  const others = tools.filter((tool) => !isToolSearch(tool));
  const search = tools.find(isToolSearch);
  const all = fitting(others, search === undefined ? Number.POSITIVE_INFINITY : budget_bytes);
  if (search === undefined || all.length === others.length) return { offered: all, deferred: [] };
  const searching = compactTool(search);
  const fits = new Set(fitting(others, budget_bytes - sizeOf(searching), first).map(({ name }) => name));
  const kept = others.filter(({ name }) => fits.has(name) || first.includes(name)).map(compactTool);
  const deferred = others.filter(({ name }) => !fits.has(name) && !first.includes(name));
  const added = [...found].flatMap((name) => deferred.filter((tool) => tool.name === name).map(compactTool));
  return { offered: [...kept, searching, ...added], deferred: deferred.map(({ name }) => name) };
}

/**
 * As many as fit, in their order. Of those behind them no schema is made, and a smaller one among them would not be more
 * useful. What is `free` takes nothing.
 */
function fitting(tools: readonly ToolInfo[], budget_bytes: number, free: readonly string[] = []): readonly ModelTool[] {
  const kept: ModelTool[] = [];
  let left = budget_bytes;
  for (const tool of tools) {
    if (free.includes(tool.name)) continue;
    const compact = compactTool(tool);
    left -= sizeOf(compact);
    if (left < 0) return kept;
    kept.push(compact);
  }
  return kept;
}

const sizes = new WeakMap<object, number>();

/** Asked before every request, of the same tools. */
function sizeOf(tool: ModelTool): number {
  let size = sizes.get(tool.args_schema);
  if (size === undefined) sizes.set(tool.args_schema, (size = Buffer.byteLength(JSON.stringify(tool))));
  return size;
}

type Schema = ModelTool["args_schema"];

const compacted = new WeakMap<object, Schema>();

export function compactTool({ name, description, args_schema }: ModelTool): ModelTool {
  let schema = compacted.get(args_schema);
  if (schema === undefined) compacted.set(args_schema, (schema = compactSchema(args_schema, new Set())));
  return { name, description, args_schema: schema };
}

/** What a schema says to those who check it, and not to those who write arguments. They are checked by the whole one. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  "$schema",
  "title",
  "default",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "pattern",
]);
/** Below these stand names that somebody chose, which may be called like a keyword. */
const NAMED: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);
/** Below these stand values, which are no schemas. */
const VALUES: ReadonlySet<string> = new Set(["enum", "const", "examples", "required"]);

/** Arguments that only spare callers of other tools an error. They are taken, and not offered. */
const ALIAS = /^Alias of /;

/** A description that has stood before in the same tool is not said again. */
function compactSchema(schema: Schema, said: Set<unknown>): Schema {
  const rows = Object.entries(schema).filter(
    ([key, value]) => !LEFT_OUT.has(key) && !isNoBound(key, value) && !isSaidByValues(key, schema),
  );
  const kept = rows.filter(([key, value]) => key !== "description" || !said.has(value));
  said.add(schema["description"]);
  return Object.fromEntries(
    kept.map(([key, value]) => [key, VALUES.has(key) ? value : compactBelow(value, NAMED.has(key), said)]),
  );
}

function compactBelow(value: unknown, isNamed: boolean, said: Set<unknown>): unknown {
  if (Array.isArray(value)) return value.map((each) => compactBelow(each, false, said));
  if (typeof value !== "object" || value === null) return value;
  if (!isNamed) return compactSchema(value as Schema, said);
  const offered = Object.entries(value).filter(([, inner]) => !ALIAS.test(String(Object(inner)["description"])));
  return Object.fromEntries(offered.map(([name, inner]) => [name, compactBelow(inner, false, said)]));
}

/** Of a list of texts to choose from, the values say what type they are. */
function isSaidByValues(key: string, schema: Schema): boolean {
  return key === "type" && Array.isArray(schema["enum"]) && schema["enum"].every((each) => typeof each === "string");
}

/** The largest whole number that there is bounds nothing, and that counts begin at 0 or 1 goes without saying. */
function isNoBound(key: string, value: unknown): boolean {
  if (key === "additionalProperties") return value === false; // one too many is refused with its name
  if (key === "minimum") return value === 0 || value === 1 || value === Number.MIN_SAFE_INTEGER;
  return key === "maximum" && value === Number.MAX_SAFE_INTEGER;
}
