import { CODE, isNewline } from "./characters.ts";
import type { Span } from "./find-shape.ts";
import { REDACTION_MARKER } from "../protocol/marker.ts";
import type { View } from "./view.ts";

/** Secrets that are known by their value, compiled to be found in one pass, however many there are. */
export interface KnownValues {
  /**
   * Appends the places of known values from `from` on. Returns up to where that is settled: in a text that may go on,
   * the place where a value may have begun.
   */
  find(view: View, from: number, spans: Span[]): number;
}

/** Shorter ones would be found in every other word. */
const SHORTEST = 6;
const SHORTEST_NUMBER = 8;
/** A longer form is matched in pieces of this length, so that a stream holds back no more. */
const PIECE = 4096;
const SHORTEST_LINE = 16;

/** Values that variables named like secrets have, and that are words of ordinary text. */
const COMMON = new Set(
  `admin changeit changeme database default development disabled enabled example github localhost master mysql
  password passwd postgres postgresql private production public readonly required sandbox secret secrets staging string
  testing undefined username 127.0.0.1 0.0.0.0`.split(/\s+/),
);

/** Undefined when no value is worth looking for. */
export function compileKnown(values: Iterable<string>): KnownValues | undefined {
  const forms = new Set<string>();
  for (const value of values) {
    if (!isWorthFinding(value)) continue;
    for (const form of formsOf(value.trim().toWellFormed())) {
      for (const piece of piecesOf(form)) forms.add(piece);
    }
  }
  if (forms.size === 0) return undefined;
  const tree = buildTree(forms);
  const starts = markStarts(forms);
  return { find: (view, from, spans) => findAll(view, from, { tree, starts, spans }) };
}

function isWorthFinding(value: string): boolean {
  const text = value.trim();
  if (text.length < SHORTEST || COMMON.has(text.toLowerCase()) || /^(.)\1*$/s.test(text)) return false;
  if (/^\d+$/.test(text) && text.length < SHORTEST_NUMBER) return false;
  return !REDACTION_MARKER.includes(text) && !text.includes(REDACTION_MARKER);
}

/** The ways a value is written: plain, inside JSON (twice), in an address, in base64 at any offset, line by line. */
function formsOf(value: string): readonly string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const url = encodeURIComponent(value);
  const lines = value.split(/\r?\n/).filter((line) => line.length >= SHORTEST_LINE && !line.startsWith("-----"));
  return [
    value,
    json,
    JSON.stringify(json).slice(1, -1),
    url,
    url.replaceAll("%20", "+"),
    url.replaceAll(/%[0-9A-F]{2}/g, (each) => each.toLowerCase()),
    ...base64Forms(value),
    ...hexForms(value),
    ...(lines.length > 1 ? lines : []),
  ];
}

/**
 * Base64 of the value wherever it lies in a longer text: three offsets. The first and last characters mix with the
 * neighbours and are left out.
 */
function base64Forms(value: string): readonly string[] {
  const bytes = Array.from(new TextEncoder().encode(value), (byte) => String.fromCharCode(byte)).join("");
  const forms = [0, 1, 2].map((offset) => {
    const encoded = btoa("\0".repeat(offset) + bytes);
    const length = Math.floor(((offset + bytes.length) * 8) / 6);
    return encoded.slice(Math.ceil((offset * 8) / 6), length);
  });
  const long = forms.filter((form) => form.length >= 8);
  return [...long, ...long.map((form) => form.replaceAll("+", "-").replaceAll("/", "_"))];
}

/** Hex, in both cases, run together or as dumps and escapes separate it. */
function hexForms(value: string): readonly string[] {
  const bytes = Array.from(new TextEncoder().encode(value), (byte) => byte.toString(16).padStart(2, "0"));
  const forms = [bytes.join(""), bytes.join(" "), bytes.join(":"), bytes.map((byte) => `\\x${byte}`).join("")];
  const lower = [...forms, bytes.map((byte) => `%${byte}`).join("")];
  return [...lower, ...lower.map((form) => form.toUpperCase().replaceAll("\\X", "\\x"))];
}

function piecesOf(form: string): readonly string[] {
  if (form.length <= PIECE) return [form];
  const pieces: string[] = [];
  for (let at = 0; at + PIECE < form.length; at += PIECE) pieces.push(form.slice(at, at + PIECE));
  return [...pieces, form.slice(-PIECE)];
}

/** A tree of strings: common beginnings are kept once. */
interface Branch {
  readonly edges: Map<string, { label: string; to: Branch }>;
  isEnd: boolean;
}

function buildTree(forms: Iterable<string>): Branch {
  const root: Branch = { edges: new Map(), isEnd: false };
  for (const form of forms) insert(root, form);
  return root;
}

