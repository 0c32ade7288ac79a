/**
 * The width of text on a terminal. Where terminals differ (skin tones, flags, joined emoji) the larger width counts, so
 * that no line overflows. Expects output of `makeVisible`: the only joiners in it are parts of emoji or words.
 */
export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { columns } of measured(text)) width += columns;
  return width;
}

// oxlint-disable-next-line no-control-regex
const COLOURS = /\u001b\[[\d;]*m/g;

/** The same for coloured text: colours take no column. */
export function widthOfPainted(text: string): number {
  return widthOf(text.replaceAll(COLOURS, ""));
}

const PLAIN = /^[ -~]*$/;
const MARK = /^[\p{Mn}\p{Me}\u1160-\u11ff]$/u;
// Unicode's East Asian Width W and F, in blocks, and emoji.
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1b000}-\u{1b2ff}\u{1f300}-\u{1f64f}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}])$/u;
/** More marks than this on one letter are an attack on the layout: they count as letters, so that the line is folded. */
const MARKS_PER_LETTER = 2;

const NON_JOINER = "\u200c";
const JOINER = "\u200d";
const AS_EMOJI = "\ufe0f";
const PICTURE = /^\p{Extended_Pictographic}$/u;

/** One or more characters that are drawn together and never split. */
interface Measured {
  readonly characters: string;
  readonly columns: number;
}

function* measured(text: string): Iterable<Measured> {
  let [characters, columns, marks, last] = ["", 0, 0, ""];
  for (const character of text) {
    marks = MARK.test(character) ? marks + 1 : 0;
    const isOnLetter = marks > 0 && marks <= MARKS_PER_LETTER;
    const takesNone = isOnLetter || character === NON_JOINER || character === JOINER;
    const isJoined = last === JOINER && PICTURE.test(character);
    if (characters !== "" && !takesNone && !isJoined) {
      yield { characters, columns };
      [characters, columns] = ["", 0];
    }
    characters += character;
    if (!takesNone) columns += WIDE.test(character) ? 2 : 1;
    else if (character === AS_EMOJI && columns === 1) columns = 2; // a sign such as ❤, drawn as an emoji
    last = character;
  }
  if (characters !== "") yield { characters, columns };
}

/** Truncates text to this width, with "…" as the last character. */
export function cutTo(text: string, width: number): string {
  // Every character except a bounded number of marks takes a column, so text beyond this cannot fit.
  const near = text.slice(0, Math.max(0, width + 1) * 2 * (1 + MARKS_PER_LETTER));
  if (near.length === text.length && widthOf(text) <= width) return text;
  return `${firstColumns(near, width - 1)}…`;
}

function firstColumns(text: string, width: number): string {
  let left = width;
  let end = 0;
  for (const { characters, columns } of measured(text)) {
    left -= columns;
    if (left < 0) break;
    end += characters.length;
  }
  return text.slice(0, end);
}

export function pad(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

/** Wraps text to this width, between words; a word is split only if it is too long by itself. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  let used = 0;
  for (const word of text.split(" ").flatMap((each) => foldHard(each, width))) {
    const columns = widthOf(word);
    if (line === "") [line, used] = [word, columns];
    else if (used + 1 + columns <= width) [line, used] = [`${line} ${word}`, used + 1 + columns];
    else {
      lines.push(line);
      [line, used] = [word, columns];
    }
  }
  return [...lines, line];
}

/** Breaks text at exactly this width (at least one character per line) and keeps every character. */
export function foldHard(text: string, width: number): string[] {
  if (widthOf(text) <= width) return [text];
  const lines: string[] = [];
  let line = "";
  let used = 0;
  for (const { characters, columns } of measured(text)) {
    if (used + columns > width && line !== "") {
      lines.push(line);
      [line, used] = ["", 0];
    }
    line += characters;
    used += columns;
  }
  return [...lines, line];
}

const TAB = 4;

/** Replaces tabs by spaces, because the width of a tab depends on its column. */
export function expandTabs(line: string): string {
  if (!line.includes("\t")) return line;
  const [first = "", ...rest] = line.split("\t");
  let out = first;
  let used = widthOf(first);
  for (const part of rest) {
    const gap = TAB - (used % TAB);
    out += " ".repeat(gap) + part;
    used += gap + widthOf(part);
  }
  return out;
}
