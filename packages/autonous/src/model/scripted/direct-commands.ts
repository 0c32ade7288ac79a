import { nearestNames, parseStrictJson } from "@autonous/runtime/internal";
import { syntaxReason } from "../calls/json-syntax.ts";
import type { ParsedCall } from "../calls/json-reply.ts";
import type { ModelTool } from "../provider.ts";

/** Parsed input: calls to make, or an answer instead. */
type TypedCommand = { readonly calls: readonly ParsedCall[] } | { readonly answer: string };

/** `/name` of a tool and the rest, which may span several lines. */
const COMMAND = /^\/([a-zA-Z][a-zA-Z0-9_-]{0,127})(?:\s+([^]*))?$/;
/** As in model replies: JSON starts with a brace followed by a quote or a brace. */
const JSON_OPENING = /^\{\s*["}]/;

/** Example values for text arguments in the help. */
// oxfmt-ignore
const EXAMPLE_TEXTS: ReadonlyMap<string, string> = new Map([
  ["path",    "src"],
  ["pattern", "TODO"],
  ["query",   "TODO"],
  ["cmd",     "npm test"],
  ["url",     "https://example.com"],
]);

/** Example values for other types. */
const EXAMPLE_VALUES: ReadonlyMap<unknown, unknown> = new Map<unknown, unknown>([
  ["array", ["src"]],
  ["boolean", true],
  ["integer", 1],
  ["number", 1],
  ["object", {}],
]);

/** Parses input for use without a model: each line that starts with "/" is a command, the lines below belong to it. */
export function readCommands(text: string, tools: readonly ModelTool[]): TypedCommand {
  const commands = text.trim().split(/\n(?=\/)/);
  const calls: ParsedCall[] = [];
  for (const command of commands) {
    const typed = readCommand(command.trim(), tools);
    if ("answer" in typed) return typed;
    calls.push(typed);
  }
  return { calls };
}

function readCommand(command: string, tools: readonly ModelTool[]): ParsedCall | { readonly answer: string } {
  const match = COMMAND.exec(command);
  if (match === null) return { answer: helpText(tools) };
  const [, name = "", rest = ""] = match;
  const tool = tools.find((each) => each.name === name) ?? tools.find((each) => each.name === name.toLowerCase());
  if (tool !== undefined) return readArguments(tool, rest.trim());
  return { answer: name === "help" ? helpText(tools) : unknownCommand(name, tools) };
}

function readArguments(tool: ModelTool, rest: string): ParsedCall | { readonly answer: string } {
  if (rest === "") return withoutArguments(tool);
  if (JSON_OPENING.test(rest)) return readJson(tool, rest);
  const primary = primaryArgument(tool);
  if (primary === undefined) return { answer: `/${tool.name} takes its arguments as JSON. ${usage(tool)}` };
  return { name: tool.name, arguments: { [primary]: withoutQuotes(rest) } };
}

function withoutArguments(tool: ModelTool): ParsedCall | { readonly answer: string } {
  const required = requiredArguments(tool);
  if (required.length === 0) return { name: tool.name, arguments: {} };
  return { answer: `/${tool.name} needs ${required.join(" and ")}. ${usage(tool)}` };
}

function readJson(tool: ModelTool, rest: string): ParsedCall | { readonly answer: string } {
  try {
    return { name: tool.name, arguments: parseStrictJson(rest) as Record<string, unknown> };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { answer: `The JSON after /${tool.name} cannot be read: ${syntaxReason(error)}. ${usage(tool)}` };
  }
}

/** The argument that gets plain text: the first required string, else the first string. */
function primaryArgument(tool: ModelTool): string | undefined {
  const strings = Object.entries(properties(tool))
    .filter(([, schema]) => isRecord(schema) && schema["type"] === "string")
    .map(([name]) => name);
  const required = requiredArguments(tool);
  return strings.find((name) => required.includes(name)) ?? strings[0];
}

function requiredArguments({ args_schema }: ModelTool): readonly string[] {
  const { required } = args_schema;
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
}

function properties({ args_schema }: ModelTool): Readonly<Record<string, unknown>> {
  return isRecord(args_schema["properties"]) ? args_schema["properties"] : {};
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Removes one pair of quotes around the text, unless the same quote also occurs inside. */
function withoutQuotes(text: string): string {
  const quote = text[0] ?? "";
  const inner = text.slice(1, -1);
  const isQuoted =
    text.length > 2 && (quote === '"' || quote === "'") && text.endsWith(quote) && !inner.includes(quote);
  return isQuoted ? inner : text;
}

function helpText(tools: readonly ModelTool[]): string {
  const lines = tools.map((tool) => `${exampleOf(tool)}   ${firstSentence(tool.description)}`);
  return [
    "No model is set, so only commands work here. One per line:",
    ...lines,
    'Arguments can be given as JSON too: /name {"argument":"value"}',
    "To give tasks in plain words, set a model: AUTONOUS_MODEL.",
  ].join("\n");
}

function firstSentence(description: string): string {
  return /^[^]*?\.(?=\s|$)/.exec(description)?.[0] ?? description;
}

function usage(tool: ModelTool): string {
  return `For example: ${exampleOf(tool)}`;
}

function exampleOf(tool: ModelTool): string {
  const required = requiredArguments(tool);
  const primary = primaryArgument(tool);
  if (primary === undefined && required.length === 0) return `/${tool.name}`;
  const isPlain = primary !== undefined && required.every((name) => name === primary);
  if (isPlain) return `/${tool.name} ${exampleText(primary)}`;
  const values = required.map((name) => {
    const schema = properties(tool)[name];
    return [name, EXAMPLE_VALUES.get(isRecord(schema) && schema["type"]) ?? exampleText(name)] as const;
  });
  return `/${tool.name} ${JSON.stringify(Object.fromEntries(values))}`;
}

function exampleText(name: string): string {
  return EXAMPLE_TEXTS.get(name) ?? `<${name}>`;
}

function unknownCommand(name: string, tools: readonly ModelTool[]): string {
  const names = tools.map((tool) => tool.name);
  const nearest = nearestNames(name, names);
  const guess = nearest.length === 0 ? "" : ` Did you mean ${nearest.map((each) => `/${each}`).join(" or ")}?`;
  return `Unknown command /${name}.${guess} /help lists the commands.`;
}
