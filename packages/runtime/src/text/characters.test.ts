import fc from "fast-check";
import { expect, test } from "vitest";
import { endOfCharacter, startOfCharacter } from "./characters.ts";

// oxfmt-ignore
const CASES = [
  { title: "between letters",                       bytes: [0x61, 0x62],             at: 1, start: 1 },
  { title: "inside two bytes",                      bytes: [0xc3, 0xa9, 0x61],       at: 1, start: 0 },
  { title: "after two bytes",                       bytes: [0xc3, 0xa9, 0x61],       at: 2, start: 2 },
  { title: "inside four bytes, at the last",        bytes: [0xf0, 0x9f, 0x98, 0x80], at: 3, start: 0 },
  { title: "inside a CRLF",                         bytes: [0x61, 0x0d, 0x0a],       at: 2, start: 1 },
  { title: "between a line feed and a return",      bytes: [0x0a, 0x0d],             at: 1, start: 1 },
  { title: "at the end",                            bytes: [0x61, 0xc3],             at: 2, start: 2 },
  { title: "among continuation bytes of nothing",   bytes: [0x80, 0x80, 0x80],       at: 2, start: 2 },
  { title: "after more of them than it takes",      bytes: [0xc3, 0xa9, 0x80, 0x61], at: 2, start: 2 },
  { title: "after a beginning that is not gone on", bytes: [0xe2, 0x61],             at: 1, start: 1 },
] as const;

for (const { title, bytes, at, start } of CASES) {
  test(`a cut ${title} ${start === at ? "splits no character" : "is moved to before the character"}`, () => {
    expect(startOfCharacter(Uint8Array.from(bytes), at)).toBe(start);
  });
}

test("cut where no character is split, any bytes decode to the same text as in one piece", () => {
  const byte = fc.constantFrom(
    0x61,
    0x0a,
    0x0d,
    0x80,
    0xa9,
    0xbf,
    0xc0,
    0xc3,
    0xe0,
    0xe2,
    0xed,
    0xf0,
    0xf4,
    0xf8,
    0xff,
  );
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  fc.assert(
    fc.property(fc.array(byte, { maxLength: 24 }), fc.nat(24), (list, wanted) => {
      const bytes = Uint8Array.from(list);
      const at = startOfCharacter(bytes, Math.min(wanted, bytes.length));
      const pieces = [bytes.subarray(0, at), bytes.subarray(at)];
      expect(pieces.map((piece) => decoder.decode(piece)).join("")).toBe(decoder.decode(bytes));
    }),
    { numRuns: 2000 },
  );
});

test("from the beginning of a character its end is the next place that splits none", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (text) => {
      const bytes = new TextEncoder().encode(text);
      const first = String.fromCodePoint(text.codePointAt(0) ?? 0);
      const length = text.startsWith("\r\n") ? 2 : new TextEncoder().encode(first).length;
      expect(endOfCharacter(bytes, 0)).toBe(length);
    }),
  );
});
