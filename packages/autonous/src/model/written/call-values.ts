import { objectOf } from "../json-values.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** A call as written. `input` is JSON text, as in native function calling. */
export interface WrittenCall {
  readonly name: string;
  readonly input: string;
  readonly repaired: readonly string[];
}

/** Keys that models use for the name and the arguments of a call. */
const NAMES = [
  "name",
  "tool",
  "tool_name",
  "toolName",
  "function",
  "function_name",
  "recipient_name",
  "action",
] as const;
// oxfmt-ignore
const ARGUMENTS = ["arguments", "parameters", "params", "input", "args", "action_input", "tool_input", "toolInput", "kwargs", "tool_args"] as const;
/** Other keys that may occur and are ignored. */
// oxfmt-ignore
const BESIDE: ReadonlySet<string> = new Set(["type", "id", "call_id", "tool_call_id", "tool_use_id", "index", "status", "thought", "thoughts", "reasoning", "reason", "explanation"]);
const WRAPPERS = ["function", "function_call", "tool_call", "tool_use"] as const;
const LISTS = ["tool_calls", "tool_uses", "function_calls", "calls"] as const;
const LIST_BESIDE: ReadonlySet<string> = new Set([...BESIDE, "final_answer", "content", "role", "text"]);

interface ReadOptions {
  /** A marker announces a call, so unusual forms are accepted. */
  readonly isMarked: boolean;
  readonly isOffered: (name: string) => boolean;
}

/** The calls in a JSON value; undefined if it is or contains anything else. */
export function callsOf(value: unknown, options: ReadOptions): readonly Omit<WrittenCall, "repaired">[] | undefined {
  if (Array.isArray(value)) {
    const each = value.map((entry) => (Array.isArray(entry) ? undefined : callsOf(entry, options)));
    return value.length > 0 && each.every((calls) => calls !== undefined) ? each.flat() : undefined;
  }
  const object = objectOf(value);
  if (object === undefined) return undefined;
  const list = LISTS.find((key) => Array.isArray(object[key]));
  if (list !== undefined) return hasOnly(object, [list], LIST_BESIDE) ? callsOf(object[list], options) : undefined;
  const wrapper = WRAPPERS.find((key) => objectOf(object[key]) !== undefined);
  if (wrapper !== undefined) return hasOnly(object, [wrapper], BESIDE) ? callsOf(object[wrapper], options) : undefined;
  const call = namedCall(object, options) ?? flatCall(object, options) ?? keyedCall(object, options);
  return call === undefined ? undefined : [call];
}

/** `{"name": "read", "arguments": {…}}`. */
function namedCall(object: JsonObject, { isMarked }: ReadOptions): Omit<WrittenCall, "repaired"> | undefined {
  const nameKey = NAMES.find((key) => typeof object[key] === "string");
  const argsKey = ARGUMENTS.find((key) => Object.hasOwn(object, key));
  if (nameKey === undefined) return undefined;
  const name = String(object[nameKey]);
  if (argsKey === undefined) return isMarked && hasOnly(object, [nameKey], BESIDE) ? { name, input: "{}" } : undefined;
  if (!hasOnly(object, [nameKey, argsKey], BESIDE)) return undefined;
  const args = object[argsKey];
  if (typeof args === "string") return isMarked || /^\s*[{"]/.test(args) ? { name, input: args } : undefined;
  if (args === null) return isMarked ? { name, input: "{}" } : undefined;
  return objectOf(args) === undefined ? undefined : { name, input: JSON.stringify(args) };
}

/** `{"tool": "read", "path": "a.ts"}`. An object that merely has a name is not a call, unless a marker announces it. */
function flatCall(object: JsonObject, { isMarked, isOffered }: ReadOptions): Omit<WrittenCall, "repaired"> | undefined {
  const nameKey = NAMES.find((key) => typeof object[key] === "string");
  if (nameKey === undefined || (nameKey === "name" && !isMarked)) return undefined;
  const name = String(object[nameKey]);
  const { [nameKey]: _name, ...args } = object;
  return isOffered(name) && Object.keys(args).length > 0 ? { name, input: JSON.stringify(args) } : undefined;
}

/** `{"read": {"path": "a.ts"}}`. */
function keyedCall(object: JsonObject, { isOffered }: ReadOptions): Omit<WrittenCall, "repaired"> | undefined {
  const [entry, ...more] = Object.entries(object);
  if (entry === undefined || more.length > 0 || !isOffered(entry[0])) return undefined;
  const args = objectOf(entry[1]);
  return args === undefined || Object.keys(args).length === 0
    ? undefined
    : { name: entry[0], input: JSON.stringify(args) };
}

function hasOnly(object: JsonObject, keys: readonly string[], beside: ReadonlySet<string>): boolean {
  return Object.keys(object).every((key) => keys.includes(key) || beside.has(key));
}
