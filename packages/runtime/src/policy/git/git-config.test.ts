import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { parseGitConfig } from "./git-config.ts";

const folder = mkdtempSync(join(tmpdir(), "autonous-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What git itself reads in a file; undefined where it refuses it. All with one character a byte. */
function readByGit(text: string): readonly { key: string; value: string | undefined }[] | undefined {
  const file = join(folder, "config");
  writeFileSync(file, Buffer.from(text, "latin1"));
  const env = { PATH: process.env["PATH"], GIT_CONFIG_NOSYSTEM: "1", HOME: folder };
  try {
    const listed = execFileSync("git", ["config", "--file", file, "--list", "-z"], { env, stdio: "pipe" });
    const lines = listed.toString("latin1").split("\0").slice(0, -1);
    return lines.map((line) => {
      // A name between quotes may not hold a line end, so the first one ends the key.
      const end = line.indexOf("\n");
      return end < 0 ? { key: line, value: undefined } : { key: line.slice(0, end), value: line.slice(end + 1) };
    });
  } catch {
    return undefined;
  }
}

/** Git kept tabs between words as they are from 2.45 on, and made spaces of them before. */
function withSpaces(settings: ReturnType<typeof readByGit>): ReturnType<typeof readByGit> {
  return settings?.map(({ key, value }) => ({ key, value: value?.replace(/[\t\r]/g, " ") }));
}

// oxfmt-ignore
const CASES: readonly (readonly [title: string, text: string])[] = [
  ["nothing",                       ""],
  ["what git init writes",          "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"],
  ["a name between quotes that ends with its line", "[a \"x\\\ny\"]\nk = v\n"],
  ["a section without a name", "[]"],
  ["a section with another sign in its name", "[a_b]\nk = v\n"],
  ["a subsection without quotes", "[a b]\nk = v\n"],
  ["a subsection of no section", "[ \"x\"]\nk = v\n"],
  ["a section that is a dot", "[.]\nk = v\n"],
  ["a comment at the very end", "[a]\nb = c\n# d"],
  ["sections on one line",          "[a] b = 1 # c\n[A \"B\"]C=2"],
  ["a subsection with dots, quotes and a bracket", "[a \"x.\\\"y\\\\]z\"]\nk = v\n"],
  ["the old form of subsections",   "[Branch.Main]\nRemote = origin\n"],
  ["lines that go on",              "[a]\nb = one\\\n  two\\\n\n c = 3\n"],
  ["a line that goes on at the end of the file", "[a]\nb = one\\"],
  ["quotes and escapes",            "[a]\nb = \"x # y\" ; z\nc = a\\tb\\nc\\\\d\\\"e\n d=\"a\"b\"c\""],
  ["no value",                      "[a]\nb\nc =\nd=   \n"],
  ["a comment after no value",      "[a]\nb # c\n"],
  ["line ends of DOS",              "\u00ef\u00bb\u00bf[a]\r\nb = c\r\nd = e\\\r\nf\r\n"],
  ["part of a mark",                "\u00ef\u00bb[a]\nb=c\n"],
  ["spaces between and after",      "[a]\nb =  x \t y   # c\n"],
  ["a line that goes on into a section", "[a]\nb = c\\\n[core]\nfsmonitor = d\n"],
  ["a key before any section",      "b = c\n"],
  ["a quote that is not closed",    "[a]\nb = \"c\nd = e\n"],
  ["an escape that is not known",   "[a]\nb = \\x\n"],
  ["a header that is not closed",   "[a\nb = c\n"],
  ["a header over two lines",       "[a\n\"b\"]\nc = d\n"],
  ["a space before the bracket",    "[a \"b\" ]\nc = d\n"],
  ["an empty section",              "[]\nb = c\n"],
  ["a name with a wrong letter",    "[a]\nb_c = d\n"],
  ["a name that begins with a digit", "[a]\n1b = d\n"],
  ["a form feed",                   "[a]\n\fb = d\n"],
  ["includes",                      "[include]\npath = ../evil\n[includeIf \"gitdir:~/\"]\nPATH = x\n"],
];

for (const [title, text] of CASES) {
  test(`a configuration is read as git reads it: ${title}`, () => {
    expect(withSpaces(parseGitConfig(text))).toEqual(withSpaces(readByGit(text)));
  });
}

const anyPiece = fc.oneof(
  fc.constantFrom(
    "[",
    "]",
    '"',
    "\\",
    "\n",
    "\r\n",
    "\r",
    " ",
    "\t",
    "=",
    "#",
    ";",
    ".",
    "-",
    "core",
    "A",
    "b",
    "é",
    "1",
  ),
  fc.constantFrom('[a "B"]\n', "[core]\n", "\tfsmonitor = x\n", "k = v\\\n", '"q', "key\n", "[a.b]", "\\t", '\\"'),
);

test("whatever a configuration holds, every setting that git sees is seen, in its order", () => {
  fc.assert(
    fc.property(fc.array(anyPiece, { maxLength: 14 }), (pieces) => {
      const text = Buffer.from(pieces.join("")).toString("latin1");
      expect(withSpaces(parseGitConfig(text))).toEqual(withSpaces(readByGit(text)));
    }),
    { numRuns: 600 },
  );
}, 120_000);

test("configuration that git rejects, or that is too large, is refused", () => {
  expect(parseGitConfig("[a]\nb = c\0d\n")).toBeUndefined();
  expect(parseGitConfig("#".repeat(2_000_000))).toBeUndefined();
  expect(parseGitConfig(`[a]\nb =${" \\\n".repeat(200_000)}`)).toEqual([{ key: "a.b", value: "" }]);
});
