import fc from "fast-check";
import { expect, test } from "vitest";
import { HeadAndTail } from "./head-and-tail.ts";
import type { Gap } from "./head-and-tail.ts";

function shorten(pieces: readonly string[], limits: { lines: number; bytes: number }): { text: string; gap?: Gap } {
  const output = new HeadAndTail(limits);
  let gap: Gap | undefined;
  for (const piece of pieces) output.push(piece);
  const { text } = output.end((found) => {
    gap = found;
    return "[gap]";
  });
  return { text, ...(gap === undefined ? {} : { gap }) };
}

test("a text within the limits is returned unchanged", () => {
  expect(shorten(["a\n", "b", "\nc"], { lines: 10, bytes: 1000 })).toEqual({ text: "a\nb\nc" });
});

test("of a longer one the first and the last lines are kept, and the gap is counted", () => {
  const lines = Array.from({ length: 1000 }, (_, i) => `line ${i}\n`);
  const { text, gap } = shorten(lines, { lines: 10, bytes: 100_000 });
  expect(text).toBe("line 0\nline 1\nline 2\nline 3\nline 4\n[gap]\nline 997\nline 998\nline 999\n");
  expect(gap).toEqual({ lines: 992, bytes: lines.slice(5, 997).join("").length });
});

test("of one endless line the beginning and the end are kept", () => {
  const { text, gap } = shorten(
    Array.from({ length: 1000 }, () => "é".repeat(1000)),
    { lines: 10, bytes: 1000 },
  );
  expect(text).toMatch(/^é+\n\[gap\]\né+$/);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1000);
  expect(gap?.bytes).toBe(2_000_000 - Buffer.byteLength(text.replace("\n[gap]\n", "")));
});

test("whatever comes in whatever pieces, it is within the limits, and what is shown is of the text", () => {
  const piece = fc.oneof(fc.constantFrom("a\n", "\n", "é", "😀\n", "word "), fc.string({ unit: "binary" }));
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 200 }), fc.integer({ min: 4, max: 20 }), (given, lines) => {
      const pieces = given.map((each) => each.toWellFormed());
      const whole = pieces.join("");
      const limits = { lines, bytes: 500 };
      const { text, gap } = shorten(pieces, limits);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limits.bytes);
      expect(text.split("\n").length - 1).toBeLessThanOrEqual(lines);
      if (gap === undefined) {
        expect(text).toBe(whole);
        return;
      }
      const at = text.indexOf("[gap]\n");
      expect(whole.startsWith(text.slice(0, at).replace(/\n$/, ""))).toBe(true);
      expect(whole.endsWith(text.slice(at + "[gap]\n".length))).toBe(true);
    }),
    { numRuns: 500 },
  );
});
