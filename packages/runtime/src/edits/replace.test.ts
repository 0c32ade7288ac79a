import fc from "fast-check";
import { expect, test } from "vitest";
import { ToolError } from "../protocol/errors.ts";
import { replaceText } from "./replace.ts";

/** What an edit gives, or the error it throws. */
function edit(text: string, ...edits: Parameters<typeof replaceText>[1]): string | ToolError {
  try {
    return replaceText(text, edits, { path: "a.ts" }).text;
  } catch (error) {
    if (error instanceof ToolError) return error;
    throw error;
  }
}

// oxfmt-ignore
const REPLACED = [
  { title: "text that is there once",                       text: "let a = 1;\n",          find: "a = 1",       replace: "a = 2",       gives: "let a = 2;\n" },
  { title: "part of a line, its trailing space kept",       text: "a   \nb",               find: "a",           replace: "A",           gives: "A   \nb" },
  { title: "patterns of replacement as plain text",         text: "x y\n",                 find: "x",           replace: "$& $1 $$ $`", gives: "$& $1 $$ $` y\n" },
  { title: "a line to nothing",                             text: "a\nb\nc\n",             find: "b\n",         replace: "",            gives: "a\nc\n" },
  { title: "a line of a CRLF file, found by LF",            text: "a\r\nb\r\nc\r\n",       find: "b\n",         replace: "x\ny\n",      gives: "a\r\nx\r\ny\r\nc\r\n" },
  { title: "a word of a CRLF file by two lines",            text: "a\r\nb\r\n",            find: "b",           replace: "x\ny",        gives: "a\r\nx\r\ny\r\n" },
  { title: "the last word of a CRLF file by two lines",     text: "a\r\nb",                find: "b",           replace: "x\ny",        gives: "a\r\nx\r\ny" },
  { title: "a word of a file with lone CR by two lines",    text: "a\rb\rc\r",             find: "b",           replace: "x\ny",        gives: "a\rx\ry\rc\r" },
  { title: "from a line end on, in a CRLF file",            text: "a\r\nb\r\nc\r\n",       find: "\nb",         replace: "\nx\ny",      gives: "a\r\nx\r\ny\r\nc\r\n" },
  { title: "line ends of a CRLF file to nothing",           text: "a\r\nb\r\nc",           find: "\nb\n",       replace: "",            gives: "ac" },
  { title: "LF by CRLF with LF",                             text: "a\nb\n",                find: "b",           replace: "x\r\ny",      gives: "a\nx\ny\n" },
  { title: "CRLF by LF where nothing else changes",         text: "a\r\nb\r\n",            find: "a\r\nb",      replace: "a\nb",        gives: "a\nb\r\n" },
  { title: "CRLF text by LF text, as CRLF",                 text: "a\r\nb\r\n",            find: "a\r\nb",      replace: "a\nx",        gives: "a\r\nx\r\n" },
  { title: "LF text that was taken for CRLF, as LF",        text: "a\nb\nc\n",             find: "a\r\nb",      replace: "x\r\ny",      gives: "x\ny\nc\n" },
  { title: "in mixed line ends, lines in common untouched", text: "a\r\nb\nc\rd\r\n",      find: "a\nb\nc\nd",  replace: "a\nB\nc\nd",  gives: "a\r\nB\nc\rd\r\n" },
  { title: "in mixed line ends, by the region's own",       text: "a\r\nb\nc\n",           find: "a\nb",        replace: "x\ny\nz",     gives: "x\r\ny\r\nz\nc\n" },
  { title: "without regard to trailing space",              text: "k  \na  \nb\t\nc  \n",  find: "a\nb\n",      replace: "x\n",         gives: "k  \nx\nc  \n" },
  { title: "with trailing space that is not there",         text: "a\nb\n",                find: "a \nb\t",     replace: "x",           gives: "x\n" },
  { title: "with trailing space, lines in common untouched", text: "a  \nb\nc\n",          find: "a\nb",        replace: "a\nx",        gives: "a  \nx\nc\n" },
  { title: "up to the indentation of the next line",        text: "a\r\n  b\r\n",          find: "a\n  ",       replace: "x\n    ",     gives: "x\r\n    b\r\n" },
  { title: "text with NUL and emoji",                       text: "a\0b 👨‍👩‍👧\n",                find: "👨‍👩‍👧",           replace: "👪",          gives: "a\0b 👪\n" },
];

