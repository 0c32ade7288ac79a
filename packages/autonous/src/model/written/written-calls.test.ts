import fc from "fast-check";
import { expect, test } from "vitest";
import { TEXT_CALLS } from "../../../../../emulators/fake-model/quirks/text-calls.ts";
import { readWrittenCalls } from "./written-calls.ts";
import type { WrittenReply } from "./written-calls.ts";

const path = { type: "string" };
const TOOLS = [
  {
    name: "read",
    aliases: ["read_file"],
    args_schema: { type: "object", properties: { path, limit: { type: "integer" } }, required: ["path"] },
  },
  {
    name: "write",
    args_schema: {
      type: "object",
      properties: { path, content: { type: "string" }, force: { type: "boolean" } },
      required: ["path", "content"],
    },
  },
  {
    name: "ls",
    args_schema: {
      type: "object",
      properties: { path, deep: { type: "boolean" }, names: { type: "array", items: { type: "string" } } },
    },
  },
];

const read = (text: string, more: object = {}): WrittenReply | undefined =>
  readWrittenCalls(text, { tools: TOOLS, isQuoted: () => false, ...more });

const inShort = (written: WrittenReply | undefined): unknown =>
  written?.kind === "calls"
    ? written.calls.map(({ name, input }) => [name, JSON.parse(input) as unknown])
    : written?.kind;

const A = ["read", { path: "a.ts" }] as const;
const B = ["read", { path: "b.ts" }] as const;
const JSON_A = '{"name": "read", "arguments": {"path": "a.ts"}}';
const JSON_B = JSON_A.replace("a.ts", "b.ts");
const F = "```";

/** `<name attributes>body</name>`. */
function tag(name: string, body: string, attributes = ""): string {
  return `<${name}${attributes}>${body}</${name}>`;
}
/** A call as Anthropic's models, MiniMax and DSML write it. */
function invoke(file: string, prefix = ""): string {
  return tag(`${prefix}invoke`, `\n${tag(`${prefix}parameter`, file, ' name="path"')}\n`, ' name="read"');
}
/** A call as Qwen3-Coder writes it. */
function coder(name: string, values: Readonly<Record<string, string>>): string {
  const parameters = Object.entries(values).map(([key, value]) => `<parameter=${key}>\n${value}\n</parameter>\n`);
  return `<function=${name}>\n${parameters.join("")}</function>`;
}

interface CallCase {
  readonly form: string;
  readonly title: string;
  readonly text: string;
  readonly calls: readonly (readonly [string, object])[];
  readonly prose?: string;
}

