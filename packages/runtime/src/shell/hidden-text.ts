import { JOINED_TEXT } from "../text/joined-text.ts";

/** Emoji, and joiners between letters of scripts that join: they hide nothing. */
const JOINED = new RegExp(JOINED_TEXT, "gv");

/** Characters that make a command look like another one. */
// oxfmt-ignore
const HIDDEN = [
  { why: "it contains a carriage return, which hides the text before it", shape: /\r/ },
  { why: "it contains a control character",                               shape: /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/ },
  { why: "it contains characters that change the direction of text",      shape: /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/ },
  { why: "it contains invisible characters",                              shape: /\p{Default_Ignorable_Code_Point}|[\ufff9-\ufffb]/u },
  { why: "it contains a line separator that shells do not recognize",     shape: /[\u0085\u2028\u2029]/ },
] as const;

const PLAIN = /^[\t\n\x20-\x7e]*$/;
const ODD_SPACE = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u2800]/;
/** Look-alikes of Latin letters next to Latin letters; and the wide and mathematical copies of ASCII. */
const LOOK_ALIKE =
  /[A-Za-z][\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Cherokee}\p{Script=Armenian}]|[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Cherokee}\p{Script=Armenian}][A-Za-z]|[\uff01-\uff5e\u{1d400}-\u{1d7ff}\u2044\u2215\u29f8\u2010-\u2012\u2212\ufe58\ufe63]/u;

/** Why a text may display differently from what runs, or undefined. Line breaks and tabs are allowed. */
export function hidesSomething(text: string): string | undefined {
  if (PLAIN.test(text)) return undefined;
  const rest = text.replace(JOINED, "");
  return HIDDEN.find(({ shape }) => shape.test(rest))?.why;
}

/** The same for text outside quotes, where spaces and look-alike letters mislead as well. */
export function misleads(unquoted: string): string | undefined {
  if (PLAIN.test(unquoted)) return undefined;
  if (ODD_SPACE.test(unquoted)) return "it contains a space character that shells do not recognize";
  return LOOK_ALIKE.test(unquoted) ? "it contains letters that look like others" : undefined;
}

/** A command's name in letters other than ASCII counts as a look-alike. */
export function isPlainName(name: string): boolean {
  return PLAIN.test(name);
}
