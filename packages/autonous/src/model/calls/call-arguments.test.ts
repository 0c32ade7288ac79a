import fc from "fast-check";
import { expect, test } from "vitest";
import { readCallArguments } from "./call-arguments.ts";
import { repairJson } from "./repair-json.ts";

const FENCE = "```";

// oxfmt-ignore
const REPAIRED = [
  { title: "a trailing comma in the object",          text: '{"a": 1,}',                         args: { a: 1 },                done: ["trailing comma"] },
  { title: "trailing commas in a list and an object", text: '{"a": [1, 2, ],\n}',                args: { a: [1, 2] },           done: ["trailing comma"] },
  { title: "a raw line break in a string",            text: '{"a": "x\ny"}',                     args: { a: "x\ny" },           done: ["control character in a string"] },
  { title: "a raw tab and a carriage return",         text: '{"a": "x\ty\r\n"}',                 args: { a: "x\ty\r\n" },       done: ["control character in a string"] },
  { title: "a raw NUL",                               text: '{"a": "x\u0000"}',                  args: { a: "x\u0000" },        done: ["control character in a string"] },
  { title: "a comma and a bracket within a string",   text: '{"a": ",}", }',                     args: { a: ",}" },             done: ["trailing comma"] },
  { title: "a code fence",                            text: `${FENCE}json\n{"a":1}\n${FENCE}`,   args: { a: 1 },                done: ["code fence"] },
  { title: "a fence of tildes without a language",    text: '~~~\n{"a":1}\n~~~',                 args: { a: 1 },                done: ["code fence"] },
  { title: "a fence and a trailing comma",            text: `${FENCE}\n{"a":1,}\n${FENCE}`,      args: { a: 1 },                done: ["code fence", "trailing comma"] },
  { title: "JSON in a string",                        text: JSON.stringify('{"a":1}'),           args: { a: 1 },                done: ["JSON in a string"] },
  { title: "JSON in a string in a string",            text: JSON.stringify(JSON.stringify('{"a":"\\n"}')), args: { a: "\n" },   done: ["JSON in a string", "JSON in a string"] },
  { title: "Python's literals",                       text: '{"a": True, "b": None, "c": [False]}', args: { a: true, b: null, c: [false] }, done: ["Python literal"] },
  { title: "Python's literals named in a string",     text: '{"a": "True, None", "b": True}',    args: { a: "True, None", b: true }, done: ["Python literal"] },
  { title: "Python's quotes",                         text: "{'a': 'say \"hi\"', 'b': 'it\\'s'}", args: { a: 'say "hi"', b: "it's" }, done: ["single quotes", "escape that JSON does not have"] },
  { title: "a pattern with single backslashes",       text: String.raw`{"a": "^\d+\.\w$"}`,      args: { a: String.raw`^\d+\.\w$` }, done: ["escape that JSON does not have"] },
  { title: "one object in a list",                    text: '[{"a":1}]',                         args: { a: 1 },                done: ["list around one object"] },
  { title: "a marker behind it",                      text: '{"a":1}<|call|>',                   args: { a: 1 },                done: ["marker at the end"] },
  { title: "a closing tag behind it",                 text: '{"a":1}\n</tool_call>',             args: { a: 1 },                done: ["marker at the end"] },
  { title: "an empty object before it",               text: '{}{"a":1}',                         args: { a: 1 },                done: ["empty object before it"] },
  { title: "the same object twice",                   text: '{"a":1}{"a":1}',                    args: { a: 1 },                done: ["the same object twice"] },
] as const;

for (const { title, text, args, done } of REPAIRED) {
  test(`${title} is repaired, and the repair is reported`, () => {
    expect(readCallArguments(text)).toEqual({ arguments: args, repaired: done });
  });
}