// oxfmt-ignore
const CALLS: readonly CallCase[] = [
  { form: "hermes", title: "one call",                      text: tag("tool_call", `\n${JSON_A}\n`), calls: [A] },
  { form: "hermes", title: "prose before it",               text: `I look.\n\n${tag("tool_call", `\n${JSON_A}\n`)}`, calls: [A], prose: "I look." },
  { form: "hermes", title: "prose on the same line",        text: `I look. ${tag("tool_call", JSON_A)}`, calls: [A], prose: "I look." },
  { form: "hermes", title: "several calls",                 text: `${tag("tool_call", JSON_A)}\n${tag("tool_call", JSON_B)}`, calls: [A, B] },
  { form: "hermes", title: "several in one tag",            text: tag("tool_call", `\n${JSON_A}\n${JSON_B}\n`), calls: [A, B] },
  { form: "hermes", title: "no closing tag",                text: `<tool_call>\n${JSON_A}`, calls: [A] },
  { form: "hermes", title: "no closing tag between two",    text: `<tool_call>\n${JSON_A}\n<tool_call>\n${JSON_B}`, calls: [A, B] },
  { form: "hermes", title: "the end of the turn behind it", text: `${tag("tool_call", JSON_A)}<|im_end|>`, calls: [A] },
  { form: "hermes", title: "a result made up behind it",    text: `${tag("tool_call", JSON_A)}\n${tag("tool_response", "\nhello\n")}\nIt says hello.`, calls: [A], prose: "" },
  { form: "hermes", title: "one bracket too many",          text: tag("tool_call", `\n${JSON_A}}\n`), calls: [A] },
  { form: "hermes", title: "a trailing comma",              text: tag("tool_call", '{"name":"read","arguments":{"path":"a.ts",},}'), calls: [A] },
  { form: "hermes", title: "a tag within the arguments",    text: tag("tool_call", '{"name":"write","arguments":{"path":"a.ts","content":"</tool_call> `x"}}'), calls: [["write", { path: "a.ts", content: "</tool_call> `x" }]] },
  { form: "hermes", title: "arguments as a string",         text: tag("tool_call", `{"name":"read","arguments":${JSON.stringify('{"path":"a.ts"}')}}`), calls: [A] },
  { form: "hermes", title: "flat arguments",                text: tag("tool_call", '{"name":"read","path":"a.ts"}'), calls: [A] },
  { form: "hermes", title: "a fence in the tag",            text: tag("tool_call", `\n${F}json\n${JSON_A}\n${F}\n`), calls: [A] },
  { form: "hermes", title: "a namespace",                   text: tag("tool_call", '{"name":"functions.read","arguments":{"path":"a.ts"}}'), calls: [["functions.read", { path: "a.ts" }]] },
  { form: "hermes", title: "an alias",                      text: tag("tool_call", '{"name":"read_file","arguments":{"target":"a.ts"}}'), calls: [["read_file", { target: "a.ts" }]] },
  { form: "hermes", title: "a list in the tag",             text: tag("tool_call", `[${JSON_A}]`), calls: [A] },
  { form: "hermes", title: "tags around tags",              text: tag("tool_calls", `\n${tag("tool_call", JSON_A)}\n`), calls: [A] },
  { form: "hermes", title: "a plural tag",                  text: tag("tool_calls", `\n${JSON_A}\n${JSON_B}\n`), calls: [A, B] },
  { form: "hermes", title: "a function_call tag",           text: tag("function_call", JSON_A), calls: [A] },
  { form: "hermes", title: "LongCat's tag",                 text: tag("longcat_tool_call", JSON_A), calls: [A] },
  { form: "hermes", title: "Nemotron's tag",                text: tag("TOOLCALL", `[${JSON_A}]`), calls: [A] },
  { form: "hermes", title: "the name in the tag",           text: tag("tool_call", '{"path":"a.ts"}', ' name="read"'), calls: [A] },
  { form: "hermes", title: "no arguments",                  text: tag("tool_call", '{"name": "ls"}'), calls: [["ls", {}]] },
  { form: "qwen", title: "one call",                        text: tag("tool_call", `\n${coder("read", { path: "a.ts" })}\n`), calls: [A] },
  { form: "qwen", title: "no outer tag",                    text: coder("read", { path: "a.ts" }), calls: [A] },
  { form: "qwen", title: "only the outer tag's end",        text: `Sure.\n${coder("read", { path: "a.ts" })}\n</tool_call>`, calls: [A], prose: "Sure." },
  { form: "qwen", title: "no end of the parameter",         text: tag("tool_call", "\n<function=read>\n<parameter=path>\na.ts\n</function>\n"), calls: [A] },
  { form: "qwen", title: "typed values",                    text: tag("tool_call", coder("ls", { path: "10", deep: "True", names: '["a"]' })), calls: [["ls", { path: "10", deep: true, names: ["a"] }]] },
  { form: "qwen", title: "many lines and code in a value",  text: tag("tool_call", coder("write", { path: "a.md", content: `${F}js\nlet a = "<b>";\n` })), calls: [["write", { path: "a.md", content: `${F}js\nlet a = "<b>";\n` }]] },
  { form: "qwen", title: "the tag's end within a value",    text: coder("write", { path: "a", content: "x </parameter> y" }), calls: [["write", { path: "a", content: "x </parameter> y" }]] },
  { form: "qwen", title: "two calls",                       text: tag("tool_call", coder("read", { path: "a.ts" })) + tag("tool_call", coder("read", { path: "b.ts" })), calls: [A, B] },
  { form: "qwen", title: "Seed's tag",                      text: tag("seed:tool_call", coder("read", { path: "a.ts" })), calls: [A] },
  { form: "glm", title: "one call",                         text: tag("tool_call", "read\n<arg_key>path</arg_key>\n<arg_value>a.ts</arg_value>\n"), calls: [A] },
  { form: "glm", title: "typed values on one line",         text: tag("tool_call", "ls<arg_key>deep</arg_key><arg_value>true</arg_value><arg_key>path</arg_key><arg_value>true</arg_value>"), calls: [["ls", { deep: true, path: "true" }]] },
  { form: "glm", title: "no arguments",                     text: tag("tool_call", "ls\n"), calls: [["ls", {}]] },
  { form: "deepseek", title: "the older form",              text: `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n${F}json\n{"path": "a.ts"}\n${F}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`, calls: [A] },
  { form: "deepseek", title: "the newer form",              text: 'Fine.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{"path": "a.ts"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{"path": "b.ts"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>', calls: [A, B], prose: "Fine." },
  { form: "deepseek", title: "ASCII marks",                 text: '<|tool_calls_begin|><|tool_call_begin|>read<|tool_sep|>{"path": "a.ts"}<|tool_call_end|><|tool_calls_end|>', calls: [A] },
  { form: "dsml", title: "DSML",                            text: `<｜DSML｜function_calls>\n${invoke("a.ts", "｜DSML｜").replace('"path"', '"path" string="true"')}\n</｜DSML｜function_calls>`, calls: [A] },
  { form: "mistral", title: "a list",                       text: `[TOOL_CALLS] [${JSON_A}]`, calls: [A] },
  { form: "mistral", title: "a list behind prose",          text: `I look.[TOOL_CALLS][${JSON_A}]</s>`, calls: [A], prose: "I look." },
  { form: "mistral", title: "name and object",              text: '[TOOL_CALLS]read{"path": "a.ts"}', calls: [A] },
  { form: "mistral", title: "several of them",              text: '[TOOL_CALLS]read{"path": "a.ts"}[TOOL_CALLS]read{"path": "b.ts"}', calls: [A, B] },
  { form: "mistral", title: "[ARGS]",                       text: '[TOOL_CALLS]read[ARGS]{"path": "a.ts"}', calls: [A] },
  { form: "mistral", title: "[CALL_ID]",                    text: '[TOOL_CALLS]read[CALL_ID]abc123456[ARGS]{"path": "a.ts"}', calls: [A] },
  { form: "llama", title: "the Python tag",                 text: '<|python_tag|>{"type": "function", "name": "read", "parameters": {"path": "a.ts"}}<|eom_id|>', calls: [A] },
  { form: "llama", title: "two behind the Python tag",      text: '<|python_tag|>{"name": "read", "parameters": {"path": "a.ts"}}; {"name": "read", "parameters": {"path": "b.ts"}}', calls: [A, B] },
  { form: "llama", title: "a function tag with JSON",       text: '<function=read>{"path": "a.ts"}</function>', calls: [A] },
  { form: "llama", title: "Llama 4's marks",                text: '<|python_start|>{"name": "read", "parameters": {"path": "a.ts"}}<|python_end|>', calls: [A] },
  { form: "python", title: "a list of calls",               text: '[read(path="a.ts"), read(path=\'b.ts\')]', calls: [A, B] },
  { form: "python", title: "values of every kind",          text: '[ls(path="a\\nb", deep=True, names=["x", \'y\'])]', calls: [["ls", { path: "a\nb", deep: true, names: ["x", "y"] }]] },
  { form: "python", title: "LFM2's marks",                  text: '<|tool_call_start|>[read(path="a.ts")]<|tool_call_end|>', calls: [A] },
  { form: "python", title: "a tool_code fence",             text: `${F}tool_code\nprint(default_api.read(path="a.ts"))\n${F}`, calls: [["default_api.read", { path: "a.ts" }]] },
  { form: "python", title: "OLMo's tag",                    text: tag("function_calls", '\nread(path="a.ts")\n'), calls: [A] },
  { form: "kimi", title: "its section",                     text: '<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{"path": "a.ts"}<|tool_call_end|><|tool_call_begin|>functions.read:1<|tool_call_argument_begin|>{"path": "b.ts"}<|tool_call_end|><|tool_calls_section_end|>', calls: [["functions.read:0", A[1]], ["functions.read:1", B[1]]] },
  { form: "harmony", title: "its channel",                  text: '<|channel|>commentary to=functions.read <|constrain|>json<|message|>{"path": "a.ts"}<|call|>', calls: [["functions.read", A[1]]] },
  { form: "harmony", title: "a channel before it",          text: 'I look.<|end|><|start|>assistant<|channel|>commentary to=functions.read json<|message|>{"path": "a.ts"}<|call|>', calls: [["functions.read", A[1]]] },
  { form: "harmony", title: "the recipient before it",      text: '<|start|>assistant to=functions.read<|channel|>commentary json<|message|>{"path": "a.ts"}', calls: [["functions.read", A[1]]] },
  { form: "harmony", title: "the analysis channel",         text: '<|channel|>analysis to=functions.read code<|message|>\n{"path": "a.ts"}<|call|>', calls: [["functions.read", A[1]]] },
  { form: "harmony", title: "its tokens removed",           text: 'assistantcommentary to=functions.read json{"path": "a.ts"}', calls: [["functions.read", A[1]]] },
  { form: "minimax", title: "its tag",                      text: tag("minimax:tool_call", `\n${invoke("a.ts")}\n${invoke("b.ts")}\n`), calls: [A, B] },
  { form: "anthropic", title: "function_calls",             text: tag("function_calls", `\n${invoke("a.ts")}\n`), calls: [A] },
  { form: "anthropic", title: "a namespace in each tag",    text: tag("ns:function_calls", invoke("a.ts", "ns:")), calls: [A] },
  { form: "tool_use", title: "name and arguments",          text: tag("tool_use", `\n<name>read</name>\n${tag("arguments", '{"path": "a.ts"}')}\n`), calls: [A] },
  { form: "hermes", title: "JSON in tool_use",              text: tag("tool_use", '{"type": "tool_use", "id": "x", "name": "read", "input": {"path": "a.ts"}}'), calls: [A] },
  { form: "tool tag", title: "a tag of the tool's name",    text: `I look.\n${tag("read", "\n<path>a.ts</path>\n")}`, calls: [A], prose: "I look." },
  { form: "marked", title: "Phi's and Granite's mark",      text: `<|tool_call|>[${JSON_A}]<|/tool_call|>`, calls: [A] },
  { form: "marked", title: "Cohere's marks",                text: '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "read", "parameters": {"path": "a.ts"}}]<|END_ACTION|>', calls: [A] },
  { form: "marked", title: "InternLM's marks",              text: '<|action_start|><|plugin|>{"name": "read", "parameters": {"path": "a.ts"}}<|action_end|>', calls: [A] },
  { form: "gemma", title: "its marks and quotes",           text: '<|tool_call>call:ls{path:<|"|>a "b"<|"|>,deep:true}<tool_call|>', calls: [["ls", { path: 'a "b"', deep: true }]] },
  { form: "react", title: "Action and Action Input",        text: 'Thought: I look.\nAction: read\nAction Input: {"path": "a.ts"}', calls: [A], prose: "Thought: I look." },
  { form: "react", title: "an observation made up",         text: 'Action: read\nAction Input: {"path": "a.ts"}\nObservation: hello\nFinal Answer: hello', calls: [A], prose: "" },
  { form: "hermes", title: "a fence around the tag",        text: `I look.\n${F}xml\n${tag("tool_call", JSON_A)}\n${F}`, calls: [A], prose: "I look." },
  { form: "qwen", title: "a fence around the tags",         text: `${F}\n${tag("tool_call", coder("read", { path: "a.ts" }))}\n${F}`, calls: [A] },
  { form: "mistral", title: "a fence around it",            text: `${F}\n[TOOL_CALLS] [${JSON_A}, ${JSON_B}]\n${F}`, calls: [A, B] },
  { form: "hermes", title: "an opening tag for the end",    text: `<tool_call>\n${JSON_A}\n<tool_call>`, calls: [A] },
  { form: "hermes", title: "a tool tag",                    text: tag("tool", JSON_A), calls: [A], prose: "" },
  { form: "python", title: "one object in brackets",        text: tag("tool_call", 'read({"path": "a.ts"})'), calls: [A] },
  { form: "python", title: "one object without markers",    text: 'functions.read({"path": "a.ts"})', calls: [["functions.read", A[1]]] },
  { form: "python", title: "a tool_code tag",               text: tag("tool_code", '\nread(path="a.ts")\n'), calls: [A] },
  { form: "mistral", title: "a closing bracket mark",       text: `[TOOL_CALLS][${JSON_A}][/TOOL_CALLS]`, calls: [A], prose: "" },
  { form: "marked", title: "LM Studio's marks",             text: `[TOOL_REQUEST]${JSON_A}[END_TOOL_REQUEST]`, calls: [A], prose: "" },
  { form: "json", title: "a tool_call object",              text: `{"tool_call": ${JSON_A}}`, calls: [A] },
  { form: "json", title: "bare JSON",                       text: JSON_A, calls: [A] },
  { form: "json", title: "a fence",                         text: `${F}json\n${JSON_A}\n${F}`, calls: [A] },
  { form: "json", title: "a fence behind a sentence",       text: `I will read the file first.\n\n${F}json\n${JSON_A}\n${F}\n`, calls: [A], prose: "I will read the file first." },
  { form: "json", title: "a sentence on the same line",     text: `Reading: ${JSON_A}`, calls: [A], prose: "Reading:" },
  { form: "json", title: "two fences",                      text: `${F}json\n${JSON_A}\n${F}\n${F}json\n${JSON_B}\n${F}`, calls: [A, B] },
  { form: "json", title: "two objects",                     text: `${JSON_A}\n${JSON_B}`, calls: [A, B] },
  { form: "json", title: "a list",                          text: `[${JSON_A}, ${JSON_B}]`, calls: [A, B] },
  { form: "json", title: "parameters",                      text: '{"name": "read", "parameters": {"path": "a.ts"}}', calls: [A] },
  { form: "json", title: "input",                           text: '{"type": "tool_use", "name": "read", "input": {"path": "a.ts"}}', calls: [A] },
  { form: "json", title: "tool and args",                   text: '{"tool": "read", "args": {"path": "a.ts"}}', calls: [A] },
  { form: "json", title: "tool and its arguments beside",   text: '{"tool": "read", "path": "a.ts"}', calls: [A] },
  { form: "json", title: "a function object",               text: '{"type": "function", "function": {"name": "read", "arguments": "{\\"path\\": \\"a.ts\\"}"}}', calls: [A] },
  { form: "json", title: "function_call",                   text: '{"function_call": {"name": "read", "arguments": {"path": "a.ts"}}}', calls: [A] },
  { form: "json", title: "tool_calls",                      text: `{"tool_calls": [${JSON_A}]}`, calls: [A] },
  { form: "json", title: "the plain protocol",              text: `{"tool_calls": [${JSON_A}], "final_answer": ""}`, calls: [A] },
  { form: "json", title: "parallel uses",                   text: '{"tool_uses": [{"recipient_name": "functions.read", "parameters": {"path": "a.ts"}}]}', calls: [["functions.read", A[1]]] },
  { form: "json", title: "action and action_input",         text: '{"thought": "I look", "action": "read", "action_input": {"path": "a.ts"}}', calls: [A] },
  { form: "json", title: "the tool as a key",               text: '{"read": {"path": "a.ts"}}', calls: [A] },
  { form: "json", title: "one argument missing",            text: '{"name": "write", "arguments": {"path": "a.ts"}}', calls: [["write", { path: "a.ts" }]] },
];

