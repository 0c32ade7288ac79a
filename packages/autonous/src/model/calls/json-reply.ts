import { syntaxReason } from "./json-syntax.ts";
import { withoutThinking } from "../written/thinking.ts";
import { isRecord } from "../json-values.ts";

/** One call requested by the model. */
export interface ParsedCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** What a reply means (spec 1, Model replies). `message` tells the model how to fix its reply. */
export type ParsedReply =
  | { readonly kind: "tool_calls"; readonly calls: readonly ParsedCall[]; readonly text: string }
  | { readonly kind: "final"; readonly text: string }
  | { readonly kind: "invalid"; readonly message: string };

type JsonObject = Readonly<Record<string, unknown>>;

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Deeper than any tool's arguments, and safe for recursion. */
const MAX_DEPTH = 100;
/** No request may have a longer tool name. */
const MAX_NAME_LENGTH = 200;
const THINK_OPEN = "<think>";
const EXAMPLE = '{"tool_calls":[{"name":"ls","arguments":{"path":"."}}],"final_answer":""}';

/** `{"`, `{}` and a brace at the end of the text start JSON; `{name}` and `{ return` are prose. */
const OBJECT_OPENING = /\{\s*(?:["}]|$)/y;
const FENCE_LINE = /^[ \t]*(`{3,}|~{3,})[^\r\n]*$/gm;

/** Why a reply is rejected. Thrown and caught only in this file. */
class Refusal extends Error {}

/**
 * Reads a reply in the plain JSON protocol. Accepts exactly one object, with white space, one code fence, a leading
 * reasoning block and prose around it; repairs nothing. Never throws; linear time.
 */
export function parseReply(text: string): ParsedReply {
  try {
    const spoken = withoutReasoning(text);
    const span = findObject(spoken);
    const prose = proseAround(spoken, span);
    return readObject(JSON.parse(spoken.slice(span.start, span.end)) as JsonObject, prose);
  } catch (error) {
    if (error instanceof Refusal) return { kind: "invalid", message: `Cannot use the reply: ${error.message}` };
    if (error instanceof SyntaxError) return { kind: "invalid", message: brokenJson(error) };
    throw error;
  }
}

/**
 * Finds the one JSON object in a text that is not a reply of the protocol, in the same way. Throws an error with the
 * reason.
 */
export function readJsonObject(text: string): unknown {
  const spoken = withoutReasoning(text);
  const { start, end } = findObject(spoken);
  return JSON.parse(spoken.slice(start, end)) as unknown;
}

/**
 * The arguments of a native function call: one JSON object and nothing else, as strict as in a reply. Empty text means
 * no arguments. Never throws.
 */
export function readArguments(text: string): { readonly arguments: JsonObject } | { readonly problem: string } {
  const given = text.trim();
  if (given === "") return { arguments: {} };
  try {
    if (!given.startsWith("{")) throw new Refusal("they must be a JSON object");
    if (endOfObject(given, 0) !== given.length) throw new Refusal("they contain more than one JSON object");
    const value = JSON.parse(given) as JsonObject;
    refuseUnrecordable(value, "the object");
    return { arguments: value };
  } catch (error) {
    if (error instanceof Refusal) return { problem: error.message };
    if (error instanceof SyntaxError) return { problem: `the JSON is broken (${syntaxReason(error)})` };
    throw error;
  }
}

/** Whether a request may contain a tool with this name. */
export function isToolName(name: string): boolean {
  return name !== "" && name.length <= MAX_NAME_LENGTH && name.isWellFormed();
}

function brokenJson(error: SyntaxError): string {
  return `Cannot use the reply: its JSON is broken (${syntaxReason(error)}); send the whole object again as strict JSON`;
}

function withoutReasoning(said: string): string {
  const { text, unclosed } = withoutThinking(said, { isJson: true });
  if (unclosed === undefined) return text;
  throw new Refusal(`it was cut off inside ${THINK_OPEN}; think less, then send one JSON object such as ${EXAMPLE}`);
}

/** Position of the only JSON object. The rest must clearly be prose. */
function findObject(text: string): Span {
  let found: Span | undefined;
  let openBraces = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === "}") openBraces = Math.max(0, openBraces - 1);
    if (character !== "{") continue;
    if (!opensObject(text, at)) {
      openBraces += 1;
      continue;
    }
    if (found !== undefined) {
      throw new Refusal(
        "it contains more than one JSON object; send exactly one, with all the calls in its tool_calls",
      );
    }
    if (openBraces > 0) throw insideBrackets();
    found = { start: at, end: endOfObject(text, at) };
    at = found.end - 1;
  }
  if (found === undefined) {
    throw new Refusal(
      `it contains no JSON object; send exactly one, such as ${EXAMPLE}, or with final_answer when done`,
    );
  }
  // An array of replies, or an extra bracket, is broken JSON, not prose.
  const after = text.slice(found.end).trimStart();
  if (text.slice(0, found.start).trimEnd().endsWith("[") || after.startsWith("}") || after.startsWith("]")) {
    throw insideBrackets();
  }
  return found;
}

function insideBrackets(): Refusal {
  return new Refusal("its JSON object is mixed with other brackets; send the object alone, as strict JSON");
}

function opensObject(text: string, at: number): boolean {
  OBJECT_OPENING.lastIndex = at;
  return OBJECT_OPENING.test(text);
}

/** End of the object that starts at `start`. The JSON parser checks later whether it is valid. */
function endOfObject(text: string, start: number): number {
  const open: (Set<string> | undefined)[] = []; // per open bracket: the keys of an object so far; undefined for a list
  let isKeyNext = false;
  let at = start;
  while (at < text.length) {
    const character = text[at];
    if (character === '"') {
      const end = endOfString(text, at);
      if (isKeyNext) addKey(open.at(-1), text.slice(at, end));
      isKeyNext = false;
      at = end;
      continue;
    }
    if (character === "{" || character === "[") {
      open.push(character === "{" ? new Set() : undefined);
      if (open.length > MAX_DEPTH)
        throw new Refusal(`its JSON is nested more than ${MAX_DEPTH} deep; send flatter arguments`);
      isKeyNext = character === "{";
    } else if (character === "}" || character === "]") {
      open.pop();
      if (open.length === 0) return at + 1;
      isKeyNext = false;
    } else if (character === ",") {
      isKeyNext = open.at(-1) !== undefined;
    }
    at += 1;
  }
  throw cutOff();
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '"') return at + 1;
    if (text[at] === "\\") at += 1;
  }
  throw cutOff();
}

function cutOff(): Refusal {
  return new Refusal("its JSON is cut off; send the whole object again, with less in it if it is too long");
}

/** Duplicate keys are ambiguous, so they are rejected. */
function addKey(keys: Set<string> | undefined, literal: string): void {
  const key = JSON.parse(literal) as string;
  if (keys?.has(key))
    throw new Refusal(`its JSON has the key ${JSON.stringify(key)} twice in one object; send it once`);
  keys?.add(key);
}

/** The prose before and after the object, without the fence around it. */
function proseAround(text: string, { start, end }: Span): readonly [before: string, after: string] {
  const before = text.slice(0, start);
  const after = text.slice(end);
  const fence = findFence(`${before}\n${after}`);
  if (fence === undefined || fence.open.end > before.length || fence.close.start <= before.length)
    return [before, after];
  const shift = before.length + 1;
  return [
    before.slice(0, fence.open.start) + before.slice(fence.open.end),
    after.slice(0, fence.close.start - shift) + after.slice(fence.close.end - shift),
  ];
}

/** The one code fence. As in Markdown, a fence that is never closed ends with the text. */
function findFence(text: string): { readonly open: Span; readonly close: Span } | undefined {
  let mark: string | undefined;
  let open: Span | undefined;
  let close: Span | undefined;
  for (const { 0: line, 1: lineMark = "", index } of text.matchAll(FENCE_LINE)) {
    const span = { start: index, end: index + line.length };
    if (mark === undefined) {
      if (open !== undefined) {
        throw new Refusal("it has more than one code fence; send one JSON object, in one fence or in none");
      }
      mark = lineMark;
      open = span;
    } else if (lineMark.startsWith(mark) && line.trim() === lineMark) {
      mark = undefined;
      close = span;
    }
  }
  return open && { open, close: close ?? { start: text.length, end: text.length } };
}

function readObject(reply: JsonObject, [before, after]: readonly [string, string]): ParsedReply {
  const { tool_calls: calls, final_answer: answer } = reply;
  if (answer !== undefined && answer !== null && typeof answer !== "string") {
    throw new Refusal(`final_answer is ${kindOf(answer)} but must be a string`);
  }
  if (calls !== undefined && calls !== null && !Array.isArray(calls)) {
    throw new Refusal(`tool_calls is ${kindOf(calls)} but must be an array`);
  }
  const said = (answer ?? "").toWellFormed();
  if (calls?.length) {
    const text = [before, said, after].map((part) => part.trim()).filter((part) => part !== "");
    return { kind: "tool_calls", calls: calls.map(readCall), text: text.join("\n").toWellFormed() };
  }
  if (said.trim() !== "") return { kind: "final", text: said };
  throw new Refusal("tool_calls and final_answer are both empty; ask for at least one call, or give the final answer");
}

function readCall(call: unknown, index: number): ParsedCall {
  const where = `tool_calls[${index}]`;
  if (!isRecord(call)) throw new Refusal(`${where} is ${kindOf(call)} but must be an object with name and arguments`);
  const { name, arguments: args } = call;
  if (typeof name !== "string" || name === "" || name.length > MAX_NAME_LENGTH) {
    throw new Refusal(`${where}.name is ${kindOf(name)} but must be the name of a tool`);
  }
  if (!isRecord(args)) throw new Refusal(`${where}.arguments is ${kindOf(args)} but must be an object`);
  refuseUnrecordable({ name, args }, where);
  return { name, arguments: args };
}

/**
 * JSON allows values that cannot be recorded: 1e999 is parsed as infinity and would be stored as null, and a lone
 * surrogate has no UTF-8 form. A call that cannot be recorded exactly must not run. `MAX_DEPTH` bounds the recursion.
 */
function refuseUnrecordable(value: unknown, where: string): void {
  if (typeof value === "number" && !Number.isFinite(value))
    throw new Refusal(`${where} contains a number that is too large`);
  if (typeof value === "string" && !value.isWellFormed())
    throw new Refusal(`${where} contains half a Unicode character`);
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    refuseUnrecordable(key, where);
    refuseUnrecordable(inner, where);
  }
}

/** Describes an unexpected value in messages. */
function kindOf(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  if (value === "") return "an empty string";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
