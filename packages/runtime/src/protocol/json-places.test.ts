import fc from "fast-check";
import { expect, test } from "vitest";
import { locateJson, parseStrictJson } from "./json-places.ts";

const TEXT = `{
  "profile": "guarded",
  "rules": [
    { "effect": "deny", "tool": "ls" },
    {
      "effect": "allow",
      "path": "a\\"b/**" }, { "effect": "confirm", "risk": "high" }
  ], "network": { "allow": [ "example.com",
 "*.example.org" ] }
}
`;

// oxfmt-ignore
const PLACES = [
  { path: [],                          place: { line: 1, column: 1 } },
  { path: ["profile"],                 place: { line: 2, column: 3 } },
  { path: ["rules"],                   place: { line: 3, column: 3 } },
  { path: ["rules", 0],                place: { line: 4, column: 5 } },
  { path: ["rules", 0, "tool"],        place: { line: 4, column: 25 } },
  { path: ["rules", 1],                place: { line: 5, column: 5 } },
  { path: ["rules", 1, "path"],        place: { line: 7, column: 7 } },
  { path: ["rules", 2],                place: { line: 7, column: 28 } },
  { path: ["network", "allow", 1],     place: { line: 9, column: 2 } },
  { path: ["rules", 0, "domain"],      place: { line: 4, column: 5 } },
  { path: ["rules", 9, "tool"],        place: { line: 3, column: 3 } },
  { path: ["nothing", "of", "it"],     place: { line: 1, column: 1 } },
] as const;

test.each(PLACES)("the part $path is found at $place, or what it would lie in", ({ path, place }) => {
  const found = locateJson(TEXT);

  if ("problem" in found) expect.unreachable(found.problem);
  expect(found.placeOf(path)).toEqual(place);
});

// oxfmt-ignore
const WRONG = [
  { text: "",                        line: 1, column: 1,  says: /unexpected end/ },
  { text: " \n ",                    line: 2, column: 2,  says: /unexpected end/ },
  { text: '{"a": 1',                 line: 1, column: 8,  says: /unexpected end/ },
  { text: "{ max_turns: 5 }",        line: 1, column: 3,  says: /unexpected character/ },
  { text: '{\n  "a": 1,\n}',         line: 3, column: 1,  says: /unexpected character/ },
  { text: '{"a": 1}\n// a remark\n', line: 2, column: 1,  says: /unexpected character/ },
  { text: '{"a" 1}',                 line: 1, column: 6,  says: /unexpected character/ },
  { text: '{"a": 01}',               line: 1, column: 8,  says: /unexpected character/ },
  { text: "[1 2]",                   line: 1, column: 4,  says: /unexpected character/ },
  { text: "[1}",                     line: 1, column: 3,  says: /unexpected character/ },
  { text: '{"a": "b\nc"}',           line: 1, column: 7,  says: /unexpected character/ },
  { text: "\uFEFF{}",                line: 1, column: 1,  says: /unexpected character/ },
];

test.each(WRONG)("$text is not valid JSON from line $line, column $column on", ({ text, line, column, says }) => {
  const found = locateJson(text);

  expect(() => JSON.parse(text)).toThrow();
  expect(found).toMatchObject({ problem: expect.stringMatching(says), place: { line, column } });
});

test("a duplicate name in an object is reported, with the position of the second", () => {
  const found = locateJson('{ "a": 1, "b": { "a": 2 },\n  "a": 3 }');

  expect(found).toMatchObject({ value: { a: 3 }, repeated: [{ name: "a", place: { line: 2, column: 3 } }] });
});

test("accepts and rejects the same texts as JSON.parse, with the same values", () => {
  const piece = fc.constantFrom(
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"a"',
    '"__proto__"',
    "1",
    "-0.5e3",
    "true",
    "null",
    " ",
    "\n",
    "x",
  );
  const text = fc.oneof(
    fc.json(),
    fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join("")),
  );
  fc.assert(
    fc.property(text, (each) => {
      const found = locateJson(each);
      let value: unknown;
      try {
        value = JSON.parse(each);
      } catch {
        expect(found).toHaveProperty("problem");
        return;
      }
      expect(found).toHaveProperty("value", value);
    }),
  );
});

test("nesting of any depth and long texts are gone through", () => {
  const deep = `${"[".repeat(200_000)}1${"]".repeat(200_000)}`;
  const long = JSON.stringify({
    rules: Array.from({ length: 20_000 }, (_, i) => ({ tool: `t${i}`, s: "x\\".repeat(20) })),
  });

  expect(locateJson(deep)).not.toHaveProperty("problem");
  expect(locateJson(deep.slice(0, -1))).toHaveProperty("problem");
  const found = locateJson(long);
  if ("problem" in found) expect.unreachable(found.problem);
  expect(found.placeOf(["rules", 19_999, "tool"]).line).toBe(1);
});

// oxfmt-ignore
const TWICE = [
  { title: "at the top",                    text: '{"a":1,"b":2,"a":3}',                                         line: 1, column: 14 },
  { title: "the same value",                text: '{"a":1,"a":1}',                                               line: 1, column: 8 },
  { title: "once escaped",                  text: String.raw`{"path":"a","p\u0061th":"b"}`,                      line: 1, column: 13 },
  { title: "escaped in two ways",           text: String.raw`{"\/":1,"\u002F":2}`,                               line: 1, column: 9 },
  { title: "a prototype",                   text: '{"__proto__":1,"__proto__":2}',                               line: 1, column: 16 },
  { title: "an empty name",                 text: '{"":1,\n"":2}',                                               line: 2, column: 1 },
  { title: "deeper than any setting",       text: `${'{"a":'.repeat(200)}{"b":1,"b":2}${"}".repeat(200)}`,       line: 1, column: 1008 },
  { title: "in a list in a list",           text: '[[[[[[{"a":1},{"a":1,"c":{},"a":2}]]]]]]',                    line: 1, column: 29 },
  { title: "after an object that is over",  text: '{"a":{"a":{"b":[]}},"b":1,"a":1}',                            line: 1, column: 27 },
] as const;

test.each(TWICE)("an object with a duplicate name ($title) is rejected with its position", ({ text, line, column }) => {
  expect(() => parseStrictJson(text)).toThrow(new RegExp(`Duplicate name.* line ${line} column ${column}$`));
  expect(locateJson(text)).toMatchObject({ repeated: [{ place: { line, column } }] });
});

test("the same name is allowed in separate objects, and invalid JSON is rejected", () => {
  for (const text of ['[{"a":1},{"a":1}]', '{"a":{"a":{"a":1}},"b":{"a":1}}', '{"a":"\\"a\\":1,"}', "1", '""'])
    expect(parseStrictJson(text)).toEqual(JSON.parse(text));
  for (const text of ["", "{", '{"a":1,}', "{a:1}"]) expect(() => parseStrictJson(text)).toThrow(SyntaxError);
});

test("of thousands of duplicate names only a few are reported", () => {
  const text = `{${Array.from({ length: 5000 }, () => '"a":1').join(",")}}`;
  expect(locateJson(text)).toMatchObject({ repeated: { length: 20 } });
});
