import { expect, test } from "vitest";
import { boundData, boundList, boundText } from "./bounds.ts";

test("a text within the bound is the same, a longer one says how much is missing", () => {
  expect(boundText("short")).toBe("short");
  expect(boundText("x".repeat(13_000), 10)).toBe(`${"x".repeat(10)}… (12,990 more characters)`);
  expect(boundText("🙂🙂", 1).isWellFormed()).toBe(true);
});

test("a list keeps its first entries and counts the others", () => {
  expect(boundList(["a", "b"], 2)).toEqual(["a", "b"]);
  expect(boundList(["a", "b", "c"], 2)).toEqual(["a", "b", "… and 1 more"]);
});

test("data within the bounds is the same reference", () => {
  const value = { a: [1, "x", null, { b: true }], c: "d" };
  expect(boundData(value)).toBe(value);
});

const BOUNDS = { characters: 10, entries: 3, depth: 3, total: 40 };

// oxfmt-ignore
const CUT = [
  { title: "a long string",     value: { a: "x".repeat(12) },      left: { a: "xxxxxxxxxx… (2 more characters)" } },
  { title: "a long name",       value: { ["n".repeat(12)]: 1 },    left: { "nnnnnnnnnn… (2 more characters)": 1 } },
  { title: "a long list",       value: [1, 2, 3, 4, 5],            left: [1, 2, 3, "… and 2 more"] },
  { title: "many fields",       value: { a: 1, b: 2, c: 3, d: 4 }, left: { a: 1, b: 2, c: 3, "…": "… and 1 more" } },
  { title: "deep nesting",      value: [[[[1]]]],                  left: [[["… (nested deeper)"]]] },
] as const;

for (const { title, value, left } of CUT) {
  test(`${title} is cut, and what is missing is counted`, () => {
    expect(boundData(value, BOUNDS)).toEqual(left);
  });
}

test("all strings together keep to the total, however they are spread", () => {
  const value = Array.from({ length: 3 }, () => Array.from({ length: 3 }, () => ["0123456789", "0123456789"]));
  expect(JSON.stringify(boundData(value, BOUNDS)).length).toBeLessThan(300);
});