for (const { form, title, text, calls, prose } of CALLS) {
  test(`${form}: ${title} is read as the calls it is`, () => {
    const written = read(text);
    expect(inShort(written)).toEqual(calls);
    expect(written).toMatchObject({ form, ...(prose === undefined ? {} : { prose }) });
  });
}

const ARGUMENTS = [
  { path: "src/<a>.md", content: 'one\n"two"\n```\nthree', force: true },
  { path: "b", content: "42" },
];

for (const [quirk, { about, form }] of Object.entries(TEXT_CALLS)) {
  test(`calls that the fake model writes as ${quirk} (${about}) are read`, () => {
    const calls = ARGUMENTS.map((args, index) => ({
      id: `${index}`,
      name: "write",
      arguments_text: JSON.stringify(args),
    }));
    const text = form(calls as unknown as Parameters<typeof form>[0]);
    for (const said of [text, `I write both.\n\n${text}`]) {
      const written = read(said);
      expect(written?.kind === "calls" && written.calls.map(({ input }) => JSON.parse(input) as unknown)).toEqual(
        ARGUMENTS,
      );
    }
  });
}

// oxfmt-ignore
const ANSWERS = [
  { title: "plain words",                                text: "The file says hello." },
  { title: "words with brackets",                        text: "Use a[0] and {x} or f(x) < g(y) && h > 2." },
  { title: "a tag in inline code",                       text: `Qwen writes \`${tag("tool_call", JSON_A)}\` for a call.` },
  { title: "a tag in inline code at the end",            text: `Write \`${tag("tool_call", JSON_A)}\`` },
  { title: "a tag in a fence with words around",         text: `To call it:\n\n${F}xml\n${tag("tool_call", JSON_A)}\n${F}\n\nThe server does the rest.` },
  { title: "special tokens in a fence",                  text: `DeepSeek writes:\n${F}\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n{"path":"a.ts"}\n${F}\nThat is all.` },
  { title: "a fence of tildes around a fence",           text: `~~~\n${F}\n~~~ not the end\n[TOOL_CALLS] [${JSON_A}]\n~~~\nDone.` },
  { title: "a marker that is named in quotes",           text: 'The "[TOOL_CALLS]" token comes first, then "<tool_call>" and the rest.' },
  { title: "a marker that is named without quotes",      text: "Mistral puts [TOOL_CALLS] before its calls, and Llama <|python_tag|> in its place." },
  { title: "a tag within a sentence",                    text: `You would write ${tag("tool_call", JSON_A)} and wait for the result.` },
  { title: "a tag that is talked about",                 text: "Put the JSON between <tool_call> and </tool_call> tags." },
  { title: "a tool that is not offered, in the middle",  text: `For the weather:\n${tag("tool_call", '{"name":"get_weather","arguments":{"city":"Paris"}}')}\nThen it answers.` },
  { title: "JSON with a name",                           text: '{"name": "read", "version": "1.0.0"}' },
  { title: "a package that is called like a tool",       text: '{"name": "read", "description": "Reads", "input": "x"}' },
  { title: "the definition of a tool",                   text: '{"name": "read", "description": "Read a file", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}' },
  { title: "JSON of a tool that is not offered",         text: '{"name": "get_weather", "arguments": {"city": "Paris"}}' },
  { title: "JSON with arguments of another tool",        text: '{"name": "read", "arguments": {"city": "Paris"}}' },
  { title: "JSON among explanations",                    text: `The request is:\n${F}json\n${JSON_A}\n${F}\nIt reads the file a.ts, and nothing else.` },
  { title: "JSON that is said to be an example",         text: `Here is an example of a call:\n${F}json\n${JSON_A}\n${F}` },
  { title: "markup that is said to be possible",         text: `This is how you would call it:\n${F}xml\n${tag("tool_call", JSON_A)}\n${F}` },
  { title: "markup of another tool in a fence",          text: `${F}xml\n${tag("tool_call", '{"name":"get_weather","arguments":{"city":"Paris"}}')}\n${F}` },
  { title: "JSON behind a long text",                    text: `${"The tool takes one argument and returns the file. ".repeat(8)}\n${F}json\n${JSON_A}\n${F}` },
  { title: "a list of strings",                          text: '["read", "write"]' },
  { title: "an empty list",                              text: "[]" },
  { title: "a call in words",                            text: "I used read(path) to see it." },
  { title: "code that calls a function like a tool",     text: 'read("a.ts")' },
  { title: "a function without arguments",               text: "ls()" },
  { title: "Python with words behind it",                text: '[read(path="a.ts")] is what I did.' },
  { title: "HTML",                                       text: "<ul>\n<li>read</li>\n</ul>" },
  { title: "a tag of a tool's name around words",        text: "<read>this</read>" },
  { title: "an answer in the plain protocol",            text: '{"tool_calls": [], "final_answer": "Done"}' },
  { title: "a file with a call in its JSON",             text: '{"events": [{"name": "read", "arguments": {"path": "a.ts"}}]}' },
  { title: "broken JSON that is not a call",             text: '{"title": "x", "items": [1, 2' },
  { title: "a colon and an action",                      text: "Action: none needed.\nThe file is fine." },
  { title: "XML with a tool's name, and words behind", text: 'Add this:\n<tool name="read">\n<param name="path">a</param>\n</tool>\nto the file.' },
  { title: "XML with a name that is not a tool's",     text: 'Add this to tools.xml:\n<tool name="build">\n<param name="path">a</param>\n</tool>' },
  { title: "a tool's tag, and words behind",     text: "It is stored as\n<read>\n<path>a.ts</path>\n</read>\nin the file." },
  { title: "a tag in indented code",             text: `A call:\n\n    <tool_call>\n    ${JSON_A}\n    </tool_call>\n\nis text.` },
  { title: "a tag in indented code at the end",  text: `A call looks like this:\n\n\t<tool_call>\n\t${JSON_A}\n\t</tool_call>` },
  { title: "a token in indented code",           text: `Mistral:\n\n    first line\n    [TOOL_CALLS][${JSON_A}]\n` },
  { title: "a file that the user is to write",   text: `Put this into mcp.json:\n\n${F}json\n{"tool": "read", "path": "a.ts"}\n${F}` },
  { title: "a response of a server",             text: `Response:\n\n${F}json\n{"action": "read", "path": "a.ts"}\n${F}` },
  { title: "a template of C++",                  text: "Use std::function<void(int)>; template <function=read> is not valid." },
  { title: "a tag that GCC prints",              text: "<function=f> is how GCC prints it." },
  { title: "a list in code",                     text: "[read(path)]" },
  { title: "a build configuration",              text: '{"input": {"path": "a.ts"}, "output": {"file": "x"}}' },
  { title: "a table of markers",                         text: "| model | marker |\n| --- | --- |\n| Kimi | `<|tool_calls_section_begin|>` |" },
] as const;

