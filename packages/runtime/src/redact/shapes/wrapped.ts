import { CODE, isNewline, isQuote } from "../text/character-sets.ts";
import type { CharacterSet } from "../text/character-sets.ts";
import { codeAt, rightOf, runEnd } from "../text/text-view.ts";
import type { View } from "../text/text-view.ts";

/** How a line is wrapped: with a backslash, "=" as in mail, between the quotes of two strings, or without a sign. */
const MARKED_BREAK =
  /^(?:[\\=]\r?\n[ \t]{0,40}|["'`][ \t]{0,3}[+.&]?[ \t]{0,3}\\?\r?\n[ \t]{0,40}[+.&]?[ \t]{0,3}["'`]|["'] ?[+.] ?["'])/;
/** As in the text, written out in a string, or with the prefix that searches, diffs and listings add. */
const PLAIN_BREAK = /^(?:\r?\n|\\{1,4}n)(?:[^\s:]{1,60}:\d{1,7}:|[ \t]{0,8}\d{1,7}(?:\t|[:|→] ?))?[ \t>|#+]{0,40}/;
const BREAK_WINDOW = 96;
const MAX_PIECES = 40;
const PIECE_WINDOW = 512;

interface JoinedText {
  /** Without the line breaks. */
  readonly text: string;
  readonly end: number;
}

interface WrappedToken {
  readonly from: number;
  /** Where its first line ends. */
  readonly at: number;
  readonly of: CharacterSet;
  /** It could end there, so the next line must look more like its rest. */
  readonly isWhole: boolean;
  /** Enough characters to judge: text that is not a token by then is read no further. */
  readonly enough?: number;
  readonly judge?: (text: string) => boolean;
  /** The length of a complete token: the next line does not belong to it. */
  readonly size?: number;
}

/** A token wrapped over lines; undefined if it is not wrapped there, or not a token. */
export function joinWrapped(view: View, wrapped: WrappedToken): JoinedText | undefined {
  const { from, at, of, isWhole, enough = Infinity, judge, size = Infinity } = wrapped;
  let text = view.text.slice(from, at);
  let end = at;
  for (let count = 0; count < MAX_PIECES && text.length < size; count++) {
    const next = nextPiece(view, end, of);
    if (next === undefined || view.short) break;
    const piece = view.text.slice(next.start, next.end);
    if (!next.isMarked && !isRest(view, piece, { end: next.end, isWhole: isWhole || count > 0 })) break;
    const wasShort = text.length < enough;
    text += piece;
    ({ end } = next);
    if (wasShort && text.length >= enough && judge?.(text) === false) return undefined;
  }
  return end > at ? { text, end } : undefined;
}

function nextPiece(view: View, at: number, of: CharacterSet) {
  const code = codeAt(view, at);
  if (!isNewline(code) && !isQuote(code) && code !== CODE.backslash && code !== CODE.equals) return undefined;
  const rest = rightOf(view, at, BREAK_WINDOW);
  const marked = MARKED_BREAK.exec(rest);
  const gap = marked ?? PLAIN_BREAK.exec(rest);
  if (gap === null) return undefined;
  const start = at + gap[0].length;
  const end = runEnd(view, start, { of, window: PIECE_WINDOW });
  return end > start ? { start, end, isMarked: marked !== null } : undefined;
}

/** The rest of a token is mixed letters and digits, alone on its line, and not a token itself. */
function isRest(view: View, piece: string, { end, isWhole }: { end: number; isWhole: boolean }): boolean {
  const isMixed = /\d/.test(piece) && /[A-Za-z]/.test(piece) && !/^[A-Za-z]{2,12}[_-]|^\d+[a-z]{0,3}$/.test(piece);
  if (!isMixed || piece.length < 4) return false;
  const code = codeAt(view, end);
  return !isWhole || code < 0 || isNewline(code) || isQuote(code) || code === CODE.backslash || code === CODE.equals;
}
