import fc from "fast-check";
import { expect, test } from "vitest";
import { cutPage } from "./page.ts";

// oxfmt-ignore
const CASES = [
  { title: "all of it where it fits",                       text: "a\nb",          lines: 2, bytes: 9, whole: true,  want: "a\nb",  full: undefined },
  { title: "all of it where it fits exactly",               text: "a\nb\n",        lines: 2, bytes: 4, whole: true,  want: "a\nb\n", full: undefined },
  { title: "at most the given lines",                        text: "a\nb\nc",       lines: 2, bytes: 9, whole: true,  want: "a\nb\n", full: "lines" },
  { title: "whole lines within the bytes",                  text: "aa\nbb\ncc",    lines: 9, bytes: 7, whole: true,  want: "aa\nbb\n", full: "bytes" },
  { title: "a piece of a line that is too long",            text: "aaaa\nb",       lines: 9, bytes: 3, whole: true,  want: "aaa",   full: "bytes" },
  { title: "exactly the bytes where that is asked",         text: "aa\nbb\n",      lines: 9, bytes: 4, whole: false, want: "aa\nb", full: "bytes" },
  { title: "no half character",                             text: "aé",            lines: 9, bytes: 2, whole: false, want: "a",     full: "bytes" },
  { title: "no half CRLF",                                  text: "aa\r\nb",       lines: 9, bytes: 3, whole: true,  want: "aa",    full: "bytes" },
  { title: "one character where not even that fits",        text: "😀b",           lines: 9, bytes: 1, whole: true,  want: "😀",    full: "bytes" },
  { title: "the last character where not even that fits",   text: "😀",            lines: 9, bytes: 1, whole: true,  want: "😀",    full: undefined },
  { title: "nothing of nothing",                            text: "",              lines: 9, bytes: 9, whole: true,  want: "",      full: undefined },
] as const;

for (const { title, text, lines, bytes, whole, want, full } of CASES) {
  test(`a page holds ${title}`, () => {
    const all = Buffer.from(text);
    const cut = cutPage(all, { lines, bytes, whole_lines: whole });
    expect({ shown: all.toString("utf8", 0, cut.length), full: cut.full }).toEqual({ shown: want, full });
  });
}

test("seeing four bytes more than a page holds is as good as seeing everything", () => {
  const piece = fc.constantFrom("a", "é", "世", "😀", "\n", "\r\n", "\r");
  const size = fc.record({
    lines: fc.integer({ min: 1, max: 4 }),
    bytes: fc.integer({ min: 1, max: 12 }),
    whole_lines: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), size, (pieces, wanted) => {
      const bytes = Buffer.from(pieces.join(""));
      expect(cutPage(bytes.subarray(0, wanted.bytes + 4), wanted).length).toBe(cutPage(bytes, wanted).length);
    }),
  );
});
