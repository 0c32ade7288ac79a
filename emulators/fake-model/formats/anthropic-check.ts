/** What Anthropic's messages reject. */
import { createHash } from "node:crypto";
import { isRecord, list, record, text, unknownKeys, words } from "./format.ts";
import type { Json, Problem } from "./format.ts";
import { metaProblems } from "./json-schema.ts";

const FIELDS = words(
  `model messages max_tokens container context_management mcp_servers metadata output_config output_format service_tier
   stop_sequences stream system temperature thinking tool_choice tools top_k top_p cache_control speed inference_geo`,
);

// oxfmt-ignore
const BLOCK_FIELDS: Readonly<Record<string, readonly string[]>> = {
  text:              words("type text cache_control citations"),
  image:             words("type source cache_control"),
  document:          words("type source title context citations cache_control"),
  thinking:          words("type thinking signature"),
  redacted_thinking: words("type data"),
  tool_use:          words("type id name input cache_control caller"),
  tool_result:       words("type tool_use_id content is_error cache_control"),
};

const TOOL_FIELDS = words(
  "type name description input_schema cache_control strict eager_input_streaming defer_loading allowed_callers input_examples",
);

/** The signature of issued thinking: altered or invented thinking is rejected. */
export function signatureOf(thinking: string): string {
  return `Er${createHash("sha256").update(thinking).digest("base64")}`;
}

/** `own`: Anthropic's server. Other servers with this format ignore unknown fields, signatures and cache marks. */
export function* anthropicProblems(body: Json, { own = true }: { readonly own?: boolean } = {}): Generator<Problem> {
  for (const name of ["model", "messages", "max_tokens"])
    if (body[name] === undefined) yield problem(`${name}: Field required`);
  if (own) {
    for (const key of unknownKeys(body, FIELDS)) yield problem(`${key}: Extra inputs are not permitted`);
    yield* markProblems(body);
    yield* prefillProblems(body);
  }
  const most = body["max_tokens"];
  if (typeof most !== "number" || !Number.isInteger(most)) yield problem("max_tokens: Input should be a valid integer");
  else if (most < 1) yield problem("max_tokens: Input should be greater than or equal to 1");
  const thinking = record(body["thinking"]);
  const budget = thinking["budget_tokens"];
  if (typeof budget === "number" && typeof most === "number" && most <= budget)
    yield problem(
      "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size",
    );
  yield* systemProblems(body["system"]);
  const { messages } = body;
  if (!Array.isArray(messages)) yield problem("messages: Input should be a valid list");
  if (list(messages).length === 0) yield problem("messages: at least one message is required");
  for (const [i, message] of list(messages).entries())
    yield* messageProblems(message, { i, isLast: i === list(messages).length - 1, own });
  if (record(list(messages)[0])["role"] !== "user") yield problem('messages: first message must use the "user" role');
  const all = list(messages).map((each) => record(each));
  yield* pairProblems(all);
  if (thinking["type"] === "enabled") yield* thinkingProblems(all);
  yield* toolProblems(body);
}

function problem(message: string): Problem {
  return { message };
}

function* systemProblems(system: unknown): Generator<Problem> {
  for (const [i, block] of list(system).entries())
    if (text(record(block)["text"]) === "") yield problem(`system.${i}: text content blocks must be non-empty`);
}

interface MessagePlace {
  readonly i: number;
  readonly isLast: boolean;
  readonly own: boolean;
}

