// Control characters, the ones that turn the direction of text, and invisible ones: what can make text lie to its reader.
const HIDDEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]|\p{Variation_Selector}|[\u{e0000}-\u{e007f}]/gu;
const LINE_AND_TAB = new Set(["\n", "\t"]);

// oxfmt-ignore
const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\u001b": "\\e", "\0": "\\0" };

/** Text on one line in which nothing is hidden: `\n`, `\e`, `\u{202e}`. */
export function makeVisible(text: string): string {
  return text.replace(
    HIDDEN,
    (character) => SHORT[character] ?? `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** The same for text of several lines: line ends and tabs stay. */
export function makeVisibleLines(text: string): string {
  return text.replace(HIDDEN, (character) => (LINE_AND_TAB.has(character) ? character : makeVisible(character)));
}
