/** What OpenAI's Responses API rejects. */
import { isRecord, list, record, text, unknownKeys, words } from "./format.ts";
import type { Json, Problem } from "./format.ts";
import { emptyArray, idProblems, missing, openaiToolProblems, unknownParameter, wrongType } from "./openai-errors.ts";

const FIELDS = words(
  `background conversation include input instructions max_output_tokens max_tool_calls metadata model parallel_tool_calls
   previous_response_id prompt prompt_cache_key prompt_cache_retention reasoning safety_identifier service_tier store
   stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user context_management`,
);

// oxfmt-ignore
const ITEM_FIELDS: Readonly<Record<string, readonly string[]>> = {
  message:              words("type id role content status phase"),
  function_call:        words("type id call_id name arguments status namespace"),
  function_call_output: words("type id call_id output status"),
  reasoning:            words("type id summary content encrypted_content status"),
  item_reference:       words("type id"),
};

const ROLES = words("user assistant system developer");

/** Prefix of encrypted items that were issued: others are rejected. */
export const ENCRYPTED = "gAAAA";

export interface Stored {
  /** The item that was issued under an id, if it was stored. */
  item(id: string): Json | undefined;
}

export function* responsesProblems(body: Json, stored: Stored): Generator<Problem> {
  for (const key of unknownKeys(body, FIELDS)) yield unknownParameter(key);
  if (typeof body["model"] !== "string" || body["model"] === "") yield missing("model");
  const { input, max_output_tokens: most } = body;
  if (typeof most === "number" && most < 16)
    yield {
      message: `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got ${most} instead.`,
      param: "max_output_tokens",
      code: "integer_below_min_value",
    };
  if (input === undefined) yield missing("input");
  if (typeof input !== "string") {
    if (!Array.isArray(input)) yield wrongType("input", "one of an array of objects or a string", input);
    if (list(input).length === 0) yield emptyArray("input");
    for (const [i, item] of list(input).entries()) yield* itemProblems(item, i, stored);
    yield* pairProblems(resolved(body, stored));
  }
  yield* openaiToolProblems(body, { nested: false });
}

/** The items of a request, with referenced items resolved. */
export function resolved({ input }: Json, stored: Stored): Json[] {
  if (typeof input === "string") return [{ role: "user", content: input }];
  return list(input).map((each) => {
    const item = record(each);
    return item["type"] === "item_reference" ? (stored.item(text(item["id"])) ?? item) : item;
  });
}

function kindOf(item: Json): string {
  return text(item["type"] ?? (item["role"] === undefined ? "" : "message"));
}

function* itemProblems(item: unknown, i: number, stored: Stored): Generator<Problem> {
  if (!isRecord(item)) {
    yield wrongType(`input[${i}]`, "an object", item);
    return;
  }
  const kind = kindOf(item);
  const fields = ITEM_FIELDS[kind];
  if (fields === undefined) {
    yield {
      message: `Invalid value: '${kind}'. Supported values are: ${Object.keys(ITEM_FIELDS)
        .map((each) => `'${each}'`)
        .join(", ")}.`,
      param: `input[${i}].type`,
      code: "invalid_value",
    };
    return;
  }
  for (const key of unknownKeys(item, fields)) yield unknownParameter(`input[${i}].${key}`);
  if (kind === "message") yield* messageProblems(item, i);
  if (kind === "function_call" || kind === "function_call_output")
    yield* idProblems(item["call_id"], `input[${i}].call_id`, 64);
  if (kind === "function_call")
    for (const name of ["name", "arguments"]) if (typeof item[name] !== "string") yield missing(`input[${i}].${name}`);
  if (kind === "function_call_output" && item["output"] === undefined) yield missing(`input[${i}].output`);
  if (kind === "item_reference" && stored.item(text(item["id"])) === undefined)
    yield {
      status: 404,
      message: `Item with id '${text(item["id"])}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
      param: "input",
    };
  if (kind === "reasoning") yield* reasoningProblems(item, i, stored);
}

function* messageProblems(item: Json, i: number): Generator<Problem> {
  if (!ROLES.includes(text(item["role"])))
    yield {
      message: `Invalid value: '${String(item["role"])}'. Supported values are: 'assistant', 'system', 'developer', and 'user'.`,
      param: `input[${i}]`,
      code: "invalid_value",
    };
  const { content } = item;
  if (content === undefined || content === null) yield missing(`input[${i}].content`);
  if (Array.isArray(content) && content.length === 0) yield emptyArray(`input[${i}].content`);
  const wanted =
    item["role"] === "assistant" ? ["output_text", "refusal"] : ["input_text", "input_image", "input_file"];
  for (const [k, part] of list(content).entries()) {
    const type = text(record(part)["type"]);
    if (!wanted.includes(type))
      yield {
        message: `Invalid value: '${type}'. Supported values are: ${wanted.map((each) => `'${each}'`).join(", ")}.`,
        param: `input[${i}].content[${k}]`,
        code: "invalid_value",
      };
  }
}

function* reasoningProblems(item: Json, i: number, stored: Stored): Generator<Problem> {
  const id = text(item["id"]);
  const sealed = item["encrypted_content"];
  if (item["summary"] === undefined) yield missing(`input[${i}].summary`);
  if (typeof sealed === "string" && !sealed.startsWith(ENCRYPTED))
    yield {
      message: `The encrypted content for item ${id} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
      code: "invalid_encrypted_content",
    };
  if (typeof sealed !== "string" && stored.item(id) === undefined)
    yield {
      status: 404,
      message: `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
      param: "input",
    };
}

function* pairProblems(items: readonly Json[]): Generator<Problem> {
  const asked = new Set<string>();
  const answered = new Set<string>();
  for (const [i, item] of items.entries()) {
    const kind = kindOf(item);
    const id = text(item["call_id"]);
    if (kind === "function_call") {
      if (asked.has(id)) yield { message: `Duplicate function call with call_id ${id}.`, param: "input" };
      asked.add(id);
    }
    if (kind === "function_call_output") {
      if (!asked.has(id))
        yield { message: `No tool call found for function call output with call_id ${id}.`, param: "input" };
      if (answered.has(id)) yield { message: `Duplicate function call output with call_id ${id}.`, param: "input" };
      answered.add(id);
    }
    const next = items[i + 1];
    if (
      kind === "reasoning" &&
      (next === undefined || (next["role"] !== "assistant" && !/^(?:function_call|reasoning)$/.test(kindOf(next))))
    )
      yield {
        message: `Item '${text(item["id"])}' of type 'reasoning' was provided without its required following item.`,
        param: "input",
      };
  }
  for (const id of asked)
    if (!answered.has(id)) yield { message: `No tool output found for function call ${id}.`, param: "input" };
}