for (const { title, text, find, replace, gives } of REPLACED) {
  test(`replaces ${title}`, () => {
    expect(edit(text, { find, replace })).toBe(gives);
  });
}

// oxfmt-ignore
const REPLACED_ALL = [
  { title: "none inside of another",               text: "aaaa",                     find: "aa",   replace: "b",    gives: "bb" },
  { title: "also where line ends differ",          text: "a\nb\na\r\nb\r\n",         find: "a\nb", replace: "x\ny", gives: "x\ny\nx\r\ny\r\n" },
  { title: "LF to CRLF",                           text: "a\nb\r\nc\n",              find: "\n",   replace: "\r\n", gives: "a\r\nb\r\nc\r\n" },
  { title: "CRLF to LF",                           text: "a\nb\r\nc\r\n",            find: "\r\n", replace: "\n",   gives: "a\nb\nc\n" },
  { title: "each with the line end beside it",     text: "x\r\nx\nx\rx",             find: "x",    replace: "y\nz", gives: "y\r\nz\r\ny\nz\ny\rz\ry\rz" },
];

for (const { title, text, find, replace, gives } of REPLACED_ALL) {
  test(`replaces every occurrence: ${title}`, () => {
    expect(edit(text, { find, replace, all: true })).toBe(gives);
  });
}

// oxfmt-ignore
const REFUSED = [
  { title: "text that is not there",          text: "let a = 1;\n",     edits: [{ find: "let b = 1", replace: "" }],           code: "NoMatch",          says: /nearest is line 1:\n {2}let a = 1;/ },
  { title: "text with other indentation",     text: "  a(\n    b)\n",   edits: [{ find: "a(\n  b)", replace: "" }],             code: "NoMatch",          says: /lines 1-2, which differs in white space only/ },
  { title: "text in an empty file",           text: "",                 edits: [{ find: "a", replace: "b" }],                  code: "NoMatch",          says: /the file is empty/ },
  { title: "text unlike anything there",      text: "abc\n",            edits: [{ find: "zyx", replace: "b" }],                code: "NoMatch",          says: /the file has no similar text/ },
  { title: "the result of another edit",      text: "x\n",              edits: [{ find: "x", replace: "y" }, { find: "y", replace: "z" }], code: "NoMatch", says: /edits\[1\]\.find/ },
  { title: "space alone that is not there",   text: "a\nb\n",           edits: [{ find: " \n", replace: "", all: true }],      code: "NoMatch",          says: /was not found/ },
  { title: "spaces that are inside of a line", text: "left right\n",    edits: [{ find: "left  ", replace: "" }],              code: "NoMatch",          says: /line 1/ },
  { title: "text that is there twice",        text: "x\ny\nx\n",        edits: [{ find: "x", replace: "y" }],                  code: "AmbiguousMatch",   says: /2 times \(lines 1, 3\)/ },
  { title: "text that overlaps itself",       text: "aaa",              edits: [{ find: "aa", replace: "b" }],                 code: "AmbiguousMatch",   says: /2 times \(line 1\)/ },
  { title: "text that is there with LF and with CRLF", text: "a\nb\na\r\nb\r\n", edits: [{ find: "a\nb", replace: "c" }],     code: "AmbiguousMatch",   says: /lines 1, 3/ },
  { title: "text that is there a thousand times", text: "x\n".repeat(5000), edits: [{ find: "x", replace: "y" }],              code: "AmbiguousMatch",   says: /1000 times or more \(lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 990 more\)/ },
  { title: "edits that overlap",              text: "a\nbcd\n",         edits: [{ find: "cd", replace: "1" }, { find: "bc", replace: "2" }], code: "InvalidArguments", says: /edits\[0\] and edits\[1\] overlap at line 2/ },
  { title: "the same edit twice",             text: "a\n",              edits: [{ find: "a", replace: "1" }, { find: "a", replace: "2" }],   code: "InvalidArguments", says: /overlap/ },
  { title: "an empty find",                   text: "a",                edits: [{ find: "", replace: "b" }],                   code: "InvalidArguments", says: /find is empty/ },
  { title: "find equal to replace",           text: "a",                edits: [{ find: "a", replace: "a" }],                  code: "InvalidArguments", says: /the same text/ },
  { title: "line ends that are there already", text: "a\r\nb",          edits: [{ find: "a\nb", replace: "a\r\nb" }],          code: "InvalidArguments", says: /equals the current text/ },
  { title: "no edits",                        text: "a",                edits: [],                                             code: "InvalidArguments", says: /the list of edits is empty/ },
] as const;

