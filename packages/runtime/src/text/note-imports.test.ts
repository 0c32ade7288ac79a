import { expect, test } from "vitest";
import { findImports } from "./note-imports.ts";

// oxfmt-ignore
const CASES = [
  { title: "a word after @",                text: "See @README.md and @docs/a.txt",             found: ["README.md", "docs/a.txt"] },
  { title: "the end of a sentence is none", text: "Read @a.md. (And @b.md), **@c.md**",         found: ["a.md", "b.md"] },
  { title: "an anchor is left out",         text: "@a.md#part",                                 found: ["a.md"] },
  { title: "a home folder and a space",     text: "@~/own.md @./with\\ space.md",               found: ["~/own.md", "./with space.md"] },
  { title: "mail is none",                  text: "me@example.com",                             found: [] },
  { title: "twice is once",                 text: "@a.md @a.md",                                found: ["a.md"] },
  { title: "code spans are left out",       text: "`@a.md` ``x ` @b.md`` @c.md ` @d.md",        found: ["c.md", "d.md"] },
  { title: "fenced blocks are left out",    text: "```\n@a.md\n~~~\n@b.md\n````\n@c.md\n~~~x\n@d.md", found: ["c.md"] },
  { title: "indented blocks are left out",  text: "x\n\n    @a.md\n\n- item\n    @b.md",        found: ["b.md"] },
  { title: "so are those after a fence",    text: "```\nx\n```\n    @a.md\n# Title\n    @b.md\nx @c.md", found: ["c.md"] },
  { title: "fences in lists count",         text: "1. Run\n    ```sh\n    @a.md\n    ```\n- ```\n  @b.md\n  ```\n@c.md", found: ["c.md"] },
  { title: "a span of three is not a fence",  text: "```@a.md``` and\n@b.md",                      found: ["b.md"] },
  { title: "a span ends with its paragraph", text: "a ` b\n\n@a.md ` c",                        found: ["a.md"] },
] as const;

for (const { title, text, found } of CASES) {
  test(`imports: ${title}`, () => {
    expect(findImports(text)).toEqual(found);
  });
}

test("a text made to be slow is read at once, and has an end", () => {
  const hostile = Array.from({ length: 250 }, (_, at) => "`".repeat(at + 1)).join(" ");
  expect(findImports(hostile)).toEqual([]);
  expect(findImports(`@${")".repeat(1_000_000)}x`)).toHaveLength(1); // quadratic time would not end
  expect(findImports("@a ".repeat(5) + Array.from({ length: 20_000 }, (_, at) => `@${at}`).join(" "))).toHaveLength(
    100,
  );
});
