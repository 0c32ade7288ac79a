import { wrap } from "../channels/terminal/width.ts";

/** Descriptions may have line ends, which say nothing here. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** Broken between words, with the indentation of each line. */
export function wrapLines(lines: readonly string[], width: number | undefined): readonly string[] {
  if (width === undefined) return lines;
  return lines.flatMap((line) => {
    const indent = /^ */.exec(line)?.[0] ?? "";
    return wrap(line.slice(indent.length), Math.max(1, width - indent.length)).map((each) => `${indent}${each}`);
  });
}
