import { readCallArguments } from "../calls/call-arguments.ts";
import { resolveToolName } from "../calls/called-name.ts";
import { fitArguments } from "../calls/fit-arguments.ts";
import { readBodies } from "./call-bodies.ts";
import type { BodyOptions } from "./call-bodies.ts";
import type { WrittenCall } from "./call-values.ts";
import { findEnvelopes } from "./envelopes.ts";
import type { Envelope } from "./envelopes.ts";
import { endOfClosers } from "./markers.ts";
import { TextReader, Unreadable } from "./text-reader.ts";

interface WrittenTool {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly args_schema: Readonly<Record<string, unknown>>;
}

export interface WrittenOptions {
  readonly tools: readonly WrittenTool[];
  /** Whether markup, or all calls in it, quote something that the model has read. */
  readonly isQuoted: (markup: string, calls: readonly WrittenCall[]) => boolean;
  /** The provider's finish reason announces calls: text around them is allowed. */
  readonly isMeant?: boolean;
  /** Only markup at the end of the text counts. */
  readonly isOnlyAtEnd?: boolean;
}

/** Calls found in a text without native function calls. */
export type WrittenReply =
  /** `form`: the format of the calls. `prose`: the text around them. */
  | { readonly kind: "calls"; readonly calls: readonly WrittenCall[]; readonly form: string; readonly prose: string }
  /** An attempted call that cannot be parsed: `problem` is a clause. */
  | { readonly kind: "attempt"; readonly form: string; readonly problem: string };

/**
 * Parses tool calls that a model wrote as text. Undefined: it is an answer, even if it mentions calls. Special tokens
 * of models count anywhere outside code; tags count if they start a line or end the text; tags that any XML may contain
 * count if they end it; JSON and Python count if the text contains nothing else. All must name an offered tool. Never
 * throws; linear time.
 */
export function readWrittenCalls(text: string, options: WrittenOptions): WrittenReply | undefined {
  const body = bodyOptions(options);
  const envelopes = withoutQuoted(text, findEnvelopes(text, body), options);
  const isCall = (each: Envelope): boolean =>
    each.calls?.some(({ name }) => body.isOffered(name)) === true &&
    (each.isLast || (options.isOnlyAtEnd !== true && isSureInside(each)));
  const isAttempt = (each: Envelope): boolean =>
    (each.isLast && (each.certainty === "special" || (each.certainty === "tag" && each.isFirst))) ||
    (each.problem !== undefined &&
      (each.certainty === "special" || (each.certainty === "loose" && each.isLast)) &&
      namedIn(text, each, options) !== undefined);
  const counted = envelopes.filter((each) => isCall(each) || isAttempt(each));
  const first = counted.find(isCall);
  if (first !== undefined) {
    const calls = counted.flatMap((each) => each.calls ?? brokenCall(text, each, options));
    return { kind: "calls", calls, form: first.form, prose: proseAround(text, counted) };
  }
  const [attempt] = counted;
  if (attempt !== undefined) {
    const unknown = attempt.calls?.map(({ name }) => JSON.stringify(name.slice(0, 100))).join(", ");
    return { kind: "attempt", form: attempt.form, problem: attempt.problem ?? `unknown tool ${unknown}` };
  }
  return options.isOnlyAtEnd === true ? undefined : readAll(text, options, body);
}

/** With more calls, names are not checked one by one: the reply is rejected anyway. */
const MAX_LOOKUPS = 300;

function withoutQuoted(text: string, all: readonly Envelope[], { isQuoted }: WrittenOptions): readonly Envelope[] {
  if (all.length <= MAX_LOOKUPS) {
    return all.filter(({ start, closed_from, calls = [] }) => !isQuoted(text.slice(start, closed_from), calls));
  }
  return isQuoted(text.slice(all[0]?.start, all.at(-1)?.closed_from), []) ? [] : all;
}

/** Whether it is a call although text follows it: models continue with invented results. */
function isSureInside({ certainty, isFirst }: Envelope): boolean {
  return certainty === "special" || (certainty === "tag" && isFirst);
}

function bodyOptions({ tools }: WrittenOptions): Omit<BodyOptions, "isMarked"> {
  const toolOf = (name: string): WrittenTool | undefined => findTool(name, tools);
  return {
    isOffered: (name) => toolOf(name) !== undefined,
    propertiesOf: (name) => {
      const properties = toolOf(name)?.args_schema["properties"];
      return typeof properties === "object" && properties !== null
        ? (properties as Readonly<Record<string, unknown>>)
        : undefined;
    },
  };
}

function findTool(written: string, tools: readonly WrittenTool[]): WrittenTool | undefined {
  const { name } = resolveToolName(written, tools);
  return tools.find((tool) => tool.name === name || tool.aliases?.includes(name) === true);
}

const WINDOW_CHARACTERS = 2000;
const MAX_EMPTY = 40;

/** The offered tool named in broken markup. */
function namedIn(
  text: string,
  { start, end }: Pick<Envelope, "start" | "end">,
  { tools }: WrittenOptions,
): string | undefined {
  const words = new Set(text.slice(start, Math.min(end, start + WINDOW_CHARACTERS)).match(/[\w-]+/g));
  return tools.find(({ name }) => words.has(name))?.name;
}

/** A broken call among valid ones: it is answered with its problem. */
function brokenCall(text: string, envelope: Envelope, options: WrittenOptions): readonly WrittenCall[] {
  const name = namedIn(text, envelope, options);
  const input = text.slice(envelope.start, envelope.end);
  // An opening tag instead of the closing one.
  const isEmpty = name === undefined && input.length < MAX_EMPTY;
  return isEmpty ? [] : [{ name: name ?? "unknown", input, repaired: [] }];
}

