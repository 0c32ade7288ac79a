import { JOINED_TEXT } from "../text/joined-text.ts";

/**
 * Control characters, characters that change the direction of text, and invisible ones: text that misleads its reader.
 */
const HIDDEN = String.raw`[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufff9-\ufffb]|\p{Bidi_Control}|\p{Default_Ignorable_Code_Point}`;
const PLAIN = /^[\x20-\x7e]*$/;
const HIDDEN_OR_JOINED = new RegExp(`(?<joined>${JOINED_TEXT})|${HIDDEN}`, "gv");
const UNSEEN_OR_JOINED = new RegExp(String.raw`(?<joined>${JOINED_TEXT})|(?:${HIDDEN}|\p{C})+`, "gv");
const LINE_AND_TAB = new Set(["\n", "\t"]);

// oxfmt-ignore
const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\u001b": "\\e", "\0": "\\0" };

/** Text on one line in which nothing is hidden: `\n`, `\e`, `\u{202e}`. Emoji and joined letters stay unchanged. */
export function makeVisible(text: string): string {
  return replaceHidden(text, writeOut);
}

/** The same for text of several lines: line ends and tabs stay. */
export function makeVisibleLines(text: string): string {
  return replaceHidden(text, (character) => (LINE_AND_TAB.has(character) ? character : writeOut(character)));
}

/**
 * JSON text of exactly the value, in which nothing is hidden: `\u202e` is a JSON escape. On one line, or on several
 * with an indent.
 */
export function visibleJson(value: unknown, indent = 0): string {
  // A line end in JSON text is never part of a value.
  return replaceHidden(JSON.stringify(value, null, indent), (text) => (text === "\n" ? text : escapeJson(text)));
}

/** For names: hidden characters are removed or replaced. Emoji and joined letters stay unchanged. */
export function dropHidden(text: string, instead = ""): string {
  return text.replace(UNSEEN_OR_JOINED, (_, joined: string | undefined) => joined ?? instead);
}

function replaceHidden(text: string, write: (character: string) => string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(HIDDEN_OR_JOINED, (found, joined: string | undefined) => joined ?? write(found));
}

function writeOut(character: string): string {
  return SHORT[character] ?? `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

function escapeJson(text: string): string {
  return text.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