for (const { title, text, edits, code, says } of REFUSED) {
  test(`refuses ${title}`, () => {
    const error = edit(text, ...edits);
    expect(error).toMatchObject({ code });
    expect((error as ToolError).message).toMatch(says);
  });
}

test("several edits are matched against the text as it was, in whatever order they come", () => {
  const edits = [{ find: "c", replace: "a" }, { find: "a", replace: "b" }, { find: "b", replace: "c" }]; // oxfmt-ignore
  expect(edit("abc\n", ...edits)).toBe("bca\n");
});

test("what was not found comes with the nearest passage, in a few lines of bounded width", () => {
  const lines = Array.from({ length: 50 }, (_, i) => `call(${i}, ${"argument, ".repeat(30)}last);`);
  const find = lines.join("\n").replace("call(7,", "call(8,");
  const { message, details } = edit(`start\n${lines.join("\n")}\n`, { find, replace: "" }) as ToolError;
  expect(details).toMatchObject({ path: "a.ts", nearest: { start_line: 2, end_line: 51 } });
  expect(message.length).toBeLessThan(1500);
});

test("a quoted line is not cut inside of a word, so that a secret in it stays recognisable or out of it", () => {
  const { message } = edit(`key = ${"x ".repeat(60)}${"S".repeat(100)}\n`, {
    find: "key = y",
    replace: "",
  }) as ToolError;
  expect(message).toContain("line 1");
  expect(message).not.toContain("S");
});

const mixed = fc.string({ unit: fc.constantFrom("a", "b", " ", "\t", "\n", "\r\n", "\r"), maxLength: 60 });
const words = fc.string({ unit: fc.constantFrom("a", "b", " ", "\n"), minLength: 1, maxLength: 6 });

test("one exact replacement is a splice", () => {
  const unit = fc.constantFrom("a", "b", " ", "\n");
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 60 }), words, fc.string({ maxLength: 5 }), (text, find, replace) => {
      const at = text.indexOf(find);
      fc.pre(at >= 0 && !text.includes(find, at + 1) && find !== replace);
      expect(edit(text, { find, replace })).toBe(text.slice(0, at) + replace + text.slice(at + find.length));
    }),
  );
});

test("nothing outside of the replaced passage changes by a byte, whatever line ends and spaces there are", () => {
  const endings = fc.array(fc.constantFrom("\n", "\r\n", "\r", " \n", "\t \r\n", "  \r"), {
    minLength: 1,
    maxLength: 4,
  });
  fc.assert(
    fc.property(mixed, endings, endings, mixed, (before, there, asked, after) => {
      // The same words, in lines that end in one way in the file and in another in the edit.
      const passage = (ends: readonly string[]): string => `<${there.map((_, i) => `w${ends[i] ?? "\n"}`).join("")}>`;
      const result = edit(before + passage(there) + after, { find: passage(asked), replace: "!" });
      expect(result).toBe(`${before}!${after}`);
    }),
  );
});

test("a CRLF file stays a CRLF file", () => {
  const crlf = fc.string({ unit: fc.constantFrom("a", "b", " ", "\r\n"), maxLength: 60 });
  fc.assert(
    fc.property(crlf, words, words, fc.boolean(), (text, find, replace, all) => {
      fc.pre(text.includes("\r\n"));
      const result = edit(text, { find, replace, all });
      if (typeof result === "string") expect(result.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
    }),
  );
});
