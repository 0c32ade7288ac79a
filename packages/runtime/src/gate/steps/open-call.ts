import { LONGEST_NAME, makeInputSchema } from "../../protocol/call.ts";
import type { ToolCallInput, ToolCallRequest } from "../../protocol/call.ts";
import { boundList, boundText } from "../../protocol/bounds.ts";
import { ToolError } from "../../protocol/errors.ts";
import { makeId, makeTraceId } from "../../protocol/ids.ts";

const MAX_FIELDS = 5;
const FIELD_CHARACTERS = 100;

/** A request as it came in, before step 1. */
export interface IncomingCall {
  readonly request: ToolCallRequest;
  /** The caller chose the `tool_call_id`, so it may be a repeated one. */
  readonly is_id_given?: boolean;
  /** Set if the input is not a valid request. It is recorded like any other refusal. */
  readonly refusal?: ToolError;
}

/**
 * Fills in the defaults of a request and copies its arguments, so that the caller cannot change them afterwards. Never
 * throws.
 */
export function openCall(
  input: unknown,
  { run_id, now }: { readonly run_id: string; readonly now: number },
): IncomingCall {
  const made = { tool_call_id: makeId("call", now), trace_id: makeTraceId(), timestamp: now, run_id };
  try {
    return readCall(input, made);
  } catch (error) {
    // A getter or proxy of the caller threw: that is the caller's mistake.
    const why = boundText(error instanceof Error ? error.message : typeof error, FIELD_CHARACTERS).toWellFormed();
    const refusal = new ToolError("InvalidArguments", `Invalid request: it cannot be read (${why})`);
    return { request: { ...made, name: "(no name)", args: {} }, refusal };
  }
}

type DefaultIds = Pick<ToolCallRequest, "tool_call_id" | "trace_id" | "timestamp" | "run_id">;

function readCall(input: unknown, made: DefaultIds): IncomingCall {
  const parsed = isPlain(input) ? { success: true as const, data: input } : inputSchema().safeParse(input);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = boundText(issue?.path.map(String).join(".") ?? "", FIELD_CHARACTERS);
    const problem =
      issue?.code === "unrecognized_keys"
        ? `"${boundList(issue.keys, MAX_FIELDS, FIELD_CHARACTERS).join('", "')}" is not a field of a request`
        : issue?.message;
    const refusal = new ToolError(
      "InvalidArguments",
      `Invalid request: ${field === "" ? "" : `"${field}" `}${problem}`,
      { field },
    );
    const kept = salvage(input);
    const is_id_given = kept.tool_call_id !== undefined;
    return { request: { ...made, ...kept, name: nameOf(input), args: {} }, refusal, is_id_given };
  }
  const { args, ...given } = parsed.data;
  const named = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const request = { ...made, ...named, args: {} } as ToolCallRequest;
  try {
    const is_id_given = given.tool_call_id !== undefined;
    return { request: { ...request, args: copyPlainObject(args ?? {}) }, is_id_given };
  } catch (error) {
    if (error instanceof ToolError) return { request, refusal: error, is_id_given: given.tool_call_id !== undefined };
    throw error;
  }
}

/** Most requests have only a name and arguments, and need no schema validation. */
function isPlain(input: unknown): input is ToolCallInput {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return false;
  const { name } = input as { readonly name?: unknown };
  if (typeof name !== "string" || name === "" || name.length > LONGEST_NAME) return false;
  return Object.keys(input).every((key) => key === "name" || key === "args");
}

let schema: ReturnType<typeof makeInputSchema> | undefined;

/** Built on first use. */
function inputSchema(): ReturnType<typeof makeInputSchema> {
  return (schema ??= makeInputSchema());
}

const KEPT = ["tool_call_id", "trace_id", "task_id", "parent_id"] as const;

/** The valid parts of an invalid request, so that its refusal is recorded in the right place. */
function salvage(input: unknown): Partial<ToolCallRequest> {
  const given = Object(input) as Readonly<Record<string, unknown>>;
  const right = KEPT.filter(
    (field) => given[field] !== undefined && inputSchema().shape[field].safeParse(given[field]).success,
  );
  return Object.fromEntries(right.map((field) => [field, given[field]]));
}

function nameOf(input: unknown): string {
  const name = typeof input === "object" && input !== null && "name" in input ? input.name : undefined;
  return typeof name === "string" ? name.toWellFormed().slice(0, 200) : "(no name)";
}

const FORBIDDEN_KEYS = new Set(["__proto__", "constructor", "prototype"]);
const MAX_DEPTH = 64;
/** A sparse array can have any length. */
const MAX_ITEMS = 1_000_000;

/**
 * A deep copy of arguments with only plain data, so that nothing outside can change them after evaluation. Refuses,
 * naming the field: NUL, lone surrogates, prototype keys, values that JSON cannot represent, and too deep nesting.
 */
export function copyPlainObject(value: unknown): Readonly<Record<string, unknown>> {
  const copy = copyPlainData(value, "args", 0);
  if (typeof copy === "object" && copy !== null && !Array.isArray(copy)) return copy as Record<string, unknown>;
  throw new ToolError("InvalidArguments", "Invalid arguments: they must be an object", { field: "args" });
}

function copyPlainData(value: unknown, field: string, depth: number): unknown {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "string") return checkText(value, field);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw refuse(field, `is ${value}, which is not a valid JSON number`);
    return value;
  }
  if (typeof value !== "object") throw refuse(field, `is a ${typeof value}, which is not a valid JSON value`);
  if (depth > MAX_DEPTH) throw refuse(field, `is nested more than ${MAX_DEPTH} levels deep`);
  if (Array.isArray(value)) {
    if (value.length > MAX_ITEMS) throw refuse(field, `has ${value.length} items (at most ${MAX_ITEMS})`);
    return value.map((item, index) => copyPlainData(item, `${field}[${index}]`, depth + 1));
  }
  return copyObject(value, field, depth);
}

function copyObject(value: object, field: string, depth: number): Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw refuse(field, "is not plain data");
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const inner = field === "args" ? key : `${field}.${key}`;
    if (FORBIDDEN_KEYS.has(key)) throw refuse(inner, "is a forbidden key (prototype pollution)");
    checkText(key, inner);
    const member = (value as Record<string, unknown>)[key];
    if (member !== undefined) copy[key] = copyPlainData(member, inner, depth + 1);
  }
  return copy;
}

function checkText(text: string, field: string): string {
  if (text.includes("\0")) throw refuse(field, "holds a NUL character");
  if (!text.isWellFormed()) throw refuse(field, "holds half of a surrogate pair");
  return text;
}

function refuse(field: string, why: string): ToolError {
  const shown = field.toWellFormed().replaceAll("\0", "\\0").slice(0, 200);
  return new ToolError("InvalidArguments", `Invalid arguments: "${shown}" ${why}`, { field: shown });
}
