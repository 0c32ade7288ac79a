import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { readPage } from "./support/named-tests.ts";
import { join } from "node:path";

/** Documents name files and folders of the repository in backquotes. If one is renamed, the document fails here. */

const FILES = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
  cwd: join(import.meta.dirname, ".."),
  encoding: "utf8",
})
  .split("\0")
  .filter((file) => file !== "");

/** Each file and folder with every end of its path: `policy/decide.ts` is enough to name a file. */
const ENDS = new Set(FILES.flatMap((file) => pathsIn(file).flatMap(endsOf)));

/** Folders at the top of the repository and of each package: a path that begins with one is a path in the tree. */
const TOP_FOLDERS = new Set(
  FILES.flatMap((file) => {
    const [first = "", second, third, fourth, ...rest] = file.split("/");
    if (second === undefined) return [];
    return first === "packages" && third === "src" && rest.length > 0 ? [first, fourth ?? ""] : [first];
  }),
);

/** Made-up files in examples. */
const EXAMPLES = new Set(["src/app.ts", "tools/hooks", "scripts/fill.py", "file.test.ts"]);

/** Everything but the changelog, which also lists what is gone, and the table of other programs' files. */
const PAGES = FILES.filter(
  (file) =>
    /^(?:(?:README|README\.zh-CN|GUIDE|ARCHITECTURE|SECURITY|CONTRIBUTING)|docs\/.*)\.md$/.test(file) &&
    file !== "docs/run-later.md",
);

function pathsIn(file: string): readonly string[] {
  const parts = file.split("/");
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

function endsOf(path: string): readonly string[] {
  const parts = path.split("/");
  return parts.map((_, index) => parts.slice(index).join("/"));
}

function namedPaths(text: string): readonly string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, "");
  return Array.from(prose.matchAll(/`((?:[\w-][\w.-]*\/)*[\w-][\w.-]*\/?)`/g), ([, path = ""]) =>
    path.replace(/\/$/, ""),
  ).filter((path) => /\.(?:ts|mjs)$/.test(path) || (path.includes("/") && TOP_FOLDERS.has(path.split("/")[0] ?? "")));
}

function missingPaths(text: string): readonly string[] {
  return namedPaths(text).filter((path) => !ENDS.has(path) && !EXAMPLES.has(path));
}

test.each(PAGES)("the files and folders that %s names exist", (page) => {
  expect(missingPaths(readPage(page))).toEqual([]);
});

test("the folders in the tables of ARCHITECTURE.md exist", () => {
  const [, ...tables] = readPage("ARCHITECTURE.md").split(/^\| folder \|.*\n\| ---.*\n/m);
  const folders = tables.flatMap((table) =>
    Array.from((/^(?:\|.*\n)+/.exec(table)?.[0] ?? "").matchAll(/^\| `([\w/-]+)`/gm), ([, folder = ""]) => folder),
  );
  expect(folders.length).toBeGreaterThan(20);
  expect(folders.filter((folder) => !ENDS.has(folder))).toEqual([]);
});

test("a file or folder that does not exist is found", () => {
  const text =
    "`policy/none.ts` decides, `policy/decide.ts` too; see `test/none/` and `none.ts`.\n```\n`gone.ts`\n```\n";
  expect(missingPaths(text)).toEqual(["policy/none.ts", "test/none", "none.ts"]);
});
