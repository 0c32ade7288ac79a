import fc from "fast-check";
import { expect, test } from "vitest";
import { compileGlob } from "../../paths/glob.ts";
import { hintOf, mayMatch } from "./accelerate.ts";

// oxfmt-ignore
const HINTS = [
  { pattern: "*.ts",             glob: "*.ts",       prefix: "",    suffix: ".ts" },
  { pattern: "src/**/*.ts",      glob: "*.ts",       prefix: "",    suffix: ".ts" },
  { pattern: "test-*.{ts,js}",   glob: "test-*.{ts,js}", prefix: "test-", suffix: "" },
  { pattern: "{a,b}*.md/",       glob: "{a,b}*.md",  prefix: "",    suffix: ".md" },
  { pattern: "name",             glob: "name",       prefix: "name", suffix: "name" },
  { pattern: "a***b",            glob: "a*b",        prefix: "a",   suffix: "b" },
] as const;

for (const { pattern, ...hint } of HINTS) {
  test(`the pattern ${pattern} gives a hint`, () => {
    expect(hintOf(pattern)).toEqual(hint);
  });
}

for (const pattern of ["*", "**", "src/**", "a?b", "[ab].ts", "a\\*", "{a/b,c}", "{a}", "é.ts", "--x=y", "a b", ".."]) {
  test(`the pattern ${pattern} gives none`, () => {
    expect(hintOf(pattern)).toBeUndefined();
  });
}

test("a hint excludes no name that its pattern matches", () => {
  const unit = fc.constantFrom("a", "b", ".", "*", "-", "/", "{", ",", "}", "?", "[", "]", "\\");
  const name = fc.string({ unit: fc.constantFrom("a", "b", ".", "-", "{", "}", ","), minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(
      fc.string({ unit, minLength: 1, maxLength: 8 }),
      fc.array(name, { minLength: 1, maxLength: 3 }),
      (pattern, names) => {
        const hint = hintOf(pattern);
        if (hint === undefined || !compileGlob(pattern).matches(names.join("/"))) return;
        const last = names.at(-1) ?? "";
        expect(mayMatch(hint, last)).toBe(true);
        expect(compileGlob(hint.glob).matches(last)).toBe(true);
      },
    ),
    { numRuns: 5000 },
  );
});
