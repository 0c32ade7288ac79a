import fc from "fast-check";
import { expect, test } from "vitest";
import { findText } from "./search-text.ts";

/** Few different characters, so that much repeats, and long enough that both ways of searching are taken. */
const repetitive = fc.string({ unit: fc.constantFrom("a", "a", "a", "b"), maxLength: 400 });

function findSlowly(text: string, find: string, overlapping: boolean): number[] {
  const found: number[] = [];
  for (let at = 0; at <= text.length - find.length; at++) {
    const last = found.at(-1);
    const isFree = overlapping || last === undefined || at >= last + find.length;
    if (isFree && text.slice(at, at + find.length) === find) found.push(at);
  }
  return found;
}

test("text is found wherever it is, overlapping or not", () => {
  fc.assert(
    fc.property(repetitive, repetitive, fc.nat(400), fc.boolean(), (text, other, length, overlapping) => {
      const find = text.slice(length, length + other.length) || "a";
      expect(findText(text, find, { limit: Infinity, overlapping })).toEqual(findSlowly(text, find, overlapping));
      expect(findText(text, `${find}b`, { limit: Infinity, overlapping })).toEqual(
        findSlowly(text, `${find}b`, overlapping),
      );
    }),
  );
});

test("a search stops at its limit and starts at the given position", () => {
  expect(findText("aaaa", "a", { limit: 2, overlapping: false })).toEqual([0, 1]);
  expect(findText("aaaa", "a", { limit: 9, overlapping: false, from: 2 })).toEqual([2, 3]);
});

test("texts made to be slow are searched nevertheless", () => {
  const text = "a".repeat(3_000_000);
  expect(findText(text, `${"a".repeat(50_000)}b`, { limit: 1, overlapping: false })).toEqual([]);
  expect(findText(`${text}b`, `${"a".repeat(50_000)}b`, { limit: 1, overlapping: false })).toEqual([2_950_000]);
});
