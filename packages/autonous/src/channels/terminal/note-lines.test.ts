import fc from "fast-check";
import { expect, test } from "vitest";
import { noteLines } from "./note-lines.ts";
import { widthOf } from "../words/width.ts";

const ID = "run_01m7jq5cjf66e7s0dmryctb2x8";

// oxfmt-ignore
const NOTES = [
  { title: "a short one as it is",       width: 40, text: "all  is well",                          lines: ["all  is well"] },
  { title: "between words",              width: 12, text: "nothing is broken here",                lines: ["nothing is", "broken here"] },
  { title: "a word that is too long",    width: 8,  text: "a wonderfully one",                     lines: ["a", "wonderfu", "lly one"] },
  { title: "at its depth",               width: 14, text: "  - first point of it\nand so on",      lines: ["  - first", "  point of it", "and so on"] },
  { title: "a command at the end",       width: 60, text: `Resume: autonous chat --resume ${ID}`, lines: ["Resume:", `autonous chat --resume ${ID}`] },
  { title: "a command longer than a row", width: 30, text: `Resume: autonous chat --resume ${ID}`, lines: [`Resume: autonous chat --resume ${ID}`] },
  { title: "a command in a sentence",    width: 55, text: `1 turn, 0 calls; autonous events tree ${ID} shows them`, lines: ["1 turn, 0 calls;", `autonous events tree ${ID}`, "shows them"] },
  { title: "a command in quotes",        width: 24, text: 'Use "autonous policy trust" to trust it', lines: ["Use", '"autonous policy trust"', "to trust it"] },
  { title: "a command before a sentence", width: 38, text: "Run this: autonous doctor --fix now please ok. Then retry the call", lines: ["Run this:", "autonous doctor --fix now please ok.", "Then retry the call"] },
];

for (const { title, width, text, lines } of NOTES) {
  test(`a notice is broken: ${title}`, () => expect(noteLines(text, width)).toEqual(lines));
}

test("every line of words fits, and no word is lost", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "bc", "文", " ", "\n", "autonous"), maxLength: 200 });
  fc.assert(
    fc.property(text, fc.integer({ min: 4, max: 60 }), (given, width) => {
      const lines = noteLines(given, width);
      for (const line of lines) if (!line.includes("autonous ")) expect(widthOf(line)).toBeLessThanOrEqual(width);
      expect(lines.join("").replaceAll(" ", "")).toBe(given.replaceAll(/[ \n]/g, ""));
    }),
  );
});

test("a long line is handled quickly", () => {
  expect(noteLines("autonous: word ".repeat(100_000), 80).length).toBeGreaterThan(10_000);
  expect(noteLines("x".repeat(1_000_000), 80)).toHaveLength(12_500);
});
