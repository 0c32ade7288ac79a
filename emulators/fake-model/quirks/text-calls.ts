/** Calls as models write them into their text, where the server has no parser for them. */
import type { ReplyCall } from "../reply.ts";

type Form = (calls: readonly ReplyCall[]) => string;

function parsed({ arguments_text }: ReplyCall): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(arguments_text) as Readonly<Record<string, unknown>>;
  } catch {
    return { input: arguments_text };
  }
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Arguments one by one. */
function each(call: ReplyCall, form: (key: string, value: string) => string, between = "\n"): string {
  return Object.entries(parsed(call))
    .map(([key, value]) => form(key, shown(value)))
    .join(between);
}

function lines(form: (call: ReplyCall, index: number) => string, between = "\n"): Form {
  return (calls) => calls.map((call, index) => form(call, index)).join(between);
}

function named({ name }: ReplyCall, args: unknown, key = "arguments"): string {
  return JSON.stringify({ name, [key]: args });
}

const hermes = (call: ReplyCall): string => `<tool_call>\n${named(call, parsed(call))}\n</tool_call>`;

const invoke = (call: ReplyCall): string =>
  `<invoke name="${call.name}">\n${each(call, (key, value) => `<parameter name="${key}">${value}</parameter>`)}\n</invoke>`;

const dsml = (call: ReplyCall): string =>
  `<｜DSML｜invoke name="${call.name}">\n${Object.entries(parsed(call))
    .map(
      ([key, value]) =>
        `<｜DSML｜parameter name="${key}" string="${String(typeof value === "string")}">${shown(value)}</｜DSML｜parameter>`,
    )
    .join("\n")}\n</｜DSML｜invoke>`;

const fenced = (call: ReplyCall, language: string): string =>
  `\`\`\`${language}\n${JSON.stringify({ name: call.name, arguments: parsed(call) }, undefined, 2)}\n\`\`\``;

/** By the name of the quirk. */
// oxfmt-ignore
export const TEXT_CALLS = {
  text_call_hermes:          { about: "Qwen and Hermes: <tool_call>{json}</tool_call>", form: lines(hermes) },
  text_call_unclosed:        { about: "the same without the closing tag", form: (calls) => lines(hermes)(calls).replace(/\n<\/tool_call>$/, "") },
  text_call_qwen_xml:        { about: "Qwen3-Coder: <tool_call><function=name><parameter=key>", form: lines((call) => `<tool_call>\n<function=${call.name}>\n${each(call, (key, value) => `<parameter=${key}>\n${value}\n</parameter>`)}\n</function>\n</tool_call>`) },
  text_call_fenced:          { about: "JSON in a fence that names an offered tool", form: lines((call) => fenced(call, "json")) },
  text_call_fenced_tool:     { about: "the same in a fence of the language tool_call", form: lines((call) => fenced(call, "tool_call")) },
  text_call_bare_json:       { about: "JSON that names an offered tool, and nothing else", form: lines((call) => named(call, parsed(call))) },
  text_call_bare_parameters: { about: "Llama: the same, with parameters instead of arguments", form: lines((call) => named(call, parsed(call), "parameters")) },
  text_call_deepseek:        { about: "DeepSeek: <｜tool▁calls▁begin｜> and a fence", form: (calls) => `<｜tool▁calls▁begin｜>${lines((call) => `<｜tool▁call▁begin｜>function<｜tool▁sep｜>${call.name}\n\`\`\`json\n${call.arguments_text}\n\`\`\`<｜tool▁call▁end｜>`)(calls)}<｜tool▁calls▁end｜>` },
  text_call_deepseek_v31:    { about: "DeepSeek V3.1: the same without a fence", form: (calls) => `<｜tool▁calls▁begin｜>${lines((call) => `<｜tool▁call▁begin｜>${call.name}<｜tool▁sep｜>${call.arguments_text}<｜tool▁call▁end｜>`, "")(calls)}<｜tool▁calls▁end｜>` },
  text_call_deepseek_dsml:   { about: "DeepSeek V3.2 and later: DSML tags", form: (calls) => `<｜DSML｜function_calls>\n${lines(dsml)(calls)}\n</｜DSML｜function_calls>` },
  text_call_mistral:         { about: "Mistral: [TOOL_CALLS][{json}]", form: (calls) => `[TOOL_CALLS][${lines((call) => named(call, parsed(call)), ", ")(calls)}]` },
  text_call_mistral_name:    { about: "Mistral, newer: [TOOL_CALLS]name{json}", form: lines((call) => `[TOOL_CALLS]${call.name}${call.arguments_text}`, "") },
  text_call_mistral_args:    { about: "Mistral, newer: [TOOL_CALLS]name[ARGS]{json}", form: lines((call) => `[TOOL_CALLS]${call.name}[ARGS]${call.arguments_text}`, "") },
  text_call_llama_python:    { about: "Llama 3: <|python_tag|>{json}", form: lines((call) => `<|python_tag|>${named(call, parsed(call), "parameters")}<|eom_id|>`) },
  text_call_llama_function:  { about: "Llama 3: <function=name>{json}</function>", form: lines((call) => `<function=${call.name}>${call.arguments_text}</function>`) },
  text_call_glm:             { about: "GLM: <tool_call>name and <arg_key>", form: lines((call) => `<tool_call>${call.name}\n${each(call, (key, value) => `<arg_key>${key}</arg_key>\n<arg_value>${value}</arg_value>`)}\n</tool_call>`) },
  text_call_kimi:            { about: "Kimi: <|tool_calls_section_begin|>", form: (calls) => `<|tool_calls_section_begin|>${lines((call, i) => `<|tool_call_begin|>functions.${call.name}:${i}<|tool_call_argument_begin|>${call.arguments_text}<|tool_call_end|>`, "")(calls)}<|tool_calls_section_end|>` },
  text_call_harmony:         { about: "gpt-oss: <|channel|>commentary to=functions.name", form: lines((call) => `<|channel|>commentary to=functions.${call.name} <|constrain|>json<|message|>${call.arguments_text}<|call|>`) },
  text_call_minimax:         { about: "MiniMax: <minimax:tool_call><invoke>", form: (calls) => `<minimax:tool_call>\n${lines(invoke)(calls)}\n</minimax:tool_call>` },
  text_call_invoke:          { about: "as in Claude's older prompts: <function_calls><invoke>", form: (calls) => `<function_calls>\n${lines(invoke)(calls)}\n</function_calls>` },
} as const satisfies Record<string, { readonly about: string; readonly form: Form }>;
