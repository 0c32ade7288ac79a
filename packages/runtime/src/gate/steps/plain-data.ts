import { ToolError } from "../../protocol/errors.ts";

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
