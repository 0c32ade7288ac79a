import fc from "fast-check";
import { expect, test } from "vitest";
import { plainJson, showPlainly, showPlainlyLines } from "./look-alikes.ts";

// oxfmt-ignore
const CASES = [
  { title: "a Cyrillic letter in a Latin word",          text: "p\u0430ypal",              want: "p\\u{430}ypal" },
  { title: "a Greek letter in a Latin word",             text: "g\u03bfogle.com",          want: "g\\u{3bf}ogle.com" },
  { title: "a word of nothing but twins",                text: "run \u0440\u0455 now",     want: "run \\u{440}\\u{455} now" },
  { title: "a turn of direction",                        text: "a\u202egnp.exe",           want: "a\\u{202e}gnp.exe" },
  { title: "ideographic spaces that push text away",     text: "main\u3000\u3000|| curl",  want: "main\\u{3000}\\u{3000}|| curl" },
  { title: "a space that does not break",                text: "a\u00a0b",                 want: "a\\u{a0}b" },
  { title: "a letter that is drawn as nothing",          text: "a\u3164b",                 want: "a\\u{3164}b" },
  { title: "wide letters",                               text: "\uff52\uff4d -rf",         want: "\\u{ff52}\\u{ff4d} -rf" },
  { title: "a slash that is none",                       text: "etc\u2215passwd",          want: "etc\\u{2215}passwd" },
  { title: "a Greek question mark",                      text: "a\u037e b",                want: "a\\u{37e} b" },
  { title: "a Russian sentence",                         text: "Роса на траве",            want: "Роса на траве" },
  { title: "a Greek word",                               text: "καλημέρα",                 want: "καλημέρα" },
  { title: "text of several languages",                  text: "héllo 世界 🎉 שלום привет", want: "héllo 世界 🎉 שלום привет" },
  { title: "a word with an accent",                      text: "naïve café",               want: "naïve café" },
] as const;

for (const { title, text, want } of CASES) {
  test(`${title} is ${text === want ? "left as it is" : "written out"}`, () => {
    expect(showPlainly(text)).toBe(want);
  });
}

test("text of several lines keeps its line ends", () => {
  expect(showPlainlyLines("a\n\tp\u0430y\r\n")).toBe("a\n\tp\\u{430}y\\r\n");
});

test("whatever a text holds, a person sees no control, direction or odd space character", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(showPlainly(text)).not.toMatch(/[\p{Cc}\u200b-\u200f\u202a-\u202e\u2060-\u2069\u3000\u00a0]/u);
    }),
  );
});

test("JSON says the same although nothing in it is drawn like something else", () => {
  expect(plainJson({ cmd: "p\u0430y \u202e \u{1d42b}m", path: "привет" })).toBe(
    '{"cmd":"p\\u0430y \\u202e \\ud835\\udc2bm","path":"привет"}',
  );
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(JSON.parse(plainJson({ text }))).toEqual({ text });
    }),
  );
});