for (const { title, text } of ANSWERS) {
  test(`${title} is an answer`, () => {
    expect(read(text)).toBeUndefined();
  });
}

// oxfmt-ignore
const ATTEMPTS = [
  { title: "a tag whose JSON is cut off",           text: '<tool_call>\n{"name": "read", "arguments": {"path": "a',         says: /cut off/ },
  { title: "a tag whose JSON is broken",            text: tag("tool_call", '{"name": "read", "arguments": {"path": "a" "b"}}'), says: /broken/ },
  { title: "words between the tags",                text: tag("tool_call", "\nread the file a.ts please\n"),                 says: /no name/ },
  { title: "a Python call without names",           text: tag("tool_call", 'read("a.ts")'),                                 says: /no names/ },
  { title: "a tag with nothing behind it",          text: "I look.\n<tool_call>",                                           says: /no name/ },
  { title: "a tag with a tool that is not offered", text: tag("tool_call", '{"name": "get_weather", "arguments": {}}'),     says: /unknown tool "get_weather"/ },
  { title: "special tokens with broken JSON",       text: '[TOOL_CALLS] [{"name": "read", "arguments": {"path": "a"]',      says: /cut off/ },
  { title: "special tokens with an unknown tool",   text: '<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>', says: /unknown tool "functions.search:0"/ },
  { title: "a key that comes twice",                text: tag("tool_call", '{"name":"read","arguments":{"path":"a","path":"b"}}'), says: /twice/ },
  { title: "a parameter that comes twice",          text: "<function=read><parameter=path>a</parameter><parameter=path>b</parameter></function>", says: /twice/ },
  { title: "a parameter that is cut off",           text: "<function=write>\n<parameter=path>\na.ts\n</parameter>\n<parameter=content>\nlet a", says: /cut off/ },
  { title: "bare JSON that is cut off",             text: '{"name": "read", "arguments": {"path": "a.ts"',                  says: /cut off/ },
  { title: "fenced JSON that is broken",            text: `${F}json\n{"name": "read", "arguments": {"path": "a"s"}}\n${F}`, says: /./ },
] as const;

