import fc from "fast-check";
import { expect, test } from "vitest";
import { fitArguments } from "./fit-arguments.ts";

const SCHEMA = {
  type: "object",
  properties: {
    path: { type: "string" },
    limit: { type: "integer" },
    ratio: { type: "number" },
    deep: { type: "boolean" },
    names: { type: "array", items: { type: "string" } },
    rows: { type: "array", items: { type: "object", properties: { n: { type: "integer" } } } },
    options: {
      type: "object",
      properties: { depth: { type: "integer" }, dry: { type: "boolean" } },
      required: ["depth"],
    },
    kind: { enum: ["a", "b"] },
    either: { anyOf: [{ type: "integer" }, { type: "boolean" }] },
    texty: { anyOf: [{ type: "integer" }, { type: "string" }] },
    nullable: { type: ["integer", "null"] },
    any: {},
  },
  required: ["path"],
} as const;

// oxfmt-ignore
const FITTED = [
  { title: "a number in quotes",                  given: { limit: "10" },                    fits: { limit: 10 },                      done: ["limit: number in quotes"] },
  { title: "a negative fraction in quotes",       given: { ratio: "-0.5" },                  fits: { ratio: -0.5 },                    done: ["ratio: number in quotes"] },
  { title: "a boolean in quotes",                 given: { deep: "true" },                   fits: { deep: true },                     done: ["deep: boolean in quotes"] },
  { title: "Python's boolean in quotes",          given: { deep: "False" },                  fits: { deep: false },                    done: ["deep: boolean in quotes"] },
  { title: "null for an optional argument",       given: { path: "a", limit: null },         fits: { path: "a" },                      done: ["limit: null for an optional argument"] },
  { title: "a list as JSON in a string",          given: { names: '["a", "b"]' },            fits: { names: ["a", "b"] },              done: ["names: JSON in a string"] },
  { title: "an object as JSON in a string",       given: { options: '{"depth": 2}' },        fits: { options: { depth: 2 } },          done: ["options: JSON in a string"] },
  { title: "what stands in that string too",      given: { options: '{"depth": "2"}' },      fits: { options: { depth: 2 } },          done: ["options: JSON in a string", "options.depth: number in quotes"] },
  { title: "one string for a list of strings",    given: { names: "src/a b.ts" },            fits: { names: ["src/a b.ts"] },          done: ["names: one string for a list"] },
  { title: "numbers below a list",                given: { rows: [{ n: "1" }, { n: 2 }] },   fits: { rows: [{ n: 1 }, { n: 2 }] },     done: ["rows[0].n: number in quotes"] },
  { title: "null below an object",                given: { options: { depth: 1, dry: null } }, fits: { options: { depth: 1 } },        done: ["options.dry: null for an optional argument"] },
  { title: "a number where two types are taken",  given: { either: "7" },                    fits: { either: 7 },                      done: ["either: number in quotes"] },
] as const;

for (const { title, given, fits, done } of FITTED) {
  test(`${title} is converted to fit the schema`, () => {
    expect(fitArguments(given, SCHEMA)).toEqual({ arguments: fits, repaired: done });
  });
}

// oxfmt-ignore
const LEFT = [
  { title: "text that looks like a number",           given: { path: "10" } },
  { title: "text that looks like null",               given: { path: "null", limit: "null" } },
  { title: "null for a required argument",            given: { path: null } },
  { title: "null where it is taken",                  given: { nullable: null } },
  { title: "text where text is one of two types",     given: { texty: "10" } },
  { title: "a number with a zero before it",          given: { limit: "010" } },
  { title: "a number with a zero behind it",          given: { ratio: "1.50" } },
  { title: "a fraction for a whole number",           given: { limit: "1.5" } },
  { title: "a number that would lose digits",         given: { limit: "12345678901234567890", ratio: "0.12345678901234567" } },
  { title: "a number in words of science",            given: { ratio: "1e3" } },
  { title: "a number with a unit",                    given: { limit: "10s" } },
  { title: "yes for true",                            given: { deep: "yes" } },
  { title: "a number for a boolean",                  given: { deep: 1 } },
  { title: "several names in one string",             given: { names: "a, b" } },
  { title: "several lines in one string",             given: { names: "a\nb" } },
  { title: "a list with a key twice in a string",     given: { rows: '[{"n":1,"n":2}]' } },
  { title: "a list that is cut off in a string",      given: { rows: '[{"n":1}' } },
  { title: "more than one value in a string",         given: { rows: '[],"more":[]' } },
  { title: "one string for a list of objects",        given: { rows: "a" } },
  { title: "an object for a list",                    given: { rows: '{"n":1}' } },
  { title: "another value than those to choose from", given: { kind: "c" } },
  { title: "what the schema says nothing about",      given: { any: "10", unknown: null, constructor: "1" } },
] as const;

for (const { title, given } of LEFT) {
  test(`${title} stays as it is`, () => {
    const fitted = fitArguments(given, SCHEMA);
    expect(fitted.repaired).toEqual([]);
    expect(fitted.arguments).toBe(given);
  });
}

test("it never throws for any arguments and schema, and converted arguments stay the same", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...Object.keys(SCHEMA.properties)), fc.jsonValue()), (given) => {
      const once = fitArguments(given, SCHEMA);
      expect(fitArguments(once.arguments, SCHEMA).arguments).toEqual(once.arguments);
    }),
  );
  fc.assert(fc.property(fc.object(), fc.object(), (given, schema) => void fitArguments(given, schema)));
});
