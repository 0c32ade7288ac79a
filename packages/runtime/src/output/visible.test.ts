import { expect, test } from "vitest";
import { makeVisible, makeVisibleLines, visibleJson } from "./visible.ts";

// oxfmt-ignore
const CASES = [
  { title: "a line end",              text: "a\nb",          want: "a\\nb" },
  { title: "a terminal escape",       text: "\u001b[31mred", want: "\\e[31mred" },
  { title: "a carriage return",       text: "good\rbad",     want: "good\\rbad" },
  { title: "a turn of direction",     text: "a\u202eb",      want: "a\\u{202e}b" },
  { title: "a zero-width space",      text: "a\u200bb",      want: "a\\u{200b}b" },
  { title: "a tag character",         text: "a\u{e0041}b",   want: "a\\u{e0041}b" },
  { title: "a C1 control",            text: "a\u009bb",      want: "a\\u{9b}b" },
  { title: "ordinary text of all languages", text: "héllo 世界 🎉 שלום", want: "héllo 世界 🎉 שלום" },
] as const;

for (const { title, text, want } of CASES) {
  test(`${title} is ${text === want ? "left as it is" : "made visible"}`, () => {
    expect(makeVisible(text)).toBe(want);
  });
}

test("text of several lines keeps its line ends and tabs", () => {
  expect(makeVisibleLines("a\n\tb\u0007\r\n")).toBe("a\n\tb\\u{7}\\r\n");
});

test("JSON text shows what is hidden and is still exactly the value", () => {
  const value = { a: "x\n\u001b[31m\u202e\u{e0041}", "\u200b": ["世界", 1, null] };
  expect(visibleJson(value)).toBe('{"a":"x\\n\\u001b[31m\\u202e\\udb40\\udc41","\\u200b":["世界",1,null]}');
  expect(JSON.parse(visibleJson(value))).toEqual(value);
  expect(visibleJson({ a: "\n" }, 2)).toBe('{\n  "a": "\\n"\n}');
});