for (const { title, text, says } of ATTEMPTS) {
  test(`${title} is neither a call nor an answer`, () => {
    const written = read(text);
    expect(written).toMatchObject({ kind: "attempt" });
    expect(written?.kind === "attempt" && written.problem).toMatch(says);
  });
}

test("one call that is broken among others is a call with broken arguments", () => {
  const broken = tag("tool_call", '{"name": "ls", "arguments": {"path": "a" "b"}}');
  const written = read(`${tag("tool_call", JSON_A)}\n${broken}`);
  expect(written).toMatchObject({ kind: "calls", calls: [{ name: "read" }, { name: "ls", input: broken }] });
});

test("text that the model has read is a quotation and not a call", () => {
  const text = `The file says:\n${tag("tool_call", JSON_A)}`;
  expect(read(text, { isQuoted: (markup: string) => markup.includes(JSON_A) })).toBeUndefined();
  expect(read(JSON_A, { isQuoted: (markup: string) => markup.includes(JSON_A) })).toBeUndefined();
});

test("if the provider announces a call, it may follow a long text", () => {
  const text = `${"I have looked at everything that there is to look at. ".repeat(8)}\n${F}json\n${JSON_A}\n${F}`;
  expect(inShort(read(text, { isMeant: true }))).toEqual([A]);
});

