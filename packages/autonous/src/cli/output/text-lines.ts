import { widthOf, wrap } from "../../channels/words/width.ts";

/** Replaces the line breaks of descriptions. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** Indented deeper than any first line, so that wrapped text cannot imitate a separate line such as a digest. */
const CONTINUATION = "      ";

/** Wraps between words. Continuation lines are indented deeper than any first line. */
export function wrapLines(lines: readonly string[], width: number | undefined): readonly string[] {
  if (width === undefined) return lines;
  return lines.flatMap((line) => {
    if (widthOf(line) <= width) return [line];
    const indent = /^ */.exec(line)?.[0] ?? "";
    const room = Math.max(1, width - indent.length - CONTINUATION.length);
    const [first = "", ...more] = wrap(line.slice(indent.length), room);
    return [`${indent}${first}`, ...more.map((each) => `${indent}${CONTINUATION}${each}`)];
  });
}