// oxfmt-ignore
const REFUSED = [
  { title: "a key that comes twice",                    text: '{"a":1,"a":2}' },
  { title: "a key that comes twice, with a comma more", text: '{"a":1,"a":2,}' },
  { title: "a key that comes twice in a string",        text: JSON.stringify('{"a":1,"a":2}') },
  { title: "JSON that is cut off",                      text: '{"a":"x' },
  { title: "JSON that is cut off after a comma",        text: '{"a":1,' },
  { title: "two objects that differ",                   text: '{"a":1}{"a":2}' },
  { title: "a list of two objects",                     text: '[{"a":1},{"a":2}]' },
  { title: "two commas",                                text: '{"a":1,,}' },
  { title: "a comma and nothing else",                  text: "{,}" },
  { title: "quotes that are not escaped",               text: '{"a": "say "hi" to"}' },
  { title: "an apostrophe in Python's quotes",          text: "{'a': 'it's'}" },
  { title: "a path whose backslashes mean two things",  text: String.raw`{"a": "C:\Users\new"}` },
  { title: "a word boundary among other escapes",       text: String.raw`{"a": "\bword\d"}` },
  { title: "half an escape of a character",             text: String.raw`{"a": "\u12", }` },
  { title: "a number that is too large",                text: '{"a": 1e999,}' },
  { title: "keys without quotes",                       text: "{a: 1}" },
  { title: "words",                                     text: "read the file" },
  { title: "an empty string in quotes",                 text: '""' },
  { title: "a fence with nothing in it",                text: `${FENCE}\n${FENCE}` },
  { title: "a single comma for a missing value",        text: '{"a":,}' },
] as const;

for (const { title, text } of REFUSED) {
  test(`${title} has no single reading and is not repaired`, () => {
    expect(readCallArguments(text)).toHaveProperty("problem");
  });
}

const json = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }));

test("valid arguments are never changed", () => {
  fc.assert(
    fc.property(json, fc.integer({ min: 0, max: 3 }), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const expected = JSON.parse(text) as unknown;
      expect(readCallArguments(text)).toEqual({ arguments: expected, repaired: [] });
    }),
  );
});

test("valid JSON gives the repair nothing to do", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => repairJson(JSON.stringify(value)) === undefined));
});

test("arguments are unwrapped from any nesting of wrappers", () => {
  const wrap = fc.constantFrom<(text: string) => string>(
    (text) => JSON.stringify(text),
    (text) => `${FENCE}json\n${text}\n${FENCE}`,
    (text) => `${text}<|im_end|>`,
  );
  fc.assert(
    fc.property(json, fc.array(wrap, { minLength: 1, maxLength: 3 }), (value, wraps) => {
      const text = wraps.reduce((inner, each) => each(inner), JSON.stringify(value));
      expect(readCallArguments(text)).toMatchObject({ arguments: JSON.parse(JSON.stringify(value)) as object });
    }),
  );
});

test("no text makes the reading throw", () => {
  const pieces = fc.array(
    fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      '"',
      "'",
      "\\",
      ",",
      ":",
      "True",
      "None",
      "\n",
      " ",
      "a",
      "1",
      "`",
      "<|",
      "|>",
      "\ud800",
    ),
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        pieces.map((each) => each.join("")),
      ),
      (text) => void readCallArguments(text),
    ),
  );
});

// oxfmt-ignore
const HOSTILE = [
  { title: "commas",            text: `{"a":[${",".repeat(1_000_000)}]}` },
  { title: "spaces",            text: `{"a":1,${" ".repeat(1_000_000)}` },
  { title: "opening brackets",  text: "[{".repeat(500_000) },
  { title: "quotes",            text: "'".repeat(1_000_000) },
  { title: "backslashes",       text: `{"a":"${"\\".repeat(1_000_000)}` },
  { title: "markers",           text: `{"a":1}${"<|x|>".repeat(200_000)}` },
  { title: "fences",            text: "```".repeat(330_000) },
] as const;

for (const { title, text } of HOSTILE) {
  test(`a megabyte of ${title} is refused`, () => {
    expect(readCallArguments(text)).toHaveProperty("problem");
  });
}
