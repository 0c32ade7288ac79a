import { PREFIX } from "./call-tags.ts";

/**
 * Kind of a marker: `special` ones never occur in prose; a `tag` may be mentioned in prose; a `loose` one is a tag that
 * any XML may contain.
 */
export interface Marker {
  readonly certainty: "special" | "tag" | "loose";
  readonly start: number;
  /** Position after it. */
  readonly end: number;
  /** The format, if the marker determines it. */
  readonly form?: string;
  /** The marker contains the name of the call; its arguments follow. */
  readonly name?: string;
}

const SPECIAL = /<[|｜]([^<>\n]{1,40})>/y;
/** Tokens that start calls, without their bars; DeepSeek writes `▁` for `_`. */
// oxfmt-ignore
const SPECIAL_FORMS: ReadonlyMap<string, string> = new Map([
  ["tool_calls_begin", "deepseek"], ["tool_call_begin", "deepseek"], ["tool_calls_section_begin", "kimi"],
  ["python_tag", "llama"], ["python_start", "llama"],
  ["tool_call", "marked"], ["tool_calls", "marked"], ["tool_call_start", "marked"], ["tool_calls_start", "marked"],
  ["action_start", "marked"], ["start_action", "marked"], ["tools_prefix", "marked"], ["function_call", "marked"],
]);
const OTHER_SPECIAL = /\[TOOL_(?:CALLS?|REQUEST)\]|<TOOLCALL>|<start_function_call>/y;
/** gpt-oss: `<|channel|>commentary to=functions.read <|constrain|>json<|message|>`, or the recipient before it. */
const HARMONY =
  /(?:<\|start\|>)?(?:assistant)?(?: {1,3}to=([\w.-]{1,150}))?\s{0,3}<\|channel\|>\s{0,3}(?:commentary|analysis|final)(?:\s{1,3}to=([\w.-]{1,150}))?(?:[^<>\n{]{0,40}|\s{0,3}<\|constrain\|>[^<>\n]{0,40})<\|message\|>/y;
/** The same after a server removed the tokens. */
const BARE_HARMONY =
  /(?:assistant)?(?:commentary|analysis)\s{1,3}to=(functions\.[\w.-]{1,150})[ \t]{0,3}(?:code|json)?\s{0,5}(?=\{)/y;

const CONTAINER = new RegExp(
  String.raw`<${PREFIX}(?:\w{1,20}_)?(?:tool_?calls?|function_?calls?|tool_use|tool_request|tool_code|tools?|function)(?:\s{1,5}name\s{0,3}=\s{0,3}["']([^\s"'<>]{1,200})["'])?\s{0,5}>`,
  "iy",
);
const NAMED = new RegExp(String.raw`<${PREFIX}(function|invoke|tool)(?:=|\s{1,5}name\s{0,5}=)`, "iy");
const ANY_XML = /^<(?:tools?|function)\b(?!:)/i;
const TOOL_TAG = /<([A-Za-z_][\w-]{0,100})>/y;
const REACT = /Action:[ \t]{0,5}([A-Za-z_][\w.\-:/]{0,150})[ \t]{0,5}\r?\n\s{0,10}Action Input:[ \t]{0,5}/y;
const COHERE = /Action:\s{0,5}(?=```json)/y;

/** Possible starts of a marker. */
export const CANDIDATE =
  /<|\[TOOL_(?:CALLS?|REQUEST)\]|^Action:|(?:assistant)?(?:commentary|analysis) {1,3}to=functions\./gm;

/** The marker at this position. Linear time: each pattern reads a bounded piece of the text. */
export function markerAt(text: string, at: number, isOffered: (name: string) => boolean): Marker | undefined {
  return harmonyAt(text, at) ?? specialAt(text, at) ?? tagAt(text, at, isOffered) ?? wordsAt(text, at);
}

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

function harmonyAt(text: string, at: number): Marker | undefined {
  const found = match(HARMONY, text, at) ?? match(BARE_HARMONY, text, at);
  const name = found?.[1] ?? found?.[2];
  if (found === undefined || name === undefined) return undefined;
  return { certainty: "special", start: at, end: at + found[0].length, form: "harmony", name };
}

function specialAt(text: string, at: number): Marker | undefined {
  const token = match(SPECIAL, text, at);
  const word = token?.[1]
    ?.replace(/[|｜]$/, "")
    .replaceAll("▁", "_")
    .toLowerCase();
  const form = word === undefined ? undefined : SPECIAL_FORMS.get(word);
  if (token !== undefined && form !== undefined)
    return { certainty: "special", start: at, end: at + token[0].length, form };
  const other = match(OTHER_SPECIAL, text, at)?.[0];
  if (other === undefined) return undefined;
  const about = { certainty: "special", start: at, end: at + other.length } as const;
  const own = other.includes("REQUEST") ? "marked" : "mistral";
  return other.startsWith("[") ? { ...about, form: own } : about;
}

function tagAt(text: string, at: number, isOffered: (name: string) => boolean): Marker | undefined {
  const container = match(CONTAINER, text, at);
  const certainty = /^<[|｜]/.test(text.slice(at, at + 2)) ? "special" : "tag";
  if (container !== undefined) {
    const [tag, name] = container;
    const form = tag.toLowerCase().startsWith("<minimax:") ? { form: "minimax" } : {};
    const sure = certainty === "tag" && ANY_XML.test(tag) ? "loose" : certainty;
    return { certainty: sure, start: at, end: at + tag.length, ...form, ...(name === undefined ? {} : { name }) };
  }
  // The tag is part of the call, so it is not skipped.
  const named = match(NAMED, text, at)?.[1]?.toLowerCase();
  if (named !== undefined) return { certainty: named === "tool" ? "loose" : certainty, start: at, end: at };
  const name = match(TOOL_TAG, text, at)?.[1];
  if (name === undefined || !isOffered(name)) return undefined;
  return { certainty: "loose", start: at, end: at + name.length + 2, form: "tool tag", name };
}

function wordsAt(text: string, at: number): Marker | undefined {
  const react = match(REACT, text, at);
  if (react !== undefined)
    return {
      certainty: "tag",
      start: at,
      end: at + react[0].length,
      form: "react",
      ...(react[1] === undefined ? {} : { name: react[1] }),
    };
  const cohere = match(COHERE, text, at);
  return cohere && { certainty: "tag", start: at, end: at + cohere[0].length, form: "react" };
}

const CLOSER = new RegExp(
  String.raw`\s*(?:</${PREFIX}[\w-]{1,40}>|<[|｜][^<>\n"]{1,40}>|<(?:tool_call|channel|turn)\|>|<end_function_call>|</s>|\[(?:/|END_)TOOL_(?:REQUEST|CALLS?)\])`,
  "y",
);
const OPENING = /begin|start|tool_calls?[|｜]?>$|python_tag|channel|prefix/i;

/** Closing markup of calls, in any format. */
export const CLOSE = new RegExp(
  String.raw`</${PREFIX}(?:\w{1,20}_)?(?:tool_?calls?|function_?calls?|tool_use|tool_request|tool_code|tools?|function|invoke)>|<[|｜]tool[_▁]calls?[_▁](?:section[_▁])?end[|｜]>`,
  "gi",
);

/** Position after the ends of calls and of the reply at this position, in any format. */
export function endOfClosers(text: string, at: number): number {
  for (let end = at; ;) {
    const closer = match(CLOSER, text, end)?.[0];
    if (closer === undefined || (/<[|｜]/.test(closer) && OPENING.test(closer))) return end;
    end += closer.length;
  }
}
