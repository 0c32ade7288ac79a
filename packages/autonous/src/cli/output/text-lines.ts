import { widthOf, wrap } from "../../channels/words/width.ts";

/** Descriptions may have line ends, which say nothing here. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** Further in than every line begins, so that no text can be taken for a line of its own: a digest, a state. */
const CONTINUATION = "      ";

/** Broken between words. What goes on from a line before is indented further than any first line. */
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
