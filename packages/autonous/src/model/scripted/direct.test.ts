import { ERRORS } from "@autonous/runtime";
import type { ToolCallResult } from "@autonous/runtime";
import { expect, test } from "vitest";
import { createDirectProvider } from "./direct.ts";
import { parseReply } from "../calls/json-reply.ts";
import type { ParsedReply } from "../calls/json-reply.ts";
import type { Message, ModelTool } from "../provider.ts";
import { withQuotations } from "../prompt/quoted.ts";

function tool(name: string, properties: Record<string, unknown>, required: readonly string[] = []): ModelTool {
  const args_schema = { type: "object", properties, required, additionalProperties: false };
  return { name, description: `The ${name} tool. More about it.`, args_schema };
}

const text = { type: "string" };
// oxfmt-ignore
const TOOLS: readonly ModelTool[] = [
  tool("ls",         { path: { ...text, default: "." }, recursive: { type: "boolean" }, cursor: text }),
  tool("grep",       { path: text, pattern: text }, ["pattern"]),
  tool("bash",       { cmd: text, timeout_seconds: { type: "integer" } }, ["cmd"]),
  tool("write",      { path: text, content: text }, ["path", "content"]),
  tool("read_lints", { paths: { type: "array" } }, ["paths"]),
  tool("status",     {}),
];

async function ask(typed: string, results: readonly ToolCallResult[] = []): Promise<ParsedReply> {
  const messages: Message[] = [{ role: "user", text: typed }];
  if (results.length > 0) messages.push({ role: "assistant", text: "" });
  for (const result of results) messages.push({ role: "tool", tool_call_id: "c", name: "ls", text: "", result });
  const request = { system: "", messages, rounds: messages.length > 1 ? 1 : 0, tools: TOOLS };
  const reply = await createDirectProvider().complete(request, { signal: new AbortController().signal });
  expect(reply.finish).toBe("stop");
  return parseReply(reply.text);
}

// oxfmt-ignore
const CALLS = [
  { typed: "/ls src",                              name: "ls",     args: { path: "src" } },
  { typed: "  /ls src  \n",                        name: "ls",     args: { path: "src" } },
  { typed: "/ls",                                  name: "ls",     args: {} },
  { typed: "/LS src",                              name: "ls",     args: { path: "src" } },
  { typed: '/ls "my folder"',                      name: "ls",     args: { path: "my folder" } },
  { typed: "/ls 'my folder'",                      name: "ls",     args: { path: "my folder" } },
  { typed: '/ls "',                                name: "ls",     args: { path: '"' } },
  { typed: "/ls it's",                             name: "ls",     args: { path: "it's" } },
  { typed: '/ls {"path":"src","recursive":true}',  name: "ls",     args: { path: "src", recursive: true } },
  { typed: '/ls {\n "path": "src"\n}',             name: "ls",     args: { path: "src" } },
  { typed: "/ls {}",                               name: "ls",     args: {} },
  { typed: "/grep TODO later",                     name: "grep",   args: { pattern: "TODO later" } },
  { typed: "/bash echo a\necho b",                 name: "bash",   args: { cmd: "echo a\necho b" } },
  { typed: "/bash { echo a; }",                    name: "bash",   args: { cmd: "{ echo a; }" } },
  { typed: '/bash "my program" "x"',               name: "bash",   args: { cmd: '"my program" "x"' } },
  { typed: "/status",                              name: "status", args: {} },
] as const;

for (const { typed, name, args } of CALLS) {
  test(`${JSON.stringify(typed)} becomes a call of ${name}`, async () => {
    expect(await ask(typed)).toEqual({ kind: "tool_calls", calls: [{ name, arguments: args }], text: "" });
  });
}

test("several lines that start with a slash become several calls of one reply", async () => {
  const calls = [
    { name: "ls", arguments: { path: "a" } },
    { name: "write", arguments: { path: "b", content: "c" } },
    { name: "status", arguments: {} },
  ];
  expect(await ask('/ls a\n/write {"path":"b",\n"content":"c"}\n\n/status')).toEqual({
    kind: "tool_calls",
    calls,
    text: "",
  });
});

// oxfmt-ignore
const ANSWERED = [
  { title: "plain words",                    typed: "list my files",          says: [/No model is set/, /AUTONOUS_MODEL/, /\/ls src {3}The ls tool\.\n/, /\/bash npm test/, /\/status/] },
  { title: "/help",                          typed: "/help",                  says: [/No model is set/] },
  { title: "nothing",                        typed: "",                       says: [/No model is set/] },
  { title: "a lone slash",                   typed: "/",                      says: [/No model is set/] },
  { title: "an example of several arguments", typed: "/help",                 says: [/\/write \{"path":"src","content":"<content>"\}/, /\/read_lints \{"paths":\["src"\]\}/] },
  { title: "an unknown command",             typed: "/gerp TODO",             says: [/Unknown command \/gerp/, /Did you mean \/grep/] },
  { title: "a command unlike any",           typed: "/deploy-everything now", says: [/Unknown command \/deploy-everything\. \/help/] },
  { title: "an unknown second command",      typed: "/ls a\n/lss b",          says: [/Unknown command \/lss/, /\/ls/] },
  { title: "a missing argument",             typed: "/grep",                  says: [/\/grep needs pattern/, /\/grep TODO/] },
  { title: "two missing arguments",          typed: "/write",                 says: [/\/write needs path and content/] },
  { title: "a name twice",                   typed: '/ls {"path":"a","p\\u0061th":"b"}', says: [/JSON after \/ls cannot be read: .*Duplicate name/] },
  { title: "broken JSON",                    typed: '/ls {"path":}',          says: [/JSON after \/ls cannot be read/, /\/ls src/] },
  { title: "text where JSON is needed",      typed: "/read_lints a.ts",       says: [/takes its arguments as JSON/, /\/read_lints \{"paths":\["src"\]\}/] },
] as const;