/** Invented results after a model's calls are dropped. */
const MADE_UP =
  /<\/?(?:tool_response|tool_result|function_results?|observation)\b|<[|｜]tool[_▁](?:response|outputs?)|^Observation:/im;

function proseAround(text: string, envelopes: readonly Envelope[]): string {
  const parts: string[] = [];
  let from = 0;
  for (const { start, end } of envelopes) {
    parts.push(text.slice(from, start));
    from = end;
  }
  const rest = text.slice(from);
  parts.push(rest.slice(0, MADE_UP.exec(rest)?.index ?? rest.length));
  return parts
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .join("\n");
}

/** A sentence or two before the calls. */
const MAX_LEAD = 300;
const AN_EXAMPLE =
  /\b(?:examples?|e\.g|for instance|such as|looks? like|like this|format|syntax|schema|sample|would|you (?:can|could|may|might)|how (?:to|you))\b|例如|示例|例子|格式/i;
/** The text tells a reader what to do with the code that follows. */
const FOR_READER =
  /(?<!\bI |\bI'll |\bI will |\blet me |\bto |\bnow )\b(?:put|add|paste|copy|insert|save) (?:this|the following|it)\b|\b(?:response|output|payload|configuration|config)(?: is)?:$/i;
const BEGINNING = /^[ \t]*(?:`{3,}|~{3,})|[[{]/m;
const PYTHON = /^\s*(?:print\()?[A-Za-z_][\w.]{0,100}\(/;
const AFTER = /[\s`~]*/y;

/** A reply that contains only calls, except for a short sentence before them. */
function readAll(text: string, options: WrittenOptions, body: Omit<BodyOptions, "isMarked">): WrittenReply | undefined {
  const start = PYTHON.test(text) ? 0 : BEGINNING.exec(text)?.index;
  if (start === undefined) return undefined;
  const lead = text.slice(0, start).trim();
  if (options.isMeant !== true && (lead.length > MAX_LEAD || AN_EXAMPLE.test(lead) || FOR_READER.test(lead)))
    return undefined;
  if (options.isQuoted(text.slice(start), [])) return undefined;
  const fenced = markedInFence(text.slice(start).trim(), options, body);
  if (fenced !== undefined) return { ...fenced, prose: lead };
  const reader = new TextReader(text, start);
  try {
    const read = readBodies(reader, { ...body, isMarked: false });
    const end = reader.at;
    reader.take(AFTER);
    const isAll = endOfClosers(text, reader.at) >= reader.end;
    const isSure = read !== undefined && isAll && read.calls.every((call) => fitsTool(call, options));
    return isSure && !options.isQuoted(text.slice(start, end), read.calls)
      ? { kind: "calls", calls: read.calls, form: read.form, prose: lead }
      : undefined;
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return looksLikeCall(text.slice(start, start + WINDOW_CHARACTERS), options)
      ? { kind: "attempt", form: "json", problem: error.message }
      : undefined;
  }
}

const FENCED = /^(`{3,}|~{3,})[^\n`]{0,40}\n/;

/** Marked calls that fill the only fence of a reply. */
function markedInFence(
  text: string,
  options: WrittenOptions,
  body: Omit<BodyOptions, "isMarked">,
): Extract<WrittenReply, { kind: "calls" }> | undefined {
  const [open = "", mark = ""] = FENCED.exec(text) ?? [];
  if (open === "" || !text.endsWith(`\n${mark}`)) return undefined;
  const inner = text.slice(open.length, -mark.length);
  const envelopes = findEnvelopes(inner, body);
  const calls = envelopes.flatMap((each) => each.calls ?? []);
  const [first] = envelopes;
  const isSure = envelopes.every((each) => each.calls !== undefined) && calls.every((call) => fitsTool(call, options));
  if (first === undefined || !isSure || proseAround(inner, envelopes) !== "") return undefined;
  if (withoutQuoted(inner, envelopes, options).length === 0) return undefined;
  return { kind: "calls", calls, form: first.form, prose: "" };
}

/** Whether the arguments match the tool: all required ones, or no unknown ones. */
function fitsTool({ name, input }: WrittenCall, { tools }: WrittenOptions): boolean {
  const tool = findTool(name, tools);
  const read = readCallArguments(input);
  if (tool === undefined || "problem" in read) return false;
  if (resolveToolName(name, tools).name !== tool.name) return true; // an alias has different arguments
  const { properties, required } = tool.args_schema;
  const known = new Set(Object.keys(Object(properties)));
  const given = Object.keys(fitArguments(read.arguments, tool.args_schema).arguments);
  const isComplete = Array.isArray(required) ? required.every((key) => given.includes(String(key))) : true;
  return isComplete || (given.length > 0 && given.every((key) => known.has(key)));
}

const CALL_START =
  /^[`~\w\s]{0,40}[[{]\s*(?:\{\s*)?["'](?:type|id|name|tool|tool_name|function|function_name|action|tool_calls|function_call)["']\s*:/;
const ARGUMENTS = /["'](?:arguments|parameters|params|input|args|action_input)["']\s*:/;

function looksLikeCall(beginning: string, { tools }: WrittenOptions): boolean {
  const named = new Set([...beginning.matchAll(/["']([\w.:-]{1,100})["']/g)].map(([, word = ""]) => word));
  return (
    CALL_START.test(beginning) &&
    ARGUMENTS.test(beginning) &&
    [...named].some((word) => findTool(word, tools) !== undefined)
  );
}
