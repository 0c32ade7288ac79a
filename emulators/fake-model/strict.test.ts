import { expect, onTestFinished, test } from "vitest";
import { startFakeModel } from "./server.ts";
import type { FakeModelOptions } from "./server.ts";

interface Body {
  [name: string]: unknown;
}

const SCHEMA = {
  type: "object",
  properties: { path: { type: "string" } },
  required: ["path"],
  additionalProperties: false,
};
const PLAIN_SCHEMA = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };

/** A valid request for each format: with a call and its result. */
const TAKEN = {
  chat: {
    path: "/v1/chat/completions",
    headers: { authorization: "Bearer right" },
    body: {
      model: "gpt-4.1",
      messages: [
        { role: "system", content: "Be brief" },
        { role: "user", content: "hello" },
        { role: "assistant", content: null, tool_calls: [chatCall("c1"), chatCall("c2")] },
        { role: "tool", tool_call_id: "c2", content: "b" },
        { role: "tool", tool_call_id: "c1", content: "a" },
      ],
      tools: [{ type: "function", function: { name: "read", description: "Reads", parameters: SCHEMA } }],
    },
  },
  responses: {
    path: "/v1/responses",
    headers: { authorization: "Bearer right" },
    body: {
      model: "gpt-5",
      input: [
        { role: "user", content: [{ type: "input_text", text: "hello" }] },
        { type: "function_call", call_id: "c1", name: "read", arguments: "{}" },
        { type: "function_call_output", call_id: "c1", output: "a" },
      ],
      tools: [{ type: "function", name: "read", description: "Reads", parameters: SCHEMA, strict: true }],
    },
  },
  anthropic: {
    path: "/v1/messages",
    headers: { "x-api-key": "right", "anthropic-version": "2023-06-01" },
    body: {
      model: "claude-sonnet-4-5",
      max_tokens: 1000,
      messages: [
        { role: "user", content: "hello" },
        { role: "assistant", content: [toolUse("t1"), toolUse("t2")] },
        { role: "user", content: [toolResult("t1"), toolResult("t2"), { type: "text", text: "go on" }] },
      ],
      tools: [{ name: "read", description: "Reads", input_schema: SCHEMA }],
    },
  },
  gemini: {
    path: "/v1beta/models/gemini-2.5-pro:generateContent",
    headers: { "x-goog-api-key": "right" },
    body: {
      contents: [
        { role: "user", parts: [{ text: "hello" }] },
        { role: "model", parts: [{ functionCall: { name: "read", args: {} } }] },
        { role: "user", parts: [{ functionResponse: { name: "read", response: { content: "a" } } }] },
      ],
      tools: [{ functionDeclarations: [{ name: "read", description: "Reads", parameters: PLAIN_SCHEMA }] }],
    },
  },
} as const;

function chatCall(id?: string): Body {
  return { ...(id === undefined ? {} : { id }), type: "function", function: { name: "read", arguments: "{}" } };
}

function toolUse(id: string): Body {
  return { type: "tool_use", id, name: "read", input: {} };
}

function toolResult(tool_use_id: string): Body {
  return { type: "tool_result", tool_use_id, content: "a" };
}

type FormatKey = keyof typeof TAKEN;

