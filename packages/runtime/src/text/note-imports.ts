/** A file with more is not notes. */
const MAX_IMPORTS = 100;
/** Also in a list item. With a backtick later on the line it is a code span. */
const FENCE = /^[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*$)|~{3,})/;
const HEADING = /^ {0,3}#{1,6}(?:[ \t]|$)/;
const INDENTED = /^(?: {4}|\t)/;
/** A run of backticks, and everything up to the next run of the same length. */
const CODE_SPAN = /(?<!`)(`+)(?!`)[^]*?(?<!`)\1(?!`)/g;
/** `@docs/a.md`, `@~/a.md`, `@./with\ space.md`: at the start of a word, so that mail addresses are not imports. */
const IMPORT = /(?<![^\s(])@((?:\\ |[^\s\\`])+)/g;
/** Punctuation at the end of a sentence or bracket. */
const TRAILING = ".,;:!?)]}'\"*_";

/** The paths that a `CLAUDE.md` imports with `@path`, in order, each once. Code is skipped. */
export function findImports(text: string): readonly string[] {
  const found = new Set<string>();
  for (const paragraph of withoutCodeBlocks(text).split(/\n\s*\n/)) {
    for (const [, word = ""] of paragraph.replaceAll(CODE_SPAN, " ").matchAll(IMPORT)) {
      const path = withoutTrailing(word.replaceAll("\\ ", " ").replace(/#.*$/, ""));
      if (path !== "" && found.size < MAX_IMPORTS) found.add(path);
    }
  }
  return [...found];
}

/** From the end, character by character: a regular expression would retry at each character of a long word. */
function withoutTrailing(word: string): string {
  let end = word.length;
  while (end > 0 && TRAILING.includes(word.charAt(end - 1))) end--;
  return word.slice(0, end);
}

/** Removes fenced blocks, closed or not, and indented ones that follow an empty line, a fenced block or a heading. */
function withoutCodeBlocks(text: string): string {
  const lines: string[] = [];
  let fence: string | undefined;
  let isAfterEmpty = true;
  for (const line of text.split(/\r\n|\n|\r/)) {
    const [, mark] = FENCE.exec(line) ?? [];
    if (fence !== undefined) {
      if (mark?.startsWith(fence) === true && line.trim() === mark) {
        fence = undefined;
        isAfterEmpty = true;
      }
      continue;
    }
    if (mark !== undefined) fence = mark;
    else if (!(isAfterEmpty && INDENTED.test(line))) {
      lines.push(line);
      isAfterEmpty = line.trim() === "" || HEADING.test(line);
    }
  }
  return lines.join("\n");
}

/** Whether a missing file of that name is worth reporting: `@alice` and `@scope/package` are not paths. */
export function isClearlyPath(path: string): boolean {
  return /^(?:\.{1,2}|~)?\//.test(path) || /\.(?:md|markdown|mdx|txt|rst|adoc)$/i.test(path);
}
