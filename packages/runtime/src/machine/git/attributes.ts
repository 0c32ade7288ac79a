/**
 * Which files of a folder may differ from git's stored content because of configured line endings, `$Id$`, an encoding
 * or a filter. May include too many files, never too few.
 */
export interface ConversionDoubts {
  /** All files. */
  readonly isAll: boolean;
  /** File names, and suffixes that begin with a dot, in lower case. */
  readonly names: readonly string[];
}

export const NO_DOUBTS: ConversionDoubts = { isAll: false, names: [] };
export const ALL_DOUBTFUL: ConversionDoubts = { isAll: true, names: [] };

/** Attributes that convert contents. `-text` and `!text` convert nothing. */
const CONVERTS = /^(?:text|eol|crlf|ident|filter|working-tree-encoding)(?:=|$)|^-crlf$/;
const PLAIN_NAME = /^[^*?[\\/"!]+$/;
const PLAIN_ENDING = /^\*(\.[^*?[\\/"]+)$/;
const MAX_NAMES = 200;

/** Adds the doubts from an attributes file to those of its folder and its subfolders. */
export function addDoubts(above: ConversionDoubts, text: string): ConversionDoubts {
  if (above.isAll) return above;
  const names = new Set(above.names);
  for (const line of text.split("\n")) {
    const [pattern = "", ...settings] = line.trim().split(/[ \t]+/);
    if (pattern === "" || pattern.startsWith("#") || !settings.some((each) => CONVERTS.test(each))) continue;
    const name = PLAIN_ENDING.exec(pattern)?.[1] ?? PLAIN_NAME.exec(pattern)?.[0];
    // A macro, a path, or a quoted or unusual pattern.
    if (name === undefined || pattern.startsWith("[") || names.size >= MAX_NAMES) return ALL_DOUBTFUL;
    names.add(name.toLowerCase());
  }
  return { isAll: false, names: [...names] };
}

export function isDoubtful({ isAll, names }: ConversionDoubts, name: string): boolean {
  if (isAll || names.length === 0) return isAll;
  const folded = name.toLowerCase();
  return names.some((each) => (each.startsWith(".") ? folded.endsWith(each) : folded === each));
}