function insert(root: Branch, form: string): void {
  let branch = root;
  for (let at = 0; at < form.length;) {
    const edge = branch.edges.get(form[at] ?? "");
    if (edge === undefined) {
      branch.edges.set(form[at] ?? "", { label: form.slice(at), to: { edges: new Map(), isEnd: true } });
      return;
    }
    let same = 1;
    while (same < edge.label.length && edge.label[same] === form[at + same]) same++;
    if (same < edge.label.length) {
      const rest = { label: edge.label.slice(same), to: edge.to };
      edge.to = { edges: new Map([[rest.label[0] ?? "", rest]]), isEnd: false };
      edge.label = edge.label.slice(0, same);
    }
    branch = edge.to;
    at += same;
  }
  branch.isEnd = true;
}

/** The first four characters of each form, hashed: most places in a text are ruled out by one lookup. */
const HASHED = 4;
const HASH_MASK = 0xffff;

function markStarts(forms: Iterable<string>): Uint8Array {
  const starts = new Uint8Array(HASH_MASK + 1);
  for (const form of forms) {
    let hash = 0;
    for (let i = 0; i < HASHED; i++) hash = ((hash << 4) ^ form.charCodeAt(i)) & HASH_MASK;
    starts[hash] = 1;
  }
  return starts;
}

interface Search {
  readonly tree: Branch;
  readonly starts: Uint8Array;
  readonly spans: Span[];
}

function findAll(view: View, from: number, { tree, starts, spans }: Search): number {
  const { text, final } = view;
  let hash = 0;
  for (let at = from; at < text.length; at++) {
    hash = ((hash << 4) ^ text.charCodeAt(at)) & HASH_MASK;
    const start = at - HASHED + 1;
    if (starts[hash] === 0 || start < from) continue;
    const { length, isCut } = longestAt(tree, text, start);
    if (length > 0) spans.push({ start, end: start + length });
    // A longer value may still come of it.
    if (isCut && !final) return start;
  }
  if (final) return text.length;
  for (let start = Math.max(from, text.length - HASHED + 1); start < text.length; start++) {
    if (longestAt(tree, text, start).isCut) return start;
  }
  return text.length;
}

/** Indentation of the rest of a value that is broken over lines. Its first characters are not broken. */
const MOST_INDENT = 40;

/** Past a line end, with a backslash or "=" before it and blanks after it; `at` where there is none. */
function skipBreak(text: string, at: number): number {
  let end = at;
  const code = text.charCodeAt(end);
  if ((code === CODE.backslash || code === CODE.equals) && isNewline(text.charCodeAt(end + 1))) end++;
  if (!isNewline(text.charCodeAt(end))) return at;
  end += text.charCodeAt(end) === CODE.return && text.charCodeAt(end + 1) === CODE.newline ? 2 : 1;
  const limit = end + MOST_INDENT;
  while (end < limit && (text.charCodeAt(end) === CODE.space || text.charCodeAt(end) === CODE.tab)) end++;
  return end;
}

/** The length of the longest value that begins at `start`; `isCut`: the text ended where a longer one was possible. */
function longestAt(tree: Branch, text: string, start: number): { length: number; isCut: boolean } {
  let branch = tree;
  let length = 0;
  for (let at = start; ;) {
    if (branch.isEnd) length = at - start;
    if (at >= text.length) return { length, isCut: branch.edges.size > 0 };
    const mayBreak = at - start >= HASHED;
    const edge = branch.edges.get(text[at] ?? "") ?? (mayBreak ? edgeAfterBreak(branch, text, at) : undefined);
    if (edge === undefined) return { length, isCut: mayBreak && branch.edges.size > 0 && isHalfBreak(text, at) };
    const end = labelEnd(text, at, { label: edge.label, start });
    if (end < 0) return { length, isCut: end === CUT };
    at = end;
    branch = edge.to;
  }
}

function edgeAfterBreak(branch: Branch, text: string, at: number): { label: string; to: Branch } | undefined {
  const next = skipBreak(text, at);
  return next === at ? undefined : (branch.edges.get(text[next] ?? "") ?? branch.edges.get(" "));
}

/** A sign that a line end may follow, at the end of the text. */
function isHalfBreak(text: string, at: number): boolean {
  const next = skipBreak(text, at);
  if (next > at) return next >= text.length;
  return at === text.length - 1 && (text[at] === "\\" || text[at] === "=");
}

const CUT = -1;
const OTHER = -2;

/** Where a label ends that stands at `at`, perhaps broken over lines; `CUT` where the text ends first. */
function labelEnd(text: string, from: number, { label, start }: { label: string; start: number }): number {
  if (text.startsWith(label, from)) return from + label.length;
  let at = from;
  for (let i = 0; i < label.length;) {
    if (at >= text.length) return CUT;
    if (text.charCodeAt(at) === label.charCodeAt(i)) {
      at++;
      i++;
      continue;
    }
    if (at - start < HASHED) return OTHER;
    const next = skipBreak(text, at);
    if (next === at) return isHalfBreak(text, at) ? CUT : OTHER;
    at = next;
    // Where words are wrapped the line end stands for the blank.
    if (label[i] === " ") i++;
  }
  return at;
}
