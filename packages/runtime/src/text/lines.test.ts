import fc from "fast-check";
import { expect, test } from "vitest";
import { countLineFeeds, endOfLines, lineEndsOf } from "./lines.ts";

// oxfmt-ignore
const CASES = [
  { title: "nothing",                       text: "",                 feeds: 0, ends: "none" },
  { title: "one line without an end",       text: "a",                feeds: 0, ends: "none" },
  { title: "line feeds",                    text: "a\nb\n",           feeds: 2, ends: "lf" },
  { title: "CRLF",                          text: "a\r\nb\r\n",       feeds: 2, ends: "crlf" },
  { title: "lone carriage returns",         text: "a\rb\r",           feeds: 0, ends: "cr" },
  { title: "CRLF and line feeds",           text: "a\r\nb\n",         feeds: 2, ends: "mixed" },
  { title: "line feeds and a lone return",  text: "a\rb\n",           feeds: 1, ends: "mixed" },
  { title: "a doubled return",              text: "a\r\r\n",          feeds: 1, ends: "mixed" },
] as const;

for (const { title, text, feeds, ends } of CASES) {
  test(`${title}: ${feeds} lines end, line ends are ${ends}`, () => {
    expect(countLineFeeds(Buffer.from(text))).toBe(feeds);
    expect(lineEndsOf(Buffer.from(text))).toBe(ends);
  });
}

test("the first lines end after their line feeds, or not at all where there are fewer", () => {
  const bytes = Buffer.from("a\nbb\nc");
  expect([0, 1, 2, 3].map((lines) => endOfLines(bytes, lines))).toEqual([0, 2, 5, undefined]);
});

test("counting four bytes at a time misses none, wherever the bytes lie and whatever is beside a line feed", () => {
  const byte = fc.constantFrom(0x0a, 0x0b, 0x09, 0x8a, 0x00, 0xff, 0x0a);
  fc.assert(
    fc.property(fc.array(byte, { maxLength: 40 }), fc.nat(7), (list, skipped) => {
      const bytes = Uint8Array.from(list).subarray(skipped);
      expect(countLineFeeds(bytes)).toBe(bytes.filter((each) => each === 0x0a).length);
    }),
  );
  expect(countLineFeeds(new Uint8Array(10_000).fill(0x0a))).toBe(10_000);
});
