import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Pages that name the tests which show what they say. */

const root = join(import.meta.dirname, "../..");

export function readPage(page: string): string {
  return readFileSync(join(root, page), "utf8");
}

export interface NamedTest {
  readonly file: string;
  readonly title: string;
}

/** `file.test.ts` "title", where … stands for what a table of cases fills in. */
export function namedTests(text: string): readonly NamedTest[] {
  return Array.from(text.matchAll(/`([\w./-]+\.test\.ts)` "([^"]+)"/g), ([, file = "", title = ""]) => ({
    file,
    title,
  }));
}

/** Titles of tests and groups, the first argument of a call whose next one is a function or its options; and those of cases. */
const TITLE = /\(\s*(["'`])((?:\\.|(?!\1)[^\\])*?)\1,\s*(?:async\b|\(|\{)/g;
const CASE = /\btitle: (["'`])((?:\\.|(?!\1)[^\\])*?)\1/g;
const HOLE = /\$\{(?:[^{}]|\{[^{}]*\})*\}|\$[a-z]\w*|%[sdjio]/g;

/** A table of cases that a test, or another table, has from a file of its own. */
const TABLE = /from "(\.[^"]*cases\.ts)"/g;

/** A file and the tables that it is made of. */
function sourcesOf(path: string): readonly string[] {
  const own = readFileSync(path, "utf8");
  return [own, ...Array.from(own.matchAll(TABLE), ([, table = ""]) => sourcesOf(join(dirname(path), table))).flat()];
}

function titlesIn(file: string): ReadonlySet<string> {
  const found = sourcesOf(join(root, file)).flatMap((source, index) => [
    ...(index === 0 ? source.matchAll(TITLE) : []),
    ...source.matchAll(CASE),
  ]);
  return new Set(found.map(([, , title = ""]) => simplify(title.replaceAll(HOLE, "…"))));
}

/** Without quotes, which the pages need for themselves, and without the end, which may say why a test is skipped. */
function simplify(title: string): string {
  return title
    .replaceAll(/\\?"/g, "")
    .replaceAll(/…+/g, "…")
    .replace(/(?<=\w.*)…$/, "");
}

/** Rows of the tables in a text, without their heads. */
export function rowsOf(text: string): readonly string[] {
  const lines = text.split("\n");
  const isRule = (line = ""): boolean => line.startsWith("| ---");
  return lines.filter((line, index) => line.startsWith("| ") && !isRule(line) && !isRule(lines[index + 1]));
}

/** Those that are not there: renamed, removed, or never written. */
export function missingTests(named: readonly NamedTest[]): readonly NamedTest[] {
  return named.filter(({ file, title }) => !existsSync(join(root, file)) || !titlesIn(file).has(simplify(title)));
}
