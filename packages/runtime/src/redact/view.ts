import { CODE } from "./characters.ts";

/**
 * The text that rules look at. In a stream it is a window: more may come, and what lies before it is gone.
 * A rule reads through the functions below, so that it is noticed when its answer hangs on text still to come.
 */
export interface View {
  readonly text: string;
  /** No more text will come. */
  readonly final: boolean;
  /** Where the last redaction ended, or -1. A rule sees a "*" there, as it will when it reads its own output. */
  floor: number;
  /** A rule looked past the end of a text that may go on: its answer does not count yet. */
  short: boolean;
}

/** How far rules look back, at most. The stream keeps that much of what it has already given out. */
export const LOOK_BACK = 512;

/** The character's code, or -1 past the end. */
export function codeAt(view: View, at: number): number {
  if (at < view.text.length) return view.text.charCodeAt(at);
  if (!view.final) view.short = true;
  return -1;
}

/** The code of the character before, "*" right after a redaction, -1 at the start of the text. */
export function codeBefore(view: View, at: number): number {
  if (at <= view.floor) return CODE.star;
  return at <= 0 ? -1 : view.text.charCodeAt(at - 1);
}

/** Up to `count` characters before `at`. */
export function leftOf(view: View, at: number, count: number): string {
  if (at - count >= view.floor || view.floor < 0) return view.text.slice(Math.max(0, at - count), at);
  return `*${view.text.slice(view.floor, at)}`;
}

/** Up to `count` characters from `at` on, none beyond the end of the line. */
export function restOfLine(view: View, at: number, count: number): string {
  let end = at;
  while (end < at + count) {
    const code = codeAt(view, end);
    if (code < 0 || code === CODE.newline || code === CODE.return) break;
    end++;
  }
  return view.text.slice(at, end);
}

/** Up to `count` characters from `at` on, across lines. */
export function rightOf(view: View, at: number, count: number): string {
  if (at + count > view.text.length && !view.final) view.short = true;
  return view.text.slice(at, at + count);
}

/** Where the spaces and tabs from `at` on end; at most `limit` of them are passed. */
export function skipBlanks(view: View, at: number, limit = 64): number {
  let end = at;
  while (end < at + limit) {
    const code = codeAt(view, end);
    if (code !== CODE.space && code !== CODE.tab) break;
    end++;
  }
  return end;
}
