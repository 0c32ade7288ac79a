import { expect, test } from "vitest";
import { findEncoded } from "./encoded.ts";
import { createView } from "../text/text-view.ts";

/** How many characters of a text are decoded when every place in it is looked at, in a text of 100,000 characters. */
function countDecoded(unit: string): number {
  const view = createView(unit.repeat(Math.ceil(100_000 / unit.length)));
  let count = 0;
  for (let at = 0; at < view.text.length; at++) {
    const decoded = findEncoded(view, { start: at, end: at + 1 })?.decoded;
    if (decoded !== undefined) count += (decoded.starts[decoded.text.length] ?? 0) - (decoded.starts[0] ?? 0);
  }
  return count;
}

const UNITS = ["%41", "%22token%22%3A%22", "\\u0022", "&quot;", "&#65; ", "\\x41\n", "a%41 b", `%41${"a".repeat(500)}`];

test.each(UNITS)("each part of a text with %j is decoded once, except for the overlaps", (unit) => {
  expect(countDecoded(unit)).toBeLessThan(100_000 * 1.5);
});

const NOT_ESCAPES = [
  "%4",
  "%zz",
  "%",
  "\\u004",
  "\\u{}",
  "\\u{110000}",
  "\\x4",
  "\\9",
  "&#;",
  "&#x;",
  "&nothing;",
  "\\U0011FFFF",
];

test.each(NOT_ESCAPES)("%j is not an escape", (text) => {
  expect(findEncoded(createView(`${text} `), { start: 0, end: 2 })).toBeUndefined();
});

// oxfmt-ignore
const DECODED = [
  ["%41b",             "Ab"],  ["%2541b",      "Ab"],  ["%252541b", "Ab"],  ["\\u0041b", "Ab"],  ["\\\\\\u0041b", "Ab"],
  ["\\u{41}b",         "Ab"],  ["\\U00000041b", "Ab"], ["\\x41b",   "Ab"],  ["\\101b",   "Ab"],  ["&#65;b",       "Ab"],
  ["&#x41;b",          "Ab"],  ["&#X41;b",     "Ab"],  ["&quot;b",  '"b'],  ["&amp;quot;b", '"b'], ["&lowbar;b",  "_b"],
  ["\\u{1f642}b",      "🙂b"], ["\\ud800b",    "\ufffdb"], ["%4g%41", "%4gA"], ["%41&x;%42", "A&x;B"], ["%41\\\\%42", "A\\\\B"],
] as const;

test.each(DECODED)("%j is decoded to %j", (text, decoded) => {
  const at = Math.max(0, text.search(/[^\\]/) - 1);
  const start = text.startsWith("%4g") ? 3 : text.startsWith("\\") ? at : 0;
  expect(findEncoded(createView(text), { start, end: start + 1 })?.decoded?.text).toBe(decoded);
});