function* messageProblems(message: unknown, { i, isLast, own }: MessagePlace): Generator<Problem> {
  if (!isRecord(message)) {
    yield problem(`messages.${i}: Input should be a valid dictionary or object to extract fields from`);
    return;
  }
  for (const key of unknownKeys(message, ["role", "content"]))
    yield problem(`messages.${i}.${key}: Extra inputs are not permitted`);
  const { role, content } = message;
  if (role === "system")
    yield problem(
      'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
    );
  if (role !== "user" && role !== "assistant")
    yield problem(`messages: Unexpected role "${String(role)}". Allowed roles are "user" or "assistant"`);
  if (content === undefined || content === null) yield problem(`messages.${i}.content: Field required`);
  if (content === "" || (Array.isArray(content) && content.length === 0))
    if (role === "user") yield problem(`messages.${i}: user messages must have non-empty content`);
    else if (!isLast)
      yield problem(
        `messages.${i}: all messages must have non-empty content except for the optional final assistant message`,
      );
  for (const [k, block] of list(content).entries())
    yield* blockProblems(record(block), `messages.${i}.content.${k}`, own);
}

/** At most four cache marks, none on thinking, none on an empty text. */
function* markProblems({ system, tools, messages }: Json): Generator<Problem> {
  const said = list(messages).flatMap((each) => list(record(each)["content"]));
  const marked = [...list(tools), ...list(system), ...said].filter((each) => isRecord(record(each)["cache_control"]));
  if (marked.length > 4)
    yield problem(`A maximum of 4 blocks with cache_control may be provided. Found ${marked.length}.`);
  for (const block of marked)
    if (record(block)["type"] === "text" && text(record(block)["text"]) === "")
      yield problem("cache_control cannot be set for empty text blocks");
}

/** From 4.6 on, a reply cannot be prefilled; before that, not with a trailing space. */
function* prefillProblems({ model, messages }: Json): Generator<Problem> {
  const last = record(list(messages).at(-1));
  if (last["role"] !== "assistant") return;
  if (/^claude-(?:opus|sonnet|haiku)-(?:4-[6-9]|[5-9])/.test(text(model)))
    yield problem(
      "This model does not support assistant message prefill. The conversation must end with a user message.",
    );
  const { content } = last;
  if (/\s$/.test(typeof content === "string" ? content : text(record(list(content).at(-1))["text"])))
    yield problem("messages: final assistant content cannot end with trailing whitespace");
}

function* blockProblems(block: Json, at: string, own: boolean): Generator<Problem> {
  const type = text(block["type"]);
  const fields = BLOCK_FIELDS[type];
  if (fields === undefined) {
    const known = Object.keys(BLOCK_FIELDS).map((each) => `'${each}'`);
    yield problem(
      `${at}: Input tag '${type}' found using 'type' does not match any of the expected tags: ${known.join(", ")}`,
    );
    return;
  }
  if (own)
    for (const key of unknownKeys(block, fields)) yield problem(`${at}.${type}.${key}: Extra inputs are not permitted`);
  if (type === "text" && text(block["text"]) === "") yield problem("messages: text content blocks must be non-empty");
  else if (type === "text" && text(block["text"]).trim() === "")
    yield problem("messages: text content blocks must contain non-whitespace text");
  if (own && type === "thinking" && block["signature"] !== signatureOf(text(block["thinking"])))
    yield problem(`${at}: Invalid \`signature\` in \`thinking\` block`);
  if (type === "tool_use") {
    for (const name of ["id", "name", "input"])
      if (block[name] === undefined) yield problem(`${at}.tool_use.${name}: Field required`);
    if (own && !/^[a-zA-Z0-9_-]+$/.test(text(block["id"])))
      yield problem(`${at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
    if (!isRecord(block["input"])) yield problem(`${at}.tool_use.input: Input should be a valid dictionary`);
  }
  if (type === "tool_result") {
    if (text(block["tool_use_id"]) === "") yield problem(`${at}.tool_result.tool_use_id: Field required`);
    if (block["is_error"] === true && list(block["content"]).length === 0 && text(block["content"]) === "")
      yield problem(`${at}.tool_result: content cannot be empty if \`is_error\` is true`);
  }
}

interface Placed {
  readonly block: Json;
  readonly at: string;
}

