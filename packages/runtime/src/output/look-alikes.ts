import { makeVisible, makeVisibleLines, visibleJson } from "./visible.ts";

/** Space characters that programs do not treat as spaces, and look-alikes of characters in shell syntax or paths. */
const ODD_SIGN =
  /\u034f|[\u{17b4}\u{17b5}\u{180b}-\u{180e}]|[\u00a0\u115f\u1160\u1680\u2000-\u200a\u202f\u205f\u2800\u3000\u3164\uffa0]|[\u01c0\u037e\u2010-\u2012\u2024\u2044\u2212\u2215\u2216\u2223\u29f8\ufe58\ufe63\uff01-\uff5e\u{1d400}-\u{1d7ff}]/gu;

const WORD = /[\p{L}\p{M}\p{N}_]+/gu;
const LATIN = /\p{Script=Latin}/u;
/** Alphabets with letters that look like Latin ones. */
const NEAR =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}]/gu;
/** Those that are indistinguishable from a Latin letter. A word of only these may be deceptive. */
const TWINS = /^[аеорсухіјѕһԁԛԝӏАВЕКМНОРСТУХІЈЅԌΑΒΕΖΗΙΚΜΝΟΡΤΥΧοανυιρκχϲϳօոսցհᎠᎡᎢᎥᎪᎫᎬᎳᎷᎻᏀᏃᏚᏞᏟᏢᏦ\p{M}\p{N}_]+$/u;
const PLAIN = /^[\t\n\x20-\x7e]*$/;

/**
 * Text that a person decides on, on one line: nothing is hidden, and look-alike letters and signs are escaped where
 * they could mislead: in words of mixed alphabets, and if all of a text's foreign letters are look-alikes. Text that is
 * clearly in another language stays unchanged. Linear time.
 */
export function showPlainly(text: string): string {
  return PLAIN.test(text) && !/[\t\n]/.test(text) ? text : makeVisible(markLookAlikes(text));
}

/** The same for text of several lines: line ends and tabs stay. */
export function showPlainlyLines(text: string): string {
  return PLAIN.test(text) ? text : makeVisibleLines(markLookAlikes(text));
}

/** JSON text of exactly the value, in which nothing is hidden or looks like something else. */
export function plainJson(value: unknown): string {
  const json = visibleJson(value);
  return PLAIN.test(json) ? json : markLookAlikes(json, escapeForJson);
}

function markLookAlikes(text: string, write = writeOut): string {
  const foreign = text.match(NEAR) ?? [];
  const isAllTwins = foreign.length > 0 && foreign.every((letter) => TWINS.test(letter));
  const marked = text.replace(WORD, (word) => {
    const isMixed = LATIN.test(word) && word.search(NEAR) >= 0;
    return isMixed || (isAllTwins && TWINS.test(word)) ? word.replace(NEAR, write) : word;
  });
  return marked.replace(ODD_SIGN, write);
}

function writeOut(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

function escapeForJson(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}
