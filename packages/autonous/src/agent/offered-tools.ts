import { isToolSearch } from "@autonous/runtime/internal";
import type { ToolInfo } from "@autonous/runtime";
import type { ModelTool } from "../model/provider.ts";

/** Budget for the tools in the first request: with the system text and a provider's own markup it stays below 8 KB. */
const BUDGET_BYTES = 6_750;

export interface OfferedTools {
  /** Sent with their schemas in every request. */
  readonly offered: readonly ModelTool[];
  /** Names of tools that must be searched for first. */
  readonly deferred: readonly string[];
}

interface Choice {
  /** Tools found by searches, in order. */
  readonly found: Iterable<string>;
  /** Always offered, whatever their size. */
  readonly first: readonly string[];
  readonly budget_bytes?: number;
}

/**
 * The tools sent to the model: in registration order within the budget; the others are found by the search tool. Found
 * tools are appended, so that the cached part of the request stays the same.
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
 * The tools that fit, in order; those in `free` are not counted. Stops at the first that does not fit: a smaller one
 * after it would not be more useful, and its schema need not be built.
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

/** Called before every request with the same tools. */
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

/** Keywords for validation that do not help to write arguments. Arguments are validated against the full schema. */
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
/** The keys below these are chosen by authors and may equal a keyword. */
const NAMED: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);
/** Below these are values, not schemas. */
const VALUES: ReadonlySet<string> = new Set(["enum", "const", "examples", "required"]);

/** Aliases that prevent errors of callers used to other tools. Accepted but not offered. */
const ALIAS = /^Alias of /;

/** A description is not repeated within a tool. */
function compactSchema(schema: Schema, seen: Set<unknown>): Schema {
  const rows = Object.entries(schema).filter(
    ([key, value]) => !LEFT_OUT.has(key) && !isRedundantBound(key, value) && !isImpliedByValues(key, schema),
  );
  const kept = rows.filter(([key, value]) => key !== "description" || !seen.has(value));
  seen.add(schema["description"]);
  return Object.fromEntries(
    kept.map(([key, value]) => [key, VALUES.has(key) ? value : compactBelow(value, NAMED.has(key), seen)]),
  );
}

function compactBelow(value: unknown, isNamed: boolean, seen: Set<unknown>): unknown {
  if (Array.isArray(value)) return value.map((each) => compactBelow(each, false, seen));
  if (typeof value !== "object" || value === null) return value;
  if (!isNamed) return compactSchema(value as Schema, seen);
  const offered = Object.entries(value).filter(([, inner]) => !ALIAS.test(String(Object(inner)["description"])));
  return Object.fromEntries(offered.map(([name, inner]) => [name, compactBelow(inner, false, seen)]));
}

/** In an enum of strings, the values already tell the type. */
function isImpliedByValues(key: string, schema: Schema): boolean {
  return key === "type" && Array.isArray(schema["enum"]) && schema["enum"].every((each) => typeof each === "string");
}

/** The largest safe integer does not limit anything, and counts obviously start at 0 or 1. */
function isRedundantBound(key: string, value: unknown): boolean {
  if (key === "additionalProperties") return value === false; // an unknown argument is refused by name anyway
  if (key === "minimum") return value === 0 || value === 1 || value === Number.MIN_SAFE_INTEGER;
  return key === "maximum" && value === Number.MAX_SAFE_INTEGER;
}
