/** A text in lines: line `i` is `texts[i] + ends[i]`. Only the last one can have no line end. */
export interface Lines {
  readonly texts: readonly string[];
  readonly ends: readonly string[];
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Splits at LF, CRLF and lone CR. Text after the last line end is a line only if it is not empty. */
export function splitLines(text: string): Lines {
  if (!text.includes("\r")) return splitAtLineFeeds(text);
  const texts: string[] = [];
  const ends: string[] = [];
  let start = 0;
  while (start < text.length) {
    const at = lineEndFrom(text, start);
    const end = lineEndAt(text, at);
    texts.push(text.slice(start, at));
    ends.push(end);
    start = at + end.length;
  }
  return { texts, ends };
}

/** Splits at LF only, as diffs do: a CR before it is part of the line. */
export function splitAtLineFeeds(text: string): Lines {
  const texts = text.split("\n");
  const ends = Array.from<string>({ length: texts.length }).fill("\n");
  if (texts.at(-1) === "") {
    texts.pop();
    ends.pop();
  } else {
    ends[ends.length - 1] = "";
  }
  return { texts, ends };
}

/** Position of the first line end at or after `from`; the text's length if there is none. */
export function lineEndFrom(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === LINE_FEED || code === CARRIAGE_RETURN) return at;
  }
  return text.length;
}

/** The line end that starts at `at`, or an empty string. */
export function lineEndAt(text: string, at: number): string {
  const code = text.charCodeAt(at);
  if (code === LINE_FEED) return "\n";
  if (code !== CARRIAGE_RETURN) return "";
  return text.charCodeAt(at + 1) === LINE_FEED ? "\r\n" : "\r";
}

/**
 * Line numbers, from 1, of positions in a text. `offsets` must be ascending. Lines are counted by LF, as in reading and
 * searching.
 */
export function lineNumbers(text: string, offsets: readonly number[]): number[] {
  let line = 1;
  let next = text.indexOf("\n");
  return offsets.map((offset) => {
    while (next >= 0 && next < offset) {
      line++;
      next = text.indexOf("\n", next + 1);
    }
    return line;
  });
}

const SHOWN_NUMBERS = 10;

/** `line 4`, `lines 4, 9, 12`, `lines 1, 2, 3 and 90 more`. */
export function describeLines(numbers: readonly number[], total = numbers.length): string {
  const shown = numbers.slice(0, SHOWN_NUMBERS);
  const more = total > shown.length ? ` and ${total - shown.length} more` : "";
  return `${total === 1 ? "line" : "lines"} ${shown.join(", ")}${more}`;
}

/** `line 4` or `lines 4-6`. */
export function describeRange(start: number, end: number): string {
  return start === end ? `line ${start}` : `lines ${start}-${end}`;
}

const MAX_LINES = 6;
const MAX_WIDTH = 160;

/** The first few lines, truncated to a width, for quoting. */
export function excerptLines(lines: readonly string[]): string {
  const shown = lines.slice(0, MAX_LINES).map(cutLine);
  return lines.length > MAX_LINES ? [...shown, "…"].join("\n") : shown.join("\n");
}

/** Cuts between words: half of a key or token would not be recognized as a secret any more. */
function cutLine(line: string): string {
  if (line.length <= MAX_WIDTH) return line;
  const head = line.slice(0, MAX_WIDTH);
  for (let at = head.length; at > 0; at--) {
    if (!WORD.test(head[at - 1] ?? "")) return `${head.slice(0, at)}…`;
  }
  return "…";
}

/** Characters of keys and tokens. Includes lone surrogates, so that no character is split. */
const WORD = /[\w+/=.~%:@-]|[^\u0000-\u007f]/;

/** Quoted text inside a message: indented, with terminal control characters escaped. */
export function quoteLines(text: string): string {
  return text
    .split("\n")
    .map((line) => `  ${line.replace(CONTROL, escapeCharacter)}`)
    .join("\n");
}

const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function escapeCharacter(character: string): string {
  return character === "\r" ? "\\r" : `\\u{${character.charCodeAt(0).toString(16)}}`;
}
