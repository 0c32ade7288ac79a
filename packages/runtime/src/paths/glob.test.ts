import { expect, test } from "vitest";
import { compileGlob } from "./glob.ts";

// oxfmt-ignore
const CASES = [
  { pattern: "*.ts",            path: "a.ts",               matches: true },
  { pattern: "*.ts",            path: "src/deep/a.ts",      matches: true },
  { pattern: "*.ts",            path: "a.tsx",              matches: false },
  { pattern: "src/*.ts",        path: "src/a.ts",           matches: true },
  { pattern: "src/*.ts",        path: "src/deep/a.ts",      matches: false },
  { pattern: "src/**/*.ts",     path: "src/a.ts",           matches: true },
  { pattern: "src/**/*.ts",     path: "src/x/y/a.ts",       matches: true },
  { pattern: "src/**",          path: "src",                matches: true },
  { pattern: "src/**",          path: "srcs/a",             matches: false },
  { pattern: "node_modules/",   path: "a/node_modules",     matches: true },
  { pattern: "/a",              path: "a",                  matches: true },
  { pattern: "/a",              path: "b/a",                matches: false },
  { pattern: "./a",             path: "b/a",                matches: false },
  { pattern: "./a/b",           path: "a/b",                matches: true },
  { pattern: "?.md",            path: "é.md",               matches: true },
  { pattern: "?.md",            path: "😀.md",              matches: true },
  { pattern: "[a-c]x",          path: "bx",                 matches: true },
  { pattern: "[!a-c]x",         path: "bx",                 matches: false },
  { pattern: "[]x",             path: "[]x",                matches: true },
  { pattern: "{a,b}.{js,ts}",   path: "b.ts",               matches: true },
  { pattern: "{a,b}.{js,ts}",   path: "c.ts",               matches: false },
  { pattern: "x{a,{b,c}}",      path: "xc",                 matches: true },
  { pattern: "a{b}c",           path: "a{b}c",              matches: true },
  { pattern: "\\*",             path: "*",                  matches: true },
  { pattern: "\\*",             path: "a",                  matches: false },
  { pattern: "a.c",             path: "abc",                matches: false },
  { pattern: "**",              path: "any/thing",          matches: true },
] as const;

for (const { pattern, path, matches } of CASES) {
  test(`the glob "${pattern}" ${matches ? "matches" : "does not match"} "${path}"`, () => {
    expect(compileGlob(pattern).matches(path)).toBe(matches);
  });
}

test("a pattern made to go wrong is answered, not waited for", () => {
  const glob = compileGlob(`${"*a".repeat(200)}b`);
  expect(glob.matches("a".repeat(4000))).toBe(false);
  expect(compileGlob("**/a/".repeat(100)).matches("a/".repeat(1000))).toBe(false);
});

test("too many alternatives and too long a pattern are refused", () => {
  expect(() => compileGlob("{a,b}".repeat(12))).toThrow(/256 alternatives/);
  expect(() => compileGlob("a".repeat(2000))).toThrow(/2000 characters/);
});
