/** Fails when the same lines of code occur in two places. Similar code is fine; identical code is written twice. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** This many equal, meaningful lines in a row count as a copy. */
const RUN = 6;

interface Place {
  readonly file: string;
  readonly line: number;
}

interface CodeLine {
  readonly text: string;
  readonly line: number;
}

/** Lines that do not count: blank ones, comments, imports, lone punctuation. */
const SILENT = /^(?:$|\/\/|\/\*|\*|import\b|export (?:type )?\{|[\s{}()[\];,]*$)/;

function codeLines(text: string): CodeLine[] {
  const lines = text.split("\n").map((raw, i) => ({ text: raw.trim(), line: i + 1 }));
  return lines.filter((each) => !SILENT.test(each.text));
}

/** The starts of runs of lines that occur in more than one place of these files. */
export function findDuplicates(files: Readonly<Record<string, string>>): string[] {
  const seen = new Map<string, Place>();
  const problems: string[] = [];
  for (const [file, text] of Object.entries(files)) {
    const lines = codeLines(text);
    let toldUntil = -1;
    for (let i = 0; i + RUN <= lines.length; i++) {
      const run = lines.slice(i, i + RUN);
      const key = run.map((each) => each.text).join("\n");
      const line = run[0]?.line ?? 0;
      const first = seen.get(key);
      if (first === undefined) seen.set(key, { file, line });
      else if (i > toldUntil) {
        problems.push(`${file}:${line} says again what ${first.file}:${first.line} says`);
        toldUntil = i + RUN;
      }
    }
  }
  return problems;
}

if (import.meta.main) {
  const root = join(import.meta.dirname, "..");
  const files: Record<string, string> = {};
  for (const folder of ["packages/runtime/src", "packages/autonous/src", "scripts", "bench"]) {
    for (const file of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".ts") || file.endsWith(".test.ts")) continue;
      files[`${folder}/${file}`] = readFileSync(join(root, folder, file), "utf8");
    }
  }
  const problems = findDuplicates(files);
  for (const problem of problems) console.error(problem);
  console.log(`duplicates: ${Object.keys(files).length} files, ${problems.length} places`);
  process.exitCode = problems.length === 0 && Object.keys(files).length > 0 ? 0 : 1;
}
