import type { Span } from "../shapes/find-shape.ts";
import { NOTICED } from "./encoded.ts";
import { REDACTION_MARKER } from "../../protocol/marker.ts";
import { buildTree, longestAt } from "./known-tree.ts";
import type { Branch } from "./known-tree.ts";
import type { View } from "../text/text-view.ts";

/** Secrets known by value, compiled so that any number of them is found in one pass. */
export interface KnownValues {
  /**
   * Appends the positions of known values from `from` on. Returns up to where that is settled: in a text that may
   * continue, the position where a value may have begun.
   */
  find(view: View, from: number, spans: Span[]): number;
  /** The length of the longest one at a position, in any escaped or quoted form; 0 for none. */
  lengthAt(view: View, start: number): number;
}

/** Shorter ones would match in every other word. */
const SHORTEST = 6;
const SHORTEST_NUMBER = 8;
/** A longer form is matched in pieces of this length, so that a stream holds back no more. */
const PIECE = 4096;
const SHORTEST_LINE = 16;

/** Values of variables with secret names that are also ordinary words. */
const COMMON = new Set(
  `admin anonymous bearer changeit changeme database default development digest disabled enabled example github kerberos
  localhost master mysql negotiate optional password passwd postgres postgresql private production public readonly
  required sandbox secret secrets staging string testing undefined username 127.0.0.1 0.0.0.0`.split(/\s+/),
);

/** Undefined if no value is worth searching for. */
export function compileKnown(values: Iterable<string>): KnownValues | undefined {
  const plain = new Set<string>();
  const forms = new Set<string>();
  for (const value of values) {
    if (!isWorthFinding(value)) continue;
    const text = value.trim().toWellFormed();
    for (const piece of piecesOf(text)) plain.add(piece);
    for (const form of formsOf(text)) for (const piece of piecesOf(form)) forms.add(piece);
  }
  if (forms.size === 0) return undefined;
  const search = { forms: buildTree(forms), values: buildTree(plain), starts: markStarts(forms) };
  return {
    find: (view, from, spans) => findAll(view, from, { ...search, spans }),
    lengthAt: (view, start) => {
      const { length, isCut } = longestAt(search.values, view.text, { start, plain: 0, isEscaped: true });
      if (isCut && !view.final) view.short = true;
      return length;
    },
  };
}

function isWorthFinding(value: string): boolean {
  const text = value.trim();
  if (text.length < SHORTEST || COMMON.has(text.toLowerCase()) || /^(.)\1*$/s.test(text)) return false;
  if (/^\d+$/.test(text) && text.length < SHORTEST_NUMBER) return false;
  return !REDACTION_MARKER.includes(text) && !text.includes(REDACTION_MARKER);
}

/** The ways to write a value: plain, in JSON (twice), in a URL, quoted, base64 at any offset, hex, line by line. */
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
    ...quotedForms(value, json),
    ...base64Forms(value),
    // Encoded twice, if the value is at the start of the encoded text.
    ...base64Forms(encodeBase64(value)),
    ...hexForms(value),
    ...(lines.length > 1 ? lines : []),
  ];
}

/** Escaped by other programs: slashes in JSON, shell words as printed by `printf %q` or in single quotes, HTML. */
function quotedForms(value: string, json: string): readonly string[] {
  return [
    json.replaceAll("/", "\\/"),
    value.replaceAll(/[^\w@%+=:,./-]/g, "\\$&"),
    value.replaceAll("'", "'\\''"),
    value.replaceAll("'", "'\"'\"'"),
    value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;"),
  ];
}

/**
 * Base64 of the value inside a longer text: three offsets. The first and last characters depend on the neighbors and
 * are omitted.
 */
function base64Forms(value: string): readonly string[] {
  const bytes = bytesOf(value);
  const forms = [0, 1, 2].map((offset) => {
    const encoded = btoa("\0".repeat(offset) + bytes);
    const length = Math.floor(((offset + bytes.length) * 8) / 6);
    return encoded.slice(Math.ceil((offset * 8) / 6), length);
  });
  const long = forms.filter((form) => form.length >= 8);
  return [...long, ...long.map((form) => form.replaceAll("+", "-").replaceAll("/", "_"))];
}

function bytesOf(value: string): string {
  return Array.from(new TextEncoder().encode(value), (byte) => String.fromCharCode(byte)).join("");
}

function encodeBase64(value: string): string {
  return btoa(bytesOf(value));
}

/** Hex, in both cases, contiguous or separated as in dumps and escapes. */
function hexForms(value: string): readonly string[] {
  const bytes = Array.from(new TextEncoder().encode(value), (byte) => byte.toString(16).padStart(2, "0"));
  const forms = ["", " ", ":", "-", ", 0x", ",0x"].map((sign) => bytes.join(sign));
  forms.push(bytes.map((byte) => `\\x${byte}`).join(""), inPairs(bytes, 0), inPairs(bytes, 1));
  const lower = [...forms, bytes.map((byte) => `%${byte}`).join("")];
  return [...lower, ...lower.map((form) => form.toUpperCase().replaceAll("X", "x"))];
}

/** In pairs of bytes, as `xxd` prints them. */
function inPairs(bytes: readonly string[], offset: number): string {
  return bytes.map((byte, index) => ((index + offset) % 2 === 0 && index > 0 ? ` ${byte}` : byte)).join("");
}

function piecesOf(form: string): readonly string[] {
  if (form.length <= PIECE) return [form];
  const pieces: string[] = [];
  for (let at = 0; at + PIECE < form.length; at += PIECE) pieces.push(form.slice(at, at + PIECE));
  return [...pieces, form.slice(-PIECE)];
}

/** The first four characters of each form, hashed: one lookup rules out most positions. */
const HASHED = NOTICED;
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
  readonly forms: Branch;
  /** Verbatim values: these are found with escapes and quotes inside too. */
  readonly values: Branch;
  readonly starts: Uint8Array;
  readonly spans: Span[];
}

function findAll(view: View, from: number, search: Search): number {
  const { text, final } = view;
  const { starts, spans } = search;
  let hash = 0;
  for (let at = from; at < text.length; at++) {
    hash = ((hash << 4) ^ text.charCodeAt(at)) & HASH_MASK;
    const start = at - HASHED + 1;
    if (starts[hash] === 0 || start < from) continue;
    const { length, isCut } = lookAt(search, text, start);
    if (length > 0) spans.push({ start, end: start + length });
    // It may become a longer value.
    if (isCut && !final) return start;
  }
  if (final) return text.length;
  for (let start = Math.max(from, text.length - HASHED + 1); start < text.length; start++) {
    if (lookAt(search, text, start).isCut) return start;
  }
  return text.length;
}

function lookAt({ forms, values }: Search, text: string, start: number): { length: number; isCut: boolean } {
  const form = longestAt(forms, text, { start, plain: HASHED, isEscaped: false });
  const value = longestAt(values, text, { start, plain: HASHED, isEscaped: true });
  return { length: Math.max(form.length, value.length), isCut: form.isCut || value.isCut };
}
