import { isSpace } from "../text/character-sets.ts";
import { DER_BEGINNINGS } from "../keys/der-keys.ts";
import { RULES } from "../secret-rules.ts";
import { hasAnchor } from "../scan.ts";

/** One word of ordinary text and the characters allowed after it: letters in sentence case, or a percentage. */
const PLAIN_WORD = /^(?:\p{Lu}?\p{Ll}{0,14}|\p{Lu}{1,8}|\p{Lo}{1,40}|\d{1,3}%)[.,!?;:%)]{0,3}[ \t\r]{0,8}$/u;
const BEHIND = /[^\p{L}\d]+$/u;
const LONGEST = 56;

/** How secrets with a shape begin. A word that only names a secret, such as "token", stays readable anyway. */
const SECRET_STARTS: readonly string[] = [
  ...RULES.filter(({ isBare }) => isBare === true).map(({ word }) => word),
  ...DER_BEGINNINGS.map((word) => word.toLowerCase()),
  "ls0tls1crudjti",
];

/**
 * Whether the last word of a text, from `at` on, reads as an ordinary word and not as the start of a secret. Only a
 * line of a key without its first line, and a token recognized by a sign in its middle, may begin like one; a stream
 * therefore asks only after a pause in the input, not between two chunks.
 */
export function endsInPlainWord(text: string, at: number): boolean {
  if (text.length - at > LONGEST || (at > 0 && !isSpace(text.charCodeAt(at - 1)))) return false;
  const word = text.slice(at);
  if (!PLAIN_WORD.test(word) || hasAnchor(word.replace(BEHIND, ""))) return false;
  const lower = word.toLowerCase();
  return !SECRET_STARTS.some((start) => start.startsWith(lower));
}
