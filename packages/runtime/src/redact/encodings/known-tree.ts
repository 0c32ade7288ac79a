import { CODE, isIn, isNewline, setOf } from "../text/character-sets.ts";
import { isDiffSign, pastColours } from "./colours.ts";
import { escapeAt, LENGTH_BITS, LENGTH_MASK, LONGEST_ESCAPE } from "./encoded.ts";

interface Edge {
  label: string;
  to: Branch;
}

export interface Branch {
  readonly edges: Map<string, Edge>;
  isEnd: boolean;
}

export function buildTree(forms: Iterable<string>): Branch {
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

/** Indentation of the rest of a value that is wrapped over lines. */
const MAX_INDENT = 40;

/**
 * Skips terminal colors, and a line end with a backslash or "=" before it and spaces after it; returns `at` if there
 * is neither.
 */
function skipBreak(text: string, at: number): number {
  const shown = pastColours(text, at);
  let end = shown;
  const code = text.charCodeAt(end);
  if ((code === CODE.backslash || code === CODE.equals) && isNewline(text.charCodeAt(end + 1))) end++;
  if (!isNewline(text.charCodeAt(end))) return shown;
  end += text.charCodeAt(end) === CODE.return && text.charCodeAt(end + 1) === CODE.newline ? 2 : 1;
  return skipIndent(text, pastColours(text, end));
}

/** Skips the diff sign that begins a line, with the colors and spaces after it; returns `at` if there is none. */
function skipSign(text: string, at: number): number {
  return isDiffSign(text, at) ? skipIndent(text, pastColours(text, at + 1)) : at;
}

function skipIndent(text: string, at: number): number {
  let end = at;
  const limit = at + MAX_INDENT;
  while (end < limit && (text.charCodeAt(end) === CODE.space || text.charCodeAt(end) === CODE.tab)) end++;
  return end;
}

/** More of them in a row do not occur in practice. */
const MAX_QUOTES = 8;
const DROPPED = setOf("'\"`$\\");

/**
 * Skips one written character if it is the expected one: an escape, a character after a backslash, or the character
 * itself after quotes that the shell removes. `CUT` if the text ends first.
 */
function skipEscape(text: string, at: number, code: number): number {
  for (let from = at; from <= at + MAX_QUOTES; from++) {
    if (from > at && text.charCodeAt(from) === code) return from + 1;
    const escape = escapeAt(text, from);
    if (escape > 0 && escape >> LENGTH_BITS === code) return from + (escape & LENGTH_MASK);
    if (text.length - from < LONGEST_ESCAPE && mayBeEscape(text, from)) return CUT;
    if (!isIn(DROPPED, text.charCodeAt(from))) return OTHER;
  }
  return OTHER;
}

const ESCAPE_STARTS = setOf("\\%&");
const SPECIAL = setOf("'\"`$\\%&");

function mayBeEscape(text: string, at: number): boolean {
  return at >= text.length || (isIn(ESCAPE_STARTS, text.charCodeAt(at)) && /^[\\%&][\w#{]*$/.test(text.slice(at)));
}

interface From {
  readonly start: number;
  /** How many of the first characters are unescaped. */
  readonly plain: number;
  /** After them, escapes and quotes are allowed. */
  readonly isEscaped: boolean;
}

/** The length of the longest value that begins at `start`; `isCut`: the text ended where a longer one was possible. */
export function longestAt(tree: Branch, text: string, from: From): { length: number; isCut: boolean } {
  const { start, plain } = from;
  let branch = tree;
  let length = 0;
  for (let at = start; ;) {
    if (branch.isEnd) length = at - start;
    if (at >= text.length) return { length, isCut: branch.edges.size > 0 };
    const mayDiffer = at - start >= plain;
    const edge = branch.edges.get(text[at] ?? "") ?? (mayDiffer ? edgeBehind(branch, text, { at, from }) : undefined);
    if (edge === undefined) return { length, isCut: mayDiffer && branch.edges.size > 0 && isHalf(text, at, from) };
    const end = labelEnd(text, at, { label: edge.label, from });
    if (end < 0) return { length, isCut: end === CUT };
    at = end;
    branch = edge.to;
  }
}

/** Continues after a line end, an escape or quotes. */
function edgeBehind(branch: Branch, text: string, { at, from }: { at: number; from: From }): Edge | undefined {
  const next = skipBreak(text, at);
  if (next > at) {
    const edge = branch.edges.get(text[next] ?? "") ?? branch.edges.get(" ");
    return edge ?? branch.edges.get(text[skipSign(text, next)] ?? "");
  }
  if (!from.isEscaped || !isIn(SPECIAL, text.charCodeAt(at))) return undefined;
  for (const [first, edge] of branch.edges) if (skipEscape(text, at, first.charCodeAt(0)) > at) return edge;
  return undefined;
}

/** The end of the text may become a line end or an escape. */
function isHalf(text: string, at: number, { isEscaped }: From): boolean {
  const next = skipBreak(text, at);
  if (next > at) return skipSign(text, next) >= text.length;
  if (at === text.length - 1 && (text[at] === "=" || text[at] === "\\")) return true;
  return isEscaped && isIn(SPECIAL, text.charCodeAt(at)) && skipEscape(text, at, -1) === CUT;
}

const CUT = -1;
const OTHER = -2;

/** Where a label at `start` ends, possibly wrapped over lines or escaped; `CUT` if the text ends first. */
function labelEnd(text: string, start: number, { label, from }: { label: string; from: From }): number {
  if (text.startsWith(label, start)) return start + label.length;
  let at = start;
  for (let i = 0; i < label.length;) {
    if (at >= text.length) return CUT;
    const code = label.charCodeAt(i);
    if (text.charCodeAt(at) === code) {
      at++;
      i++;
      continue;
    }
    if (at - from.start < from.plain) return OTHER;
    const next = skipBreak(text, at);
    if (next > at) {
      // Where words are wrapped, the line end replaces the space.
      if (label[i] === " " && /[\r\n]/.test(text.slice(at, next))) i++;
      const signed = skipSign(text, next);
      const isOwn = text[next] === label[i] && (text[signed] !== label[i] || label[i + 1] === label[i]);
      at = isOwn ? next : signed;
      continue;
    }
    const end = from.isEscaped && isIn(SPECIAL, text.charCodeAt(at)) ? skipEscape(text, at, code) : OTHER;
    if (end < 0) return end === CUT || isHalf(text, at, from) ? CUT : OTHER;
    at = end;
    i++;
  }
  return at;
}
