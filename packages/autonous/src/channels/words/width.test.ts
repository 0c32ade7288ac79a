import fc from "fast-check";
import { expect, test } from "vitest";
import { cutTo, expandTabs, foldHard, pad, widthOf, wrap } from "./width.ts";

// oxfmt-ignore
const WIDTHS = [
  { title: "letters",                   text: "abc",              width: 3 },
  { title: "Chinese",                   text: "文件名",           width: 6 },
  { title: "Japanese and full width",   text: "ファイルＡ",       width: 10 },
  { title: "Korean",                    text: "파일",             width: 4 },
  { title: "emoji",                     text: "😀✅",             width: 4 },
  { title: "a sign drawn as an emoji",  text: "❤\ufe0f",          width: 2 },
  { title: "joined emoji",              text: "👩\u200d💻",        width: 4 },
  { title: "Persian",                   text: "می\u200cخواهم",    width: 7 },
  { title: "letters with accents",      text: "e\u0301a",         width: 2 },
  { title: "a tower of marks",          text: `e${"\u0301".repeat(40)}`, width: 39 },
  { title: "lines and bars",            text: "│█░─",             width: 4 },
  { title: "nothing",                   text: "",                 width: 0 },
];

for (const { title, text, width } of WIDTHS) {
  test(`${title}: the width is that on a terminal`, () => {
    expect(widthOf(text)).toBe(width);
  });
}

test("text that is too wide is cut with a mark; a wide character is not cut in half", () => {
  expect(cutTo("abcdef", 6)).toBe("abcdef");
  expect(cutTo("abcdef", 5)).toBe("abcd…");
  expect(cutTo("文件文件", 5)).toBe("文件…");
  expect(cutTo("文件文件", 6)).toBe("文件…");
  expect(cutTo("文件文件", 8)).toBe("文件文件");
});

test("joined emoji are not split", () => {
  expect(cutTo("ab👩\u200d💻", 5)).toBe("ab…");
  expect(foldHard("👩\u200d💻👩\u200d💻", 6)).toEqual(["👩\u200d💻", "👩\u200d💻"]);
});

test("columns line up whatever the script", () => {
  expect([pad("文", 4), pad("ab", 4), pad("toolong", 4)]).toEqual(["文  ", "ab  ", "toolong"]);
});

test("tabs become the spaces up to the next stop", () => {
  expect(expandTabs("\ta\tbcde\tf")).toBe("    a   bcde    f");
});

test("no line is wider than asked, and nothing is lost", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "文", "😀", "e\u0301", " ", "-"), maxLength: 120 });
  fc.assert(
    fc.property(text, fc.integer({ min: 2, max: 40 }), (given, width) => {
      expect(widthOf(cutTo(given, width))).toBeLessThanOrEqual(width);
      const folded = foldHard(given, width);
      expect(folded.join("")).toBe(given);
      const wrapped = wrap(given, width);
      expect(wrapped.join("").replaceAll(" ", "")).toBe(given.replaceAll(" ", ""));
      for (const line of [...folded, ...wrapped]) expect(widthOf(line)).toBeLessThanOrEqual(width);
    }),
  );
});

test("an endless line is cut quickly", () => {
  expect(widthOf(cutTo("文".repeat(5_000_000), 80))).toBe(79);
});
