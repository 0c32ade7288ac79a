/** OpenAI's errors, in both formats. */
import { isRecord, list, record, text, unknownKeys, words } from "./format.ts";
import type { Json, Problem, Refusal, RefusalTrouble } from "./format.ts";
import { metaProblems, strictProblems } from "./json-schema.ts";

type ErrorRow = readonly [status: number, type: string, message: string, code?: string | null, param?: string | null];

const INVALID = "invalid_request_error";

function rowOf(trouble: RefusalTrouble): ErrorRow {
  switch (trouble.kind) {
    case "no_key":
      return [401, INVALID, NO_KEY];
    case "wrong_key":
      return [401, INVALID, `Incorrect API key provided: ${masked(trouble.key)}. ${FIND_KEY}`, "invalid_api_key"];
    case "unknown_model":
      return [
        404,
        INVALID,
        `The model \`${trouble.model}\` does not exist or you do not have access to it.`,
        "model_not_found",
      ];
    case "too_large":
      return [413, INVALID, `Request body of ${trouble.bytes} bytes is over ${trouble.limit}`];
    case "too_long": {
      const message = `This model's maximum context length is ${trouble.limit} tokens. However, your messages resulted in ${trouble.tokens} tokens. Please reduce the length of the messages.`;
      return [400, INVALID, message, "context_length_exceeded", "messages"];
    }
    case "broken_json":
      return [400, INVALID, "We could not parse the JSON body of your request."];
    case "unknown_path":
      return [404, INVALID, "Invalid URL"];
    case "rate_limited":
      return [429, "requests", "Rate limit reached for requests. Please try again later.", "rate_limit_exceeded"];
    case "server_error":
      return [500, "server_error", "The server had an error while processing your request. Sorry about that!"];
    case "unavailable":
      return [503, "service_unavailable_error", "That model is currently overloaded with other requests."];
    case "overloaded":
      return [529, "overloaded_error", "Overloaded", "overloaded"];
    case "no_credit": {
      const message =
        "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.";
      return [429, "insufficient_quota", message, "insufficient_quota"];
    }
    case "invalid": {
      const { status = 400, message, param = null, code = null } = trouble.problem;
      return [status, INVALID, message, code, param];
    }
  }
}

const NO_KEY =
  "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).";
const FIND_KEY = "You can find your API key at https://platform.openai.com/account/api-keys.";

function masked(key: string): string {
  return key.length <= 8 ? "*".repeat(key.length) : `${key.slice(0, 4)}${"*".repeat(key.length - 8)}${key.slice(-4)}`;
}

export function openaiRefusal(trouble: RefusalTrouble): Refusal {
  const [status, type, message, code = null, param = null] = rowOf(trouble);
  return { status, body: { error: { message, type, param, code } } };
}

export function missing(param: string): Problem {
  return { message: `Missing required parameter: '${param}'.`, param, code: "missing_required_parameter" };
}

export function unknownParameter(param: string): Problem {
  return { message: `Unknown parameter: '${param}'.`, param, code: "unknown_parameter" };
}

export function emptyArray(param: string): Problem {
  return {
    message: `Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
    param,
    code: "empty_array",
  };
}

export function wrongType(param: string, expected: string, value: unknown): Problem {
  const got = value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`;
  return {
    message: `Invalid type for '${param}': expected ${expected}, but got ${got} instead.`,
    param,
    code: "invalid_type",
  };
}

/** The id of a call. */
export function* idProblems(id: unknown, param: string, most: number): Generator<Problem> {
  if (id === undefined || id === null) yield missing(param);
  else if (typeof id !== "string") yield wrongType(param, "a string", id);
  else if (id === "")
    yield {
      message: `Invalid '${param}': empty string. Expected a string with minimum length 1, but got an empty string instead.`,
      param,
      code: "empty_string",
    };
  else if (id.length > most) yield tooLong(param, most, id.length);
}

function tooLong(param: string, most: number, length: number): Problem {
  return {
    message: `Invalid '${param}': string too long. Expected a string with maximum length ${most}, but got a string with length ${length} instead.`,
    param,
    code: "string_above_max_length",
  };
}

const TOOL_FIELDS = { nested: words("type function"), flat: words("type name description parameters strict") };

/** `nested`: as in chat completions, each tool's function in its own object. */
export function* openaiToolProblems(body: Json, { nested }: { readonly nested: boolean }): Generator<Problem> {
  const { tools } = body;
  if (tools === undefined) {
    for (const name of ["tool_choice", "parallel_tool_calls"])
      if (body[name] !== undefined)
        yield {
          message: `Invalid value for '${name}': '${name}' is only allowed when 'tools' are specified.`,
          param: name,
        };
    return;
  }
  if (!Array.isArray(tools)) yield wrongType("tools", "an array of objects", tools);
  if (nested && list(tools).length === 0) yield emptyArray("tools");
  for (const [i, each] of list(tools).entries()) yield* toolProblems(record(each), `tools[${i}]`, nested);
}

function* toolProblems(tool: Json, at: string, nested: boolean): Generator<Problem> {
  if (tool["type"] === undefined) yield missing(`${at}.type`);
  if (tool["type"] !== "function") return;
  for (const key of unknownKeys(tool, nested ? TOOL_FIELDS.nested : TOOL_FIELDS.flat))
    yield unknownParameter(`${at}.${key}`);
  const body = nested ? tool["function"] : tool;
  const place = nested ? `${at}.function` : at;
  if (!isRecord(body)) {
    yield missing(place);
    return;
  }
  const name = body["name"];
  yield* idProblems(name, `${place}.name`, 64);
  if (!/^[a-zA-Z0-9_-]+$/.test(text(name)))
    yield {
      message: `Invalid '${place}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
      param: `${place}.name`,
      code: "invalid_value",
    };
  yield* parameterProblems(body, place);
}

function* parameterProblems(body: Json, place: string): Generator<Problem> {
  const { name, parameters, strict } = body;
  if (parameters === undefined || parameters === null) return;
  const invalid = (reason: string): Problem => ({
    message: `Invalid schema for function '${String(name)}': ${reason}.`,
    param: `${place}.parameters`,
    code: "invalid_function_parameters",
  });
  const type = record(parameters)["type"];
  if (type !== "object")
    yield invalid(
      `schema must be a JSON Schema of 'type: "object"', got 'type: "${typeof type === "string" ? type : "None"}"'`,
    );
  for (const { place: at, problem } of metaProblems(parameters)) yield invalid(`In context=${context(at)}, ${problem}`);
  if (strict !== true) return;
  for (const { place: at, problem } of strictProblems(parameters))
    yield invalid(`In context=${context(at)}, ${problem}`);
}

/** Formatted like a Python tuple: the messages come from Python. */
function context(place: readonly string[]): string {
  const inside = place.map((each) => `'${each}'`).join(", ");
  return place.length === 1 ? `(${inside},)` : `(${inside})`;
}
