import { expect, test } from "vitest";
import { findWords } from "./check-words.ts";

// oxfmt-ignore
const FOUND = [
  { title: "in a string",                   text: 'throw new Error("Mend the fields");',               line: 1, found: "Mend" },
  { title: "in a comment",                  text: "a();\n// The task in hand ends.\nb();",             line: 2, found: "in hand" },
  { title: "over two lines of a comment",   text: "/**\n * Files are put\n * aside here.\n */",         line: 2, found: "put aside" },
  { title: "over two lines of a document",  text: "Changes are taken\nback by undo.",                  line: 1, found: "taken back" },
  { title: "in a quotation of a document",  text: "> The record is\n> whole.",                         line: 1, found: "is whole" },
  { title: "with words in between",         text: "It takes all of them back.",                        line: 1, found: "takes all of them back" },
  { title: "for an invalid value",          text: '"x" is no number',                                  line: 1, found: "is no" },
] as const;

for (const { title, text, line, found } of FOUND) {
  test(`a word that readers have to translate is found ${title}`, () => {
    expect(findWords("a.ts", text)).toMatchObject([{ file: "a.ts", line, found }]);
  });
}

test("plain words pass", () => {
  expect(findWords("a.md", "It is no longer valid. The whole file is read. Recommended: put it back later.")).toEqual(
    [],
  );
});