for (const { title, typed, says } of ANSWERED) {
  test(`${title} is answered with usage help`, async () => {
    const reply = await ask(typed);
    expect(reply.kind).toBe("final");
    for (const each of says) expect(reply.kind === "final" && reply.text).toMatch(each);
  });
}

const NO_OUTPUT = {
  exit_code: 0,
  stdout: "",
  stderr: "",
  truncated_lines: false,
  truncated_bytes: false,
  data: {},
  meta: {},
};

function ok(payload: Partial<NonNullable<ToolCallResult["payload"]>>): ToolCallResult {
  const artifacts = { files_changed: [], commands_run: [] };
  return {
    tool_call_id: "c",
    ok: true,
    payload: { ...NO_OUTPUT, ...payload },
    error: null,
    artifacts,
    duration_ms: 1,
    redacted: false,
  };
}

function changed(files_changed: string[], undo_id?: string): ToolCallResult {
  const artifacts = { files_changed, commands_run: [], ...(undo_id === undefined ? {} : { undo_id }) };
  return { ...ok({ data: { exit_code: 0 } }), artifacts };
}

function failed(result: ToolCallResult): ToolCallResult {
  const error = { code: "NotFound", ...ERRORS.NotFound, message: 'Cannot list "x": it is not there' } as const;
  return { ...result, ok: false, error };
}

// oxfmt-ignore
const SHOWN = [
  { title: "what the call printed",          typed: "/ls src", results: [ok({ stdout: "a\nb/\n" })],                    answer: "a\nb/" },
  { title: "warnings below it",              typed: "/ls src", results: [ok({ stdout: "a\n", stderr: "b: closed\n" })], answer: "a\nb: closed" },
  { title: "data where nothing is printed",  typed: "/status", results: [ok({ data: { up: true } })],                   answer: '{"up":true}' },
  { title: "that there is nothing to show",  typed: "/status", results: [ok({})],                                       answer: "Done; no output" },
  { title: "that nothing was found",         typed: "/ls src", results: [ok({ data: { path: ".", entries: [], complete: true } })], answer: "Nothing found" },
  { title: "what the tool says of it",       typed: "/grep x", results: [ok({ data: { matches: [], summary: "No match" } })], answer: "No match" },
  { title: "nothing of a silent command",    typed: "/bash x", results: [ok({ data: { exit_code: 0, sandbox: "bwrap" } })], answer: "Done; no output" },
  { title: "what changed, and its undo",     typed: "/bash x", results: [changed(["a", "b"], "undo_1")],                answer: "Changed: a, b (undo_id: undo_1)" },
  { title: "how many more changed",          typed: "/bash x", results: [changed("a b c d e f g h i j k l".split(" "))],    answer: "Changed: a, b, c, d, e, f, g, h, i, j and 2 more" },
  { title: "how to go on",                   typed: "/ls src", results: [ok({ stdout: "a\n", next_page_cursor: "k" })], answer: 'a\nMore results: /ls {"path":"src","cursor":"k"}' },
  { title: "where the rest is",              typed: "/bash x", results: [ok({ stdout: "a", storage_ref: "observations/1.txt" })], answer: "a\nFull output: observations/1.txt" },
  { title: "code, message and hint",         typed: "/ls x",   results: [failed({ ...ok({}), payload: null })],         answer: `NotFound: Cannot list "x": it is not there\nHint: ${ERRORS.NotFound.hint}` },
  { title: "output before the error",        typed: "/ls x",   results: [failed(ok({ stdout: "half", exit_code: 2 }))], answer: `half\nNotFound: Cannot list "x": it is not there\nHint: ${ERRORS.NotFound.hint}` },
  { title: "which output is whose",          typed: "/ls a\n/ls b", results: [ok({ stdout: "1" }), ok({ stdout: "2" })], answer: '/ls {"path":"a"}\n1\n\n/ls {"path":"b"}\n2' },
] as const;

for (const { title, typed, results, answer } of SHOWN) {
  test(`the answer after a call reports ${title}`, async () => {
    expect(await ask(typed, results)).toEqual({ kind: "final", text: answer });
  });
}

// oxfmt-ignore
const WITH_OTHERS = [
  { title: "a command of the user's own",  own: "/ls src",        calls: [{ name: "ls", arguments: { path: "src" } }] },
  { title: "a command over several lines", own: "/bash a\nb",     calls: [{ name: "bash", arguments: { cmd: "a\nb" } }] },
  { title: "text without a command",        own: "please do this", calls: [] },
  { title: "no words at all",              own: "",               calls: [] },
] as const;

for (const { title, own, calls } of WITH_OTHERS) {
  test(`with ${title}, commands in quoted text do not run and are not arguments`, async () => {
    const quoted = withQuotations(own, [{ heading: "Forwarded from Eve", text: "/write x\n/status\n; rm -rf ." }]);
    const reply = await ask(quoted);
    if (calls.length > 0) expect(reply).toMatchObject({ kind: "tool_calls", calls });
    else expect(reply).toMatchObject({ kind: "final", text: expect.stringMatching(/is data and was not run/) });
  });
}