/** The blocks of each turn: adjacent messages of one role are one turn. */
function turnsOf(messages: readonly Json[]): { role: string; first: number; blocks: Placed[] }[] {
  const turns: { role: string; first: number; blocks: Placed[] }[] = [];
  for (const [i, message] of messages.entries()) {
    const role = text(message["role"]);
    const content = message["content"];
    const blocks = (typeof content === "string" ? [{ type: "text", text: content }] : list(content)).map(
      (block, k) => ({
        block: record(block),
        at: `messages.${i}.content.${k}`,
      }),
    );
    const last = turns.at(-1);
    if (last?.role === role) last.blocks.push(...blocks);
    else turns.push({ role, first: i, blocks });
  }
  return turns;
}

/** Each `tool_use` has its `tool_result` at the start of the next turn; other results are rejected. */
function* pairProblems(messages: readonly Json[]): Generator<Problem> {
  const seen = new Set<string>();
  let open: readonly string[] = [];
  for (const { role, first, blocks } of [...turnsOf(messages), { role: "", first: messages.length, blocks: [] }]) {
    const results: string[] = [];
    const atHead = blocks.findIndex(({ block }) => block["type"] !== "tool_result");
    for (const [k, { block, at }] of blocks.entries()) {
      if (block["type"] !== "tool_result") continue;
      const id = text(block["tool_use_id"]);
      if (!open.includes(id))
        yield problem(
          `${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
        );
      if (results.includes(id))
        yield problem(
          `${at}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
        );
      if (atHead === -1 || k < atHead) results.push(id);
    }
    const left = open.filter((id) => !results.includes(id));
    if (left.length > 0)
      yield problem(
        `messages.${first - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${left.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      );
    const asked = role === "assistant" ? blocks.filter(({ block }) => block["type"] === "tool_use") : [];
    for (const { block, at } of asked) {
      if (seen.has(text(block["id"]))) yield problem(`${at}: \`tool_use\` ids must be unique`);
      seen.add(text(block["id"]));
    }
    open = asked.map(({ block }) => text(block["id"]));
  }
}

/** With thinking on, the thinking before calls whose results follow must be present. */
function* thinkingProblems(messages: readonly Json[]): Generator<Problem> {
  const last = turnsOf(messages).findLast(({ role }) => role === "assistant");
  const first = last?.blocks[0];
  if (first === undefined || last?.blocks.every(({ block }) => block["type"] !== "tool_use")) return;
  const type = text(first.block["type"]);
  if (type !== "thinking" && type !== "redacted_thinking")
    yield problem(
      `${first.at}.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`,
    );
}

function* toolProblems({ tools, tool_choice }: Json): Generator<Problem> {
  if (tools === undefined) {
    if (tool_choice !== undefined)
      yield problem("tool_choice: tool_choice may only be specified while providing tools.");
    return;
  }
  const names = new Set<string>();
  for (const [i, each] of list(tools).entries()) {
    const tool = record(each);
    if (tool["type"] !== undefined && tool["type"] !== "custom") continue; // run by the server itself
    const at = `tools.${i}.custom`;
    for (const key of unknownKeys(tool, TOOL_FIELDS)) yield problem(`${at}.${key}: Extra inputs are not permitted`);
    const name = text(tool["name"]);
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(name))
      yield problem(`${at}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
    if (names.has(name)) yield problem("tools: Tool names must be unique.");
    names.add(name);
    yield* schemaProblems(tool["input_schema"], at);
  }
}

function* schemaProblems(schema: unknown, at: string): Generator<Problem> {
  if (!isRecord(schema)) {
    yield problem(`${at}.input_schema: Field required`);
    return;
  }
  if (schema["type"] === undefined) yield problem(`${at}.input_schema.type: Field required`);
  if (schema["type"] !== "object") yield problem(`${at}.input_schema.type: Input should be 'object'`);
  if (["oneOf", "allOf", "anyOf"].some((key) => key in schema))
    yield problem(`${at}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`);
  for (const _ of metaProblems(schema))
    yield problem(
      `${at}.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). Learn more about tool use at https://docs.claude.com/en/docs/tool-use.`,
    );
}
