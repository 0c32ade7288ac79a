import { makeVisible } from "@autonous/runtime/internal";
import type { Screen } from "./screen.ts";
import { expandTabs, foldHard } from "../words/width.ts";

interface DiffRoom {
  readonly screen: Pick<Screen, "paint">;
  readonly width: number;
  /** Maximum number of lines. */
  readonly most: number;
}

/** A diff as coloured lines that hide nothing and fit the width; and how many lines were left out. */
export function diffLines(
  diff: string,
  { screen, width, most }: DiffRoom,
): { readonly lines: readonly string[]; readonly more: number } {
  const all = diff.replace(/\n$/, "").split("\n");
  const lines: string[] = [];
  for (const [index, line] of all.entries()) {
    // A line that alone exceeds the limit is not folded completely.
    const near = line.slice(0, (most - lines.length + 1) * width);
    const folded = fold(near, width);
    const shown = folded.slice(0, most - lines.length);
    const style = STYLES.find(({ begins }) => begins.test(line))?.style;
    lines.push(...shown.map((part) => (style === undefined ? part : screen.paint(style, part))));
    const isWhole = shown.length === folded.length && near.length === line.length;
    if (!isWhole) return { lines, more: all.length - index };
  }
  return { lines, more: 0 };
}

/** Marks continuation lines with a prefix that no diff line has, so that a diff line cannot imitate one. */
const GOES_ON = "…";

function fold(line: string, width: number): string[] {
  const shown = expandTabs(line.split("\t").map(makeVisible).join("\t"));
  const [first = "", ...rest] = foldHard(shown, width);
  if (rest.length === 0) return [first];
  return [first, ...foldHard(shown.slice(first.length), Math.max(1, width - 1)).map((part) => `${GOES_ON}${part}`)];
}

const STYLES = [
  { begins: /^(?:\+\+\+|---|diff )/, style: "bold" },
  { begins: /^@@/, style: "cyan" },
  { begins: /^\+/, style: "green" },
  { begins: /^-/, style: "red" },
] as const;
