import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeLeniently, decodeText, encodeText, startsWithBom } from "./encoding.ts";

// oxfmt-ignore
const CASES = [
  { title: "nothing",                        bytes: [],                                   want: { text: "", bom: false } },
  { title: "plain text",                     bytes: [0x68, 0x69],                         want: { text: "hi", bom: false } },
  { title: "text with a byte order mark",    bytes: [0xef, 0xbb, 0xbf, 0x68],             want: { text: "h", bom: true } },
  { title: "two byte order marks",           bytes: [0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf], want: { text: "\ufeff", bom: true } },
  { title: "a replacement mark of its own",  bytes: [0xef, 0xbf, 0xbd],                   want: { text: "\ufffd", bom: false } },
  { title: "Latin-1",                        bytes: [0x63, 0x61, 0x66, 0xe9],             want: { problem: "invalid_utf8" } },
  { title: "half a character at the end",    bytes: [0x61, 0xc3],                         want: { problem: "invalid_utf8" } },
  { title: "an overlong form",               bytes: [0xc0, 0xaf],                         want: { problem: "invalid_utf8" } },
  { title: "a surrogate",                    bytes: [0xed, 0xa0, 0x80],                   want: { problem: "invalid_utf8" } },
  { title: "UTF-16, little end first",       bytes: [0xff, 0xfe, 0x68, 0x00],             want: { problem: "utf-16" } },
  { title: "UTF-16, big end first",          bytes: [0xfe, 0xff, 0x00, 0x68],             want: { problem: "utf-16" } },
  { title: "a NUL among other bytes",        bytes: [0x61, 0x00, 0x62, 0x0a],             want: { text: "a\0b\n", bom: false } },
  { title: "UTF-16 without a mark",          bytes: [0x61, 0x00, 0x62, 0x00],             want: { problem: "binary" } },
  { title: "a picture",                      bytes: [0xff, 0xd8, 0xff, 0xe0],             want: { problem: "binary" } },
] as const;

for (const { title, bytes, want } of CASES) {
  test(`${title} is ${"problem" in want ? `refused as ${want.problem}` : "decoded"}`, () => {
    expect(decodeText(Uint8Array.from(bytes))).toEqual(want);
  });
}

test("what can be decoded is encoded to the same bytes again", () => {
  const piece = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("\ufeff", "\r\n", "\r", "\ufffd", "é"));
  fc.assert(
    fc.property(fc.array(piece), fc.uint8Array(), fc.boolean(), (pieces, tail, isText) => {
      const bytes = Buffer.concat([Buffer.from(pieces.join("").toWellFormed()), isText ? Buffer.alloc(0) : tail]);
      const decoded = decodeText(bytes);
      if (!("problem" in decoded)) expect(encodeText(decoded).equals(bytes)).toBe(true);
    }),
  );
});

test("for display, invalid UTF-8 becomes replacement characters, and those in the file itself are not an error", () => {
  expect(decodeLeniently(Uint8Array.of(0x61, 0xff, 0xe2, 0x82, 0x62))).toEqual({
    text: "a\ufffd\ufffdb",
    valid: false,
  });
  expect(decodeLeniently(Buffer.from("a\ufffdb"))).toEqual({ text: "a\ufffdb", valid: true });
  expect(startsWithBom(Buffer.from("\ufeffa"))).toBe(true);
  expect(startsWithBom(Buffer.from("a"))).toBe(false);
});