const MARKUP = CALLS.map(({ text }) => text);

test("in a fence among words no form is a call", () => {
  for (const text of MARKUP) expect(read(`See:\n\n~~~~\n${text}\n~~~~\n\nThat is how it is written.`)).toBeUndefined();
});

test("no text without a marker is a call, and none makes it throw", () => {
  const words = fc
    .array(
      fc.constantFrom(
        "read",
        "write",
        "the",
        "file",
        "{",
        "}",
        "(",
        ")",
        '"',
        "`",
        "\n",
        "<",
        ">",
        "/",
        "|",
        "=",
        ":",
        "path",
        " ",
      ),
    )
    .map((each) => each.join(""));
  fc.assert(fc.property(fc.oneof(fc.lorem({ maxCount: 50 }), fc.string()), (text) => read(text) === undefined));
  fc.assert(fc.property(words, (text) => void read(text)));
});

test("pieces of markup in any order do not make it throw", () => {
  const piece = fc.constantFrom(...MARKUP.flatMap((text) => text.split(/(?<=[>\]}"])|(?=[<[{"])/)));
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => void read(pieces.join(""))),
    { numRuns: 500 },
  );
});

// oxfmt-ignore
const HOSTILE = [
  "<tool_call>", "<tool_call>{", '<tool_call>{"', '<tool_call>{"\\"', "<tool_call>[", "[TOOL_CALLS]", '[TOOL_CALLS]read{"', "<function=read>", "<function=read><parameter=path>x</function>",
  "<function=read><parameter=path>", "</parameter>", "<｜tool▁call▁begin｜>", "<|channel|>commentary to=functions.read", "`", "` ``", `${F}\n`, "~~~\n", "<", "<<<|", "[read(path='", '[read(path="""',
  "<tool_call>read<arg_key>", "<read><path>", "Action: read\nAction Input: {", "<tool_call name=", "call:", '<|tool_call>call:a{b:<|"|>', "\n\n", "   ", "{", "[", '{"name":"read","arguments":', "<invoke name=",
  "<tool_call>{}</tool_call>", `<tool_call>${JSON_A}</tool_call>`,
];

test("markers with one far end are read to their end", () => {
  for (const end of ["</tool_call> and so on", `</tool_call>${" ".repeat(200_000)}`, "</parameter></function> x"]) {
    for (const piece of ["<tool_call>x", "<function=read><parameter=path>x", "<tool_call>read("])
      expect(["calls", "attempt", undefined]).toContain(read(piece.repeat(40_000) + end)?.kind);
  }
});

for (const piece of HOSTILE) {
  test(`a megabyte of ${JSON.stringify(piece)} is read to its end`, () => {
    expect(["calls", "attempt", undefined]).toContain(read(piece.repeat(Math.ceil(1_000_000 / piece.length)))?.kind);
  });
}
