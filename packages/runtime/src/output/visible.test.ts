import { expect, test } from "vitest";
import { dropHidden, makeVisible, makeVisibleLines, visibleJson } from "./visible.ts";

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
  { title: "a heart in colour",       text: "I ❤️ it",         want: "I ❤️ it" },
  { title: "a profession",            text: "👩‍💻 👩🏽‍⚕️",          want: "👩‍💻 👩🏽‍⚕️" },
  { title: "a family and a flag",     text: "👨‍👩‍👧‍👦🏳️‍🌈🇩🇪",          want: "👨‍👩‍👧‍👦🏳️‍🌈🇩🇪" },
  { title: "a flag of tags",          text: "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}", want: "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}" },
  { title: "a keycap",                text: "1\ufe0f\u20e3",  want: "1\ufe0f\u20e3" },
  { title: "an emoji shown as text",  text: "☎\ufe0e",         want: "☎\ufe0e" },
  { title: "Persian",                 text: "می\u200cخواهم",   want: "می\u200cخواهم" },
  { title: "Sinhala",                 text: "ශ්\u200dරී",       want: "ශ්\u200dරී" },
  { title: "a non-joiner between Latin letters", text: "pass\u200cword", want: "pass\\u{200c}word" },
  { title: "a joiner between Latin letters",     text: "a\u200db",       want: "a\\u{200d}b" },
  { title: "a second non-joiner",                text: "می\u200c\u200cخ", want: "می\\u{200c}\\u{200c}خ" },
  { title: "a non-joiner at the end",            text: "می\u200c",       want: "می\\u{200c}" },
  { title: "a joiner after the last emoji",      text: "👩\u200d",       want: "👩\\u{200d}" },
  { title: "a second selector",                  text: "❤️\ufe0f",       want: "❤️\\u{fe0f}" },
  { title: "a selector after a letter",          text: "x\ufe0f",        want: "x\\u{fe0f}" },
  { title: "a selector after a digit",           text: "1\ufe0f0",       want: "1\\u{fe0f}0" },
  { title: "hidden text after a flag",           text: "🏴\u{e0068}\u{e0069}\u{e007f}", want: "🏴\\u{e0068}\\u{e0069}\\u{e007f}" },
  { title: "a selector that could carry a byte", text: "葛\u{e0100}",    want: "葛\\u{e0100}" },
  { title: "a turn of direction in Persian",     text: "می\u202eخ",      want: "می\\u{202e}خ" },
  { title: "a filler",                           text: "a\u3164b\u034f", want: "a\\u{3164}b\\u{34f}" },
] as const;

for (const { title, text, want } of CASES) {
  test(`${title} is ${text === want ? "left as it is" : "made visible"}`, () => {
    expect(makeVisible(text)).toBe(want);
  });
}

for (const { title, text, want } of CASES) {
  test(`${title} is ${text === want ? "left in a name" : "dropped from a name"}`, () => {
    const dropped = dropHidden(text);
    expect(dropped === text).toBe(text === want);
    expect(makeVisible(dropped)).toBe(dropped);
    expect(dropHidden(text, "_").replaceAll("_", "")).toBe(dropped);
  });
}

test("a name loses what no font shows", () => {
  expect(dropHidden("a\u{e000}b\u0378c")).toBe("abc");
  expect(dropHidden("a\r\n\u202eb", " ")).toBe("a b");
});

test("text of several lines keeps its line ends and tabs", () => {
  expect(makeVisibleLines("a\n\tb\u0007\r\n")).toBe("a\n\tb\\u{7}\\r\n");
});

test("text of several lines and JSON text keep what they join", () => {
  const text = "👩‍💻 ❤️\nمی\u200cخواهم";
  expect(makeVisibleLines(text)).toBe(text);
  expect(visibleJson(text)).toBe(JSON.stringify(text));
});

test("JSON text shows what is hidden and is still exactly the value", () => {
  const value = { a: "x\n\u001b[31m\u202e\u{e0041}", "\u200b": ["世界", 1, null] };
  expect(visibleJson(value)).toBe('{"a":"x\\n\\u001b[31m\\u202e\\udb40\\udc41","\\u200b":["世界",1,null]}');
  expect(JSON.parse(visibleJson(value))).toEqual(value);
  expect(visibleJson({ a: "\n" }, 2)).toBe('{\n  "a": "\\n"\n}');
});
