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

/**
 * JSON text in which nothing is hidden, and which says exactly what the value is: `\u202e` is an escape of JSON. On one
 * line, or on several with an indent.
 */
export function visibleJson(value: unknown, indent = 0): string {
  // A line end in JSON text is never part of a value.
  return JSON.stringify(value, null, indent).replace(HIDDEN, (text) => (text === "\n" ? text : escapeJson(text)));
}

function escapeJson(text: string): string {
  return text.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