async function post(
  format: FormatKey,
  body: unknown,
  options: FakeModelOptions & { headers?: Body; path?: string } = {},
): Promise<{ status: number; body: Body; says: string }> {
  const server = await startFakeModel(options);
  onTestFinished(() => server.close());
  const { path, headers } = TAKEN[format];
  const response = await fetch(server.url + (options.path ?? path), {
    method: "POST",
    headers: { "content-type": "application/json", ...(options.headers ?? headers) } as Record<string, string>,
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const answer = (await response.json()) as Body & { error?: { message?: string } };
  return { status: response.status, body: answer, says: answer.error?.message ?? "" };
}

/** The body with one place changed: `messages.1.content`. */
function changed(format: FormatKey, place: string, value: unknown): Body {
  const body = structuredClone(TAKEN[format].body) as unknown as Body;
  const keys = place.split(".");
  let inside: Body = body;
  for (const key of keys.slice(0, -1)) inside = inside[key] as Body;
  const last = keys.at(-1) ?? "";
  if (value === undefined) delete inside[last];
  else inside[last] = value;
  return body;
}

for (const format of Object.keys(TAKEN) as FormatKey[]) {
  test(`${format}: what is right is taken`, async () => {
    expect(await post(format, TAKEN[format].body)).toMatchObject({ status: 200 });
  });
}

const USER = { role: "user", content: "hello" };
const CALLING = { role: "assistant", content: null, tool_calls: [chatCall("c1")] };
const IN_USER = { role: "user", content: [{ type: "input_text", text: "hello" }] };
const IN_CALL = { type: "function_call", call_id: "c1", name: "read", arguments: "{}" };
const IN_RESULT = { type: "function_call_output", call_id: "c1", output: "a" };
const SAID = { role: "user", parts: [{ text: "hello" }] };
const ASKED = { role: "model", parts: [{ functionCall: { name: "read", args: {} } }] };
const GIVEN = { role: "user", parts: [{ functionResponse: { name: "read", response: {} } }] };
const OPTIONAL = {
  type: "object",
  properties: { a: { type: "string" }, b: { type: "string" } },
  required: ["a"],
  additionalProperties: false,
};

// oxfmt-ignore
const REFUSED: readonly { format: FormatKey; title: string; place: string; value: unknown; status?: number; says: RegExp }[] = [
  { format: "chat", title: "no model",                     place: "model", value: undefined, says: /^you must provide a model parameter$/ },
  { format: "chat", title: "a field that it does not know", place: "top_k", value: 3, says: /^Unrecognized request argument supplied: top_k$/ },
  { format: "chat", title: "a field of a message that it does not know", place: "messages.2.reasoning_content", value: "x", says: /^Unknown parameter: 'messages\[2\]\.reasoning_content'/ },
  { format: "chat", title: "no messages",                  place: "messages", value: [], says: /^Invalid 'messages': empty array/ },
  { format: "chat", title: "a role that is none",          place: "messages.1.role", value: "human", says: /^Invalid value: 'human'\. Supported values are/ },
  { format: "chat", title: "a user who says nothing",      place: "messages.1.content", value: null, says: /^Invalid value for 'content': expected a string, got null/ },
  { format: "chat", title: "an answer that is nothing",    place: "messages", value: [USER, { role: "assistant", content: null }, USER], says: /^Invalid value for 'content'/ },
  { format: "chat", title: "content of no parts",          place: "messages.1.content", value: [], says: /^Invalid 'messages\[1\]\.content': empty array/ },
  { format: "chat", title: "a call without an id",         place: "messages.2.tool_calls.0", value: chatCall(), says: /^Missing required parameter: 'messages\[2\]\.tool_calls\[0\]\.id'/ },
  { format: "chat", title: "a call with an empty id",      place: "messages.2.tool_calls.0.id", value: "", says: /^Invalid 'messages\[2\]\.tool_calls\[0\]\.id': empty string/ },
  { format: "chat", title: "a call with a long id",        place: "messages.2.tool_calls.0.id", value: "c".repeat(41), says: /string too long\. Expected a string with maximum length 40/ },
  { format: "chat", title: "two calls with one id",        place: "messages.2.tool_calls.0.id", value: "c2", says: /^Duplicate value for 'id'/ },
  { format: "chat", title: "arguments that are an object", place: "messages.2.tool_calls.0.function.arguments", value: {}, says: /^Invalid type for 'messages\[2\]\.tool_calls\[0\]\.function\.arguments'/ },
  { format: "chat", title: "no calls in a list of them",   place: "messages.2.tool_calls", value: [], says: /tool_calls': empty array|^Invalid value for 'content'/ },
  { format: "chat", title: "a call without its result",    place: "messages", value: [USER, CALLING, USER], says: /did not have response messages: c1$/ },
  { format: "chat", title: "a call at the end",            place: "messages", value: [USER, CALLING], says: /did not have response messages: c1$/ },
  { format: "chat", title: "a result without its call",    place: "messages", value: [USER, { role: "tool", tool_call_id: "c9", content: "a" }], says: /^Invalid parameter: messages with role 'tool' must be a response/ },
  { format: "chat", title: "a result given twice",         place: "messages.4.tool_call_id", value: "c2", says: /^Duplicate value for 'tool_call_id' of 'c2' in message\[4\]/ },
  { format: "chat", title: "no tools in a list of them",   place: "tools", value: [], says: /^Invalid 'tools': empty array/ },
  { format: "chat", title: "a choice of no tools",         place: "tools", value: undefined, status: 200, says: /^$/ },
  { format: "chat", title: "a name with a dot",            place: "tools.0.function.name", value: "fs.read", says: /string does not match pattern/ },
  { format: "chat", title: "a schema not of an object",    place: "tools.0.function.parameters", value: { type: "string" }, says: /^Invalid schema for function 'read': schema must be a JSON Schema of 'type: "object"', got 'type: "string"'/ },
  { format: "chat", title: "a schema with a type that is none", place: "tools.0.function.parameters.properties.path.type", value: "text", says: /In context=\('properties', 'path'\), "text" is not valid/ },
  { format: "chat", title: "a schema that is open, in strict mode", place: "tools.0.function", value: { name: "read", strict: true, parameters: PLAIN_SCHEMA }, says: /In context=\(\), 'additionalProperties' is required to be supplied and to be false/ },
  { format: "chat", title: "options of a stream that is none", place: "stream_options", value: { include_usage: true }, says: /only allowed when 'stream' is enabled/ },

  { format: "responses", title: "a field that it does not know", place: "messages", value: [], says: /^Unknown parameter: 'messages'/ },
  { format: "responses", title: "no input",                  place: "input", value: undefined, says: /^Missing required parameter: 'input'/ },
  { format: "responses", title: "a field of an item that it does not know", place: "input.1.arg", value: 1, says: /^Unknown parameter: 'input\[1\]\.arg'/ },
  { format: "responses", title: "an item of no kind",        place: "input.1.type", value: "call", says: /^Invalid value: 'call'/ },
  { format: "responses", title: "content of the wrong kind", place: "input.0.content.0.type", value: "text", says: /^Invalid value: 'text'\. Supported values are: 'input_text'/ },
  { format: "responses", title: "a call without an id",      place: "input.1.call_id", value: undefined, says: /^Missing required parameter: 'input\[1\]\.call_id'/ },
  { format: "responses", title: "a call without its result", place: "input", value: [IN_USER, IN_CALL, IN_USER], says: /^No tool output found for function call c1\.$/ },
  { format: "responses", title: "a result without its call", place: "input", value: [IN_USER, IN_RESULT], says: /^No tool call found for function call output with call_id c1\.$/ },
  { format: "responses", title: "a call made twice",         place: "input", value: [IN_USER, IN_CALL, IN_CALL, IN_RESULT], says: /^Duplicate function call/ },
  { format: "responses", title: "a thought without what followed", place: "input", value: [IN_USER, { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAAx" }, IN_USER], says: /^Item 'rs_1' of type 'reasoning' was provided without its required following item/ },
  { format: "responses", title: "a thought that was never given out", place: "input", value: [IN_USER, { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "x" }, IN_CALL, IN_RESULT], says: /could not be verified/ },
  { format: "responses", title: "an item that is not stored", place: "input", value: [IN_USER, { type: "item_reference", id: "rs_1" }], status: 404, says: /^Item with id 'rs_1' not found/ },
  { format: "responses", title: "a property that may be left out, in strict mode", place: "tools.0.parameters", value: OPTIONAL, says: /Missing 'b'/ },
  { format: "responses", title: "an answer of too few tokens", place: "max_output_tokens", value: 1, says: /Expected a value >= 16/ },

  { format: "anthropic", title: "no limit of tokens",        place: "max_tokens", value: undefined, says: /^max_tokens: Field required$/ },
  { format: "anthropic", title: "a limit of no tokens",      place: "max_tokens", value: 0, says: /^max_tokens: Input should be greater than or equal to 1$/ },
  { format: "anthropic", title: "a field that it does not know", place: "n", value: 1, says: /^n: Extra inputs are not permitted$/ },
  { format: "anthropic", title: "no messages",               place: "messages", value: [], says: /^messages: at least one message is required$/ },
  { format: "anthropic", title: "a message of the system",   place: "messages.0.role", value: "system", says: /^messages: Unexpected role "system"/ },
  { format: "anthropic", title: "an answer that comes first", place: "messages", value: [{ role: "assistant", content: "hi" }, USER], says: /first message must use the "user" role/ },
  { format: "anthropic", title: "a user who says nothing",   place: "messages.0.content", value: "", says: /^messages\.0: user messages must have non-empty content$/ },
  { format: "anthropic", title: "an answer that is nothing", place: "messages.1.content", value: [], says: /^messages\.1: all messages must have non-empty content/ },
  { format: "anthropic", title: "an empty text",             place: "messages.2.content.2.text", value: "", says: /^messages: text content blocks must be non-empty$/ },
  { format: "anthropic", title: "a call without an id",      place: "messages.1.content.0.id", value: undefined, says: /^messages\.1\.content\.0\.tool_use\.id: Field required$/ },
  { format: "anthropic", title: "an id with a colon",        place: "messages.1.content.0.id", value: "a:1", says: /should match pattern '\^\[a-zA-Z0-9_-\]\+\$'/ },
  { format: "anthropic", title: "two calls with one id",     place: "messages.1.content.1.id", value: "t1", says: /unexpected `tool_use_id`|ids must be unique/ },
  { format: "anthropic", title: "a call without its result", place: "messages.2.content", value: [toolResult("t1")], says: /^messages\.1: `tool_use` ids were found without `tool_result` blocks immediately after: t2\./ },
  { format: "anthropic", title: "a text before the results", place: "messages.2.content", value: [{ type: "text", text: "so:" }, toolResult("t1"), toolResult("t2")], says: /`tool_use` ids were found without `tool_result` blocks immediately after: t1, t2/ },
  { format: "anthropic", title: "a result without its call", place: "messages.2.content.0.tool_use_id", value: "t9", says: /^messages\.2\.content\.0: unexpected `tool_use_id` found in `tool_result` blocks: t9\./ },
  { format: "anthropic", title: "a result given twice",      place: "messages.2.content.1.tool_use_id", value: "t1", says: /Found multiple `tool_result` blocks with id: t1/ },
  { format: "anthropic", title: "five cache marks",          place: "system", value: Array.from({ length: 5 }, (_, i) => ({ type: "text", text: `${i}`, cache_control: { type: "ephemeral" } })), says: /^A maximum of 4 blocks with cache_control may be provided\. Found 5\.$/ },
  { format: "anthropic", title: "four cache marks",          place: "system", value: Array.from({ length: 4 }, (_, i) => ({ type: "text", text: `${i}`, cache_control: { type: "ephemeral" } })), status: 200, says: /^$/ },
  { format: "anthropic", title: "a blank text",              place: "messages.2.content.2.text", value: " \n", says: /^messages: text content blocks must contain non-whitespace text$/ },
  { format: "anthropic", title: "a reply begun with a blank at its end", place: "messages", value: [USER, { role: "assistant", content: "So " }], says: /cannot end with trailing whitespace/ },
  { format: "anthropic", title: "a reply begun for it",      place: "messages", value: [USER, { role: "assistant", content: "So" }], status: 200, says: /^$/ },
  { format: "anthropic", title: "a thought that was altered", place: "messages.1.content", value: [{ type: "thinking", thinking: "x", signature: "y" }, toolUse("t1"), toolUse("t2")], says: /Invalid `signature` in `thinking` block/ },
  { format: "anthropic", title: "calls whose thoughts were lost", place: "thinking", value: { type: "enabled", budget_tokens: 500 }, says: /Expected `thinking` or `redacted_thinking`, but found `tool_use`/ },
  { format: "anthropic", title: "more to think than to say", place: "thinking", value: { type: "enabled", budget_tokens: 2000 }, says: /`max_tokens` must be greater than `thinking\.budget_tokens`/ },
  { format: "anthropic", title: "two tools of one name",     place: "tools", value: [1, 2].map(() => ({ name: "read", input_schema: SCHEMA })), says: /^tools: Tool names must be unique\.$/ },
  { format: "anthropic", title: "a schema without a type",   place: "tools.0.input_schema", value: {}, says: /input_schema\.type: Field required/ },
  { format: "anthropic", title: "a schema of variants",      place: "tools.0.input_schema.anyOf", value: [{}], says: /does not support oneOf, allOf, or anyOf at the top level/ },
  { format: "anthropic", title: "a schema that is none",     place: "tools.0.input_schema.properties.path.type", value: "text", says: /JSON schema is invalid\. It must match JSON Schema draft 2020-12/ },

  { format: "gemini", title: "a field that it does not know", place: "messages", value: [], says: /^Invalid JSON payload received\. Unknown name "messages": Cannot find field\.$/ },
  { format: "gemini", title: "no contents",                  place: "contents", value: [], says: /contents is not specified/ },
  { format: "gemini", title: "a role that is none",          place: "contents.1.role", value: "assistant", says: /^Please use a valid role: user, model\.$/ },
  { format: "gemini", title: "a user who says nothing",      place: "contents.0.parts", value: [], says: /contents\[0\]\.parts: contents\.parts must not be empty/ },
  { format: "gemini", title: "an empty text",                place: "contents.0.parts.0.text", value: "", says: /required oneof field 'data' must have one initialized field/ },
  { format: "gemini", title: "a call without its result",    place: "contents", value: [SAID, ASKED, SAID], says: /number of function response parts is equal/ },
  { format: "gemini", title: "a call at the end",            place: "contents", value: [SAID, ASKED], says: /number of function response parts is equal/ },
  { format: "gemini", title: "fewer results than calls",     place: "contents.1.parts", value: [ASKED.parts[0], ASKED.parts[0]], says: /number of function response parts is equal/ },
  { format: "gemini", title: "a result without its call",    place: "contents", value: [SAID, GIVEN], says: /function response turn comes immediately after a function call turn/ },
  { format: "gemini", title: "a call that comes first",      place: "contents", value: [ASKED, GIVEN], says: /function call turn comes immediately after a user turn/ },
  { format: "gemini", title: "a result without a name",      place: "contents.2.parts.0.functionResponse.name", value: "", says: /function_response\.name: Name cannot be empty/ },
  { format: "gemini", title: "a closed schema",              place: "tools.0.functionDeclarations.0.parameters", value: SCHEMA, says: /^Invalid JSON payload received\. Unknown name "additionalProperties" at 'tools\[0\]\.function_declarations\[0\]\.parameters': Cannot find field\.$/ },
  { format: "gemini", title: "a schema of several types",    place: "tools.0.functionDeclarations.0.parameters.properties.path.type", value: ["string", "null"], says: /Proto field is not repeating, cannot start list/ },
  { format: "gemini", title: "numbers to choose from",       place: "tools.0.functionDeclarations.0.parameters.properties.path", value: { type: "integer", enum: [1, 2] }, says: /enum: only allowed for STRING type/ },
  { format: "gemini", title: "a list of nothing",            place: "tools.0.functionDeclarations.0.parameters.properties.path", value: { type: "array" }, says: /items: missing field/ },
  { format: "gemini", title: "an object without properties", place: "tools.0.functionDeclarations.0.parameters.properties", value: {}, says: /should be non-empty for OBJECT type|property is not defined/ },
  { format: "gemini", title: "a required property that is none", place: "tools.0.functionDeclarations.0.parameters.required", value: ["file"], says: /required\[0\]: property is not defined/ },
  { format: "gemini", title: "two tools of one name",        place: "tools.0.functionDeclarations", value: [{ name: "read" }, { name: "read" }], says: /^Duplicate function declaration found: read$/ },
];

for (const { format, title, place, value, status = 400, says } of REFUSED) {
  test(`${format}: ${title}: ${status}`, async () => {
    const answer = await post(format, changed(format, place, value));
    expect([answer.status, answer.says]).toEqual([status, expect.stringMatching(says)]);
  });
}

test("Gemini of the third generation wants its signatures back", async () => {
  const path = "/v1beta/models/gemini-3-pro:generateContent";
  expect(await post("gemini", TAKEN.gemini.body, { path })).toMatchObject({
    status: 400,
    says: expect.stringContaining("missing a thought_signature"),
  });
  const signed = (signature: string): Body => changed("gemini", "contents.1.parts.0.thoughtSignature", signature);
  expect(await post("gemini", signed("x"), { path })).toMatchObject({ says: "Thought signature is not valid." });
  for (const taken of [`Cl${"a".repeat(24)}`, "skip_thought_signature_validator"])
    expect(await post("gemini", signed(taken), { path })).toMatchObject({ status: 200 });
});

test("a compatible server overlooks fields, and nothing else", async () => {
  const path = "/compatible/v1/chat/completions";
  expect(await post("chat", changed("chat", "messages.2.reasoning_content", "x"), { path })).toMatchObject({
    status: 200,
  });
  expect(await post("chat", changed("chat", "messages", [USER, CALLING, USER]), { path })).toMatchObject({
    status: 400,
  });
});

// oxfmt-ignore
const ANTHROPIC_KEYS = [
  { title: "a key",                     headers: { "x-api-key": "right" },                                   status: 200 },
  { title: "a bearer token",            headers: { authorization: "Bearer right" },                          status: 200 },
  { title: "a key beside a token",      headers: { "x-api-key": "right", authorization: "Bearer wrong" },    status: 200 },
  { title: "a wrong token",             headers: { authorization: "Bearer wrong" },                          status: 401 },
  { title: "a name and a password",     headers: { authorization: "Basic cmlnaHQ=" },                        status: 401 },
];

test.each(ANTHROPIC_KEYS)("Anthropic's messages take $title: $status", async ({ headers, status }) => {
  const about = { "anthropic-version": "2023-06-01", ...headers };
  expect(await post("anthropic", TAKEN.anthropic.body, { key: "right", headers: about })).toMatchObject({ status });
});

const LONG = { context_tokens: 20 };
const SMALL = { limit_bytes: 100 };
const OTHER = { models: ["another"] };

// oxfmt-ignore
const TROUBLE: readonly { format: FormatKey; title: string; options: FakeModelOptions & { headers?: Body }; status: number; error: Body }[] = [
  { format: "chat",      title: "no key",       options: { headers: {} }, status: 401, error: { type: "invalid_request_error" } },
  { format: "responses", title: "no key",       options: { headers: {} }, status: 401, error: { type: "invalid_request_error" } },
  { format: "anthropic", title: "no key",       options: { headers: {} }, status: 401, error: { type: "authentication_error", message: "x-api-key header is required" } },
  { format: "gemini",    title: "no key",       options: { headers: {} }, status: 403, error: { status: "PERMISSION_DENIED" } },
  { format: "chat",      title: "a wrong key",  options: { key: "x" }, status: 401, error: { code: "invalid_api_key" } },
  { format: "responses", title: "a wrong key",  options: { key: "x" }, status: 401, error: { code: "invalid_api_key" } },
  { format: "anthropic", title: "a wrong key",  options: { key: "x" }, status: 401, error: { type: "authentication_error", message: "invalid x-api-key" } },
  { format: "gemini",    title: "a wrong key",  options: { key: "x" }, status: 400, error: { status: "INVALID_ARGUMENT", details: [{ reason: "API_KEY_INVALID" }] } },
  { format: "chat",      title: "a model that there is not", options: OTHER, status: 404, error: { code: "model_not_found" } },
  { format: "responses", title: "a model that there is not", options: OTHER, status: 404, error: { code: "model_not_found" } },
  { format: "anthropic", title: "a model that there is not", options: OTHER, status: 404, error: { type: "not_found_error", message: "model: claude-sonnet-4-5" } },
  { format: "gemini",    title: "a model that there is not", options: OTHER, status: 404, error: { status: "NOT_FOUND" } },
  { format: "chat",      title: "more than fits the window", options: LONG, status: 400, error: { code: "context_length_exceeded" } },
  { format: "responses", title: "more than fits the window", options: LONG, status: 400, error: { code: "context_length_exceeded" } },
  { format: "anthropic", title: "more than fits the window", options: LONG, status: 400, error: { message: expect.stringMatching(/^prompt is too long: \d+ tokens > 20 maximum$/) } },
  { format: "gemini",    title: "more than fits the window", options: LONG, status: 400, error: { message: expect.stringMatching(/^The input token count \(\d+\) exceeds/) } },
  { format: "chat",      title: "too many bytes", options: SMALL, status: 413, error: { type: "invalid_request_error" } },
  { format: "anthropic", title: "too many bytes", options: SMALL, status: 413, error: { type: "request_too_large" } },
  { format: "gemini",    title: "too many bytes", options: SMALL, status: 400, error: { message: expect.stringContaining("payload size exceeds") } },
];

for (const { format, title, options, status, error } of TROUBLE) {
  test(`${format}: ${title}: ${status}`, async () => {
    expect(await post(format, TAKEN[format].body, options)).toMatchObject({ status, body: { error } });
  });
}

for (const format of Object.keys(TAKEN) as FormatKey[]) {
  for (const body of ["{", "", "[]", "null"]) {
    test(`${format}: ${JSON.stringify(body)} as a body: 400`, async () => {
      expect(await post(format, body)).toMatchObject({ status: 400 });
    });
  }
  test(`${format}: nothing that is sent ends the server`, async () => {
    const first = Object.keys(TAKEN[format].body).find((key) => Array.isArray((TAKEN[format].body as Body)[key]));
    for (const value of [null, 1, "x", {}, [null], [1], [[]], [{}], [{ role: 1 }], [{ role: "user", content: [null] }]])
      expect((await post(format, changed(format, first ?? "", value))).status).toBeLessThan(500);
  });
}

test("no key is needed where none is set to be", async () => {
  expect(await post("chat", TAKEN.chat.body, { key: null, headers: {} })).toMatchObject({ status: 200 });
});

test("a compatible server needs a key only where one is set", async () => {
  const options = { headers: {}, path: "/compatible/v1/chat/completions" };
  expect(await post("chat", TAKEN.chat.body, options)).toMatchObject({ status: 200 });
  expect(await post("chat", TAKEN.chat.body, { ...options, key: "x" })).toMatchObject({ status: 401 });
});

test("a path that is none: 404", async () => {
  expect(await post("chat", TAKEN.chat.body, { path: "/v1/completions" })).toMatchObject({ status: 404 });
});
