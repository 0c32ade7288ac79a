import { readArguments } from "./json-reply.ts";
import { repairJson } from "./repair-json.ts";

type JsonObject = Readonly<Record<string, unknown>>;

export type CallArguments =
  | { readonly arguments: JsonObject; readonly repaired: readonly string[] }
  /** What is wrong with the text that the model wrote. */
  | { readonly problem: string };

interface Layer {
  readonly done: string;
  /** The text without the layer; undefined if it has none. */
  readonly unwrap: (text: string) => string | undefined;
}

/** Wrappers around otherwise valid arguments. Each is unambiguous: none can be part of an object. */
// oxfmt-ignore
const LAYERS: readonly Layer[] = [
  { done: "code fence",                unwrap: withoutFence },
  { done: "marker at the end",         unwrap: withoutMarker },
  { done: "JSON in a string",          unwrap: withoutString },
  { done: "empty object before it",    unwrap: withoutEmptyObject },
  { done: "the same object twice",     unwrap: withoutRepetition },
  { done: "list around one object",    unwrap: withoutList },
];
/** JSON may be double-encoded, in a fence, and followed by a marker. */
const MAX_LAYERS = 5;

/**
 * The arguments of a call: one JSON object, strict or with an unambiguous mistake. Never repaired: duplicate keys and
 * truncated JSON. Never throws; valid arguments are returned unchanged.
 */
export function readCallArguments(text: string): CallArguments {
  const strict = readArguments(text);
  if ("arguments" in strict) return { ...strict, repaired: [] };
  let inner = text.trim();
  const done: string[] = [];
  for (let layers = 0; layers <= MAX_LAYERS; layers++) {
    const read = readRepaired(inner);
    if (read !== undefined) return { arguments: read.arguments, repaired: [...done, ...read.repaired] };
    const next = LAYERS.map((layer) => ({ ...layer, text: layer.unwrap(inner) })).find(
      (each) => each.text !== undefined,
    );
    if (next?.text === undefined || next.text.trim() === "") break;
    inner = next.text.trim();
    done.push(next.done);
  }
  return strict;
}

function readRepaired(text: string): Extract<CallArguments, { arguments: unknown }> | undefined {
  const strict = readArguments(text);
  if ("arguments" in strict) return { ...strict, repaired: [] };
  const repaired = text.startsWith("{") ? repairJson(text) : undefined;
  const read = repaired === undefined ? strict : readArguments(repaired.text);
  return "arguments" in read && repaired !== undefined
    ? { arguments: read.arguments, repaired: repaired.done }
    : undefined;
}

const FENCE = /^(`{3,}|~{3,})[a-zA-Z0-9]{0,20}[ \t]*\r?\n?/;

function withoutFence(text: string): string | undefined {
  const open = FENCE.exec(text);
  const mark = open?.[1];
  if (open === null || mark === undefined) return undefined;
  return text.endsWith(mark) && text.length >= open[0].length + mark.length
    ? text.slice(open[0].length, -mark.length)
    : undefined;
}

const MARKER = /^<(?:[|｜][^|｜<>]{1,40}[|｜]|\/[\w:]{1,40})>$/;

/** `<|call|>`, `</tool_call>`: the end of a call in the model's own format. */
function withoutMarker(text: string): string | undefined {
  if (!text.endsWith(">")) return undefined;
  const at = text.lastIndexOf("<");
  return at > 0 && text.length - at <= 50 && MARKER.test(text.slice(at)) ? text.slice(0, at) : undefined;
}

function withoutString(text: string): string | undefined {
  if (!text.startsWith('"')) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" && /^\s*["{[`]/.test(value) ? value : undefined;
  } catch {
    return undefined; // not a single string
  }
}

/** For servers that start a call with `{}` and then send its arguments. */
function withoutEmptyObject(text: string): string | undefined {
  const rest = text.startsWith("{}") ? text.slice(2).trimStart() : "";
  return rest.startsWith("{") ? rest : undefined;
}

/** For servers that send the arguments in pieces and then again as a whole. */
function withoutRepetition(text: string): string | undefined {
  if (text.length % 2 !== 0 || !text.startsWith("{")) return undefined;
  const half = text.slice(0, text.length / 2);
  return text.endsWith(half) && half.endsWith("}") ? half : undefined;
}

function withoutList(text: string): string | undefined {
  return text.startsWith("[") && text.endsWith("]") && /^\[\s*\{/.test(text)
    ? text.slice(1, -1).trim().replace(/,$/, "")
    : undefined;
}
