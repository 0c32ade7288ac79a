import { callsOf } from "./call-values.ts";
import type { WrittenCall } from "./call-values.ts";
import { NAMED_TAG, readKeyedArguments, readNameTag, readTagArguments } from "./call-tags.ts";
import type { PropertiesOf } from "./call-tags.ts";
import { readKeywords, readRecord } from "./loose-literal.ts";
import { Unreadable } from "./text-reader.ts";
import type { TextReader } from "./text-reader.ts";

export interface BodyOptions {
  /** A marker announces a call. */
  readonly isMarked: boolean;
  readonly isOffered: (name: string) => boolean;
  readonly propertiesOf: PropertiesOf;
}

export interface Body {
  readonly calls: readonly WrittenCall[];
  /** The format, named after the model family. */
  readonly form: string;
}

type BodyReader = (reader: TextReader, options: BodyOptions) => Body | undefined;

/** Formats of a call. Each returns undefined if the text has another format, and throws if it is broken. */
const BODIES: readonly BodyReader[] = [readPythonList, readJson, readNamed, readUse, readNameFirst];

const BETWEEN = /[\s,;]+/y;
const FENCE = /(?:`{3,}|~{3,})[\w-]{0,20}/y;
const OPENER =
  /<[|｜](?:tool[_▁]calls?[_▁](?:section[_▁])?(?:begin|start)|plugin|tool_calls?|python_tag)[|｜]?>|<(?:tool_calls?|function_calls?)>/iy;
const MAX_CALLS = 1000;

/** Consecutive calls at this position; undefined if none. */
export function readBodies(reader: TextReader, options: BodyOptions): Body | undefined {
  const calls: WrittenCall[] = [];
  let form: string | undefined;
  while (calls.length < MAX_CALLS) {
    const before = reader.at;
    skipBetween(reader, options);
    const body = reader.isAtEnd ? undefined : readBody(reader, options);
    if (body === undefined) {
      reader.at = before;
      break;
    }
    calls.push(...body.calls);
    form ??= body.form;
    if (options.isMarked) reader.take(/[}\]]*/y); // an extra bracket is a frequent, unambiguous mistake
  }
  return form === undefined ? undefined : { calls, form };
}

/** A fence and a few nested tags may precede a call. */
const MAX_GAP = 8;

function skipBetween(reader: TextReader, { isMarked }: BodyOptions): void {
  for (let times = 0; times < MAX_GAP; times++) {
    const taken = reader.take(BETWEEN) ?? reader.take(FENCE) ?? (isMarked ? reader.take(OPENER) : undefined);
    if (taken === undefined) return;
  }
}

function readBody(reader: TextReader, options: BodyOptions): Body | undefined {
  const before = reader.at;
  for (const read of BODIES) {
    const body = read(reader, options);
    if (body !== undefined) return body;
    reader.at = before;
  }
  return undefined;
}

const LIST = /^\[\s*(?:[{\]]|$)/;

function readJson(reader: TextReader, options: BodyOptions): Body | undefined {
  if (!reader.startsWith("{") && !LIST.test(reader.text.slice(reader.at, reader.at + 20))) return undefined;
  const { value, repaired } = reader.json();
  const calls = callsOf(value, options);
  if (calls === undefined && options.isMarked) throw new Unreadable("it has no name or no arguments");
  return calls && { form: "json", calls: calls.map((call) => ({ ...call, repaired })) };
}

function readNamed(reader: TextReader, { propertiesOf }: BodyOptions): Body | undefined {
  const open = reader.take(NAMED_TAG);
  const [tag = "", kind = "", name = ""] = open ?? [];
  if (open === undefined) return undefined;
  const isJson = reader.space().startsWith("{");
  const call = { name, ...readTagArguments(reader, propertiesOf(name)) };
  const byKind = kind.toLowerCase() === "function" ? (isJson ? "llama" : "qwen") : "anthropic";
  return { form: /DSML/i.test(tag) ? "dsml" : byKind, calls: [call] };
}

function readUse(reader: TextReader, { propertiesOf }: BodyOptions): Body | undefined {
  const call = readNameTag(reader, propertiesOf);
  return call && { form: "tool_use", calls: [call] };
}

const PYTHON_LIST = /\[\s*(?=[A-Za-z_][\w.]{0,100}\()/y;
const NAME = /[A-Za-z_][\w.\-:/]{0,150}/y;

/** Llama 4, LFM2: `[read(path="a"), ls()]`. */
function readPythonList(reader: TextReader): Body | undefined {
  if (reader.take(PYTHON_LIST) === undefined) return undefined;
  const calls: WrittenCall[] = [];
  while (!reader.space().startsWith("]")) {
    calls.push(readPythonCall(reader));
    if (reader.space().startsWith(",")) reader.at += 1;
    else if (!reader.startsWith("]")) throw new Unreadable("its list of calls is cut off");
  }
  reader.at += 1;
  return { form: "python", calls };
}

function readPythonCall(reader: TextReader): WrittenCall {
  const name = reader.take(NAME)?.[0];
  if (name === undefined || !reader.startsWith("("))
    throw new Unreadable("its list contains something other than calls");
  return { name, input: JSON.stringify(readKeywords(reader)), repaired: [] };
}

const DEEPSEEK = /\s*<[|｜]tool[_▁]sep[|｜]>\s*/y;
const KIMI = /\s*<\|tool_call_argument_begin\|>\s*/y;
const MISTRAL = /(?:\[CALL_ID\][\w-]{0,80})?\[ARGS\]\s*/y;
const GEMMA = /call:/y;
const PRINT = /print\(\s*/y;
const CLOSING = /(?=\s*<(?:\/|[|｜]|tool_call\|))/y;

/** The name, then the arguments. Without a marker only a Python call with arguments is accepted. */
function readNameFirst(reader: TextReader, options: BodyOptions): Body | undefined {
  const { isMarked, isOffered, propertiesOf } = options;
  const isGemma = isMarked && reader.take(GEMMA) !== undefined;
  const isPrinted = reader.take(PRINT) !== undefined;
  const name = reader.take(NAME)?.[0];
  if (name === undefined) return undefined;
  const single = (form: string, input: string, repaired: readonly string[] = [], called = name): Body => ({
    form,
    calls: [{ name: called, input, repaired }],
  });
  if (reader.startsWith("(") && (isMarked || isOffered(name))) {
    const args = readKeywords(reader);
    if (isPrinted && reader.space().startsWith(")")) reader.at += 1;
    return isMarked || Object.keys(args).length > 0 ? single("python", JSON.stringify(args)) : undefined;
  }
  if (!isMarked) return undefined;
  if (isGemma && reader.startsWith("{")) return single("gemma", JSON.stringify(readRecord(reader)));
  const keyed = readKeyedArguments(reader, propertiesOf(name));
  if (keyed !== undefined) return single("glm", keyed.input, keyed.repaired);
  const separated = SEPARATED.find(({ mark }) => reader.take(mark) !== undefined);
  // DeepSeek's older format has the kind of the call before its name.
  const called = separated?.form === "deepseek" && name === "function" ? reader.take(NAME)?.[0] : name;
  if (called === undefined) throw new Unreadable("it has no name");
  reader.space().take(FENCE);
  if (reader.space().startsWith("{")) {
    const { value, repaired } = reader.json();
    reader.space().take(FENCE);
    return single(separated?.form ?? "mistral", JSON.stringify(value), repaired, called);
  }
  if (separated !== undefined) throw new Unreadable("its arguments are not a JSON object");
  return isOffered(name) && (reader.isAtEnd || reader.take(CLOSING) !== undefined) ? single("glm", "{}") : undefined;
}

const SEPARATED = [
  { mark: DEEPSEEK, form: "deepseek" },
  { mark: KIMI, form: "kimi" },
  { mark: MISTRAL, form: "mistral" },
] as const;
