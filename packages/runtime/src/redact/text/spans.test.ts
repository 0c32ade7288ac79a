import fc from "fast-check";
import { expect, test } from "vitest";
import { REDACTION_MARKER } from "../../protocol/marker.ts";
import { createRedactor } from "../redact.ts";
import { mergeSpans, replaceSpans, spansBefore } from "./spans.ts";

const SIZE = REDACTION_MARKER.length;

// oxfmt-ignore
const PLACES = [
  { title: "before the first marker",        span: { start: 0, end: 3 },            was: { start: 0, end: 3 } },
  { title: "up to a marker",                 span: { start: 3, end: 5 },            was: { start: 3, end: 5 } },
  { title: "a marker",                       span: { start: 5, end: 5 + SIZE },     was: { start: 5, end: 25 } },
  { title: "from within a marker",           span: { start: 6, end: 7 + SIZE },     was: { start: 5, end: 27 } },
  { title: "up to within a marker",          span: { start: 2, end: 6 },            was: { start: 2, end: 25 } },
  { title: "right behind a marker",          span: { start: 5 + SIZE, end: 7 + SIZE }, was: { start: 25, end: 27 } },
  { title: "across a marker",                span: { start: 4, end: 6 + SIZE },     was: { start: 4, end: 26 } },
  { title: "behind a secret shorter than its marker", span: { start: 12 + 2 * SIZE, end: 14 + 2 * SIZE }, was: { start: 34, end: 36 } },
] as const;

test.each(PLACES)("a span $title lay where the secret was", ({ span, was }) => {
  const earlier = [
    { start: 5, end: 25 },
    { start: 30, end: 32 },
  ];
  expect(spansBefore(earlier, [span])).toEqual([was]);
});

test("replacing at once is replacing one after the other", () => {
  const places = fc.uniqueArray(fc.nat(60), { maxLength: 8 }).map((all) => pairs(all.toSorted((a, b) => a - b)));
  fc.assert(
    fc.property(places, places, (first, second) => {
      const text = Array.from({ length: 61 }, (_, i) => String.fromCharCode(0x4e00 + i)).join("");
      const once = replaceSpans(text, first);
      // Half a marker is never replaced.
      const whole = second.filter(({ start, end }) => isOutside(once, start) && isOutside(once, end));
      const atOnce = replaceSpans(text, mergeSpans([...first, ...spansBefore(first, whole)]));
      expect(atOnce).toBe(oneMarker(replaceSpans(once, whole)));
    }),
  );
});

/** Spans that do not touch. */
function pairs(places: readonly number[]): readonly { start: number; end: number }[] {
  return places.flatMap((start, i) =>
    i % 2 === 0 && i + 1 < places.length ? [{ start, end: places[i + 1] ?? 0 }] : [],
  );
}

function isOutside(text: string, at: number): boolean {
  return at <= text.length && !text.slice(Math.max(0, at - SIZE + 1), at + SIZE - 1).includes(REDACTION_MARKER);
}

/** Neighbours become one marker. */
function oneMarker(text: string): string {
  return text.replaceAll(/(?:\*\*\*REDACTED\*\*\*)+/g, REDACTION_MARKER);
}

const BLOCK = `password: |\n  endless${REDACTION_MARKER}MY_TOKEN="abc def"${REDACTION_MARKER}`;
const REDACTED_BLOCK = `password: |\n  ${REDACTION_MARKER}`;

test("what the second pass finds is redacted in a part of a text and in lines too", () => {
  const { redact, redactValue } = createRedactor();
  expect(redact(BLOCK).text).toBe(REDACTED_BLOCK);
  const around = { before: `id: ${"x".repeat(40)}\ntoken: a1b2c3d4e5f6\n`, after: "\nuser: bob\n" };
  expect(redact(BLOCK, around)).toEqual({ text: REDACTED_BLOCK, redacted: true });
  const lines = BLOCK.split("\n").map((text, index) => ({ path: "a.yaml", line: index + 1, text }));
  const shown = REDACTED_BLOCK.split("\n").map((text, index) => ({ path: "a.yaml", line: index + 1, text }));
  expect(redactValue(lines).value).toEqual(shown);
});
