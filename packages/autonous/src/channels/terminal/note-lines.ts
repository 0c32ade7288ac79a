import { foldHard, widthOf } from "../words/width.ts";

/**
 * Commands to copy: in quotes; after a colon, up to the end of the line or sentence; or with the id that they refer to.
 * A line break inside a copied command would run half of it.
 */
const COMMANDS =
  /"autonous [^"]{1,400}"|`[^`]{1,400}`|(?<=: )autonous [^\n]{1,4000}?(?=\. [A-Z]|$)|autonous (?:[a-z-]{1,24} ){0,3}(?:--[a-z-]{1,24} )?(?:run|apr|undo|bg|grant|task|art)_\w{1,64}/g;
/** Placeholder for a space at which lines must not break. It cannot occur in visible text. */
const JOINT = "\u0000";

/** Wraps a remark to this width, between words, keeping the indentation of each line. Commands are not broken. */
export function noteLines(text: string, width: number): string[] {
  return text.split("\n").flatMap((line) => (widthOf(line) <= width ? [line] : breakLine(line, width)));
}

function breakLine(line: string, width: number): string[] {
  const [indent = ""] = /^ {0,16}/.exec(line) ?? [];
  const room = Math.max(1, width - indent.length);
  const words = line.slice(indent.length).replaceAll(COMMANDS, (command) => command.replaceAll(" ", JOINT));
  const rows: string[] = [];
  let row = "";
  for (const word of words.split(" ").flatMap((each) => (each.includes(JOINT) ? [each] : foldHard(each, room)))) {
    const longer = row === "" ? word : `${row} ${word}`;
    // A command that is longer than a row continues right after its introduction.
    const isTooLong = word.includes(JOINT) && widthOf(word.replaceAll(JOINT, " ")) > room;
    if (row === "" || isTooLong || widthOf(longer.replaceAll(JOINT, " ")) <= room) row = longer;
    else {
      rows.push(row);
      row = word;
    }
  }
  return [...rows, row].map((each) => `${indent}${each.replaceAll(JOINT, " ")}`.trimEnd());
}
