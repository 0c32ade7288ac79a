/**
 * Fails where code or documents use words that readers have to translate. The table says what to write instead.
 * Names that other programs use (error codes, events, settings, fields) contain none of them.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

interface WordRow {
  readonly word: RegExp;
  readonly instead: string;
}

// oxfmt-ignore
const WORDS: readonly WordRow[] = [
  { word: /\bmend(?:s|ed|ing)?\b/gi,                                        instead: "fix" },
  { word: /\banew\b/gi,                                                     instead: "again" },
  { word: /\bunasked\b/gi,                                                  instead: "without approval" },
  { word: /\bheed(?:s|ed|ing|less)?\b/gi,                                   instead: "honor, obey" },
  { word: /\bin\s+hand\b/gi,                                                  instead: "running" },
  { word: /\bt(?:ak(?:e|es|en|ing)|ook)\s+(?:[\w"`*]+\s+){0,3}back\b/gi,    instead: "undo, revoke, return" },
  { word: /\bput(?:s|ting)?\s+(?:\w+\s+)?aside\b/gi,                        instead: "store" },
  { word: /\bput(?:s|ting)?\s+(?:\w+\s+)?away\b/gi,                         instead: "discard" },
  { word: /\b(?:go(?:es|ing|ne)?|went)\s+on\s+with\b/gi,                        instead: "resume, continue" },
  { word: /\b(?:is|are|was|were)\s+no\b(?!\s+(?:longer|more)\b)/gi,         instead: "is not a valid, does not exist" },
  { word: /\bso\s+many\b/gi,                                                  instead: "at most N, too many" },
  { word: /\bdeeds?\b/gi,                                                   instead: "action" },
  { word: /\bt(?:ell(?:s|ing)?|old)\s+of\b/gi,                                instead: "report, mention, notify" },
  { word: /\bit\s+is\s+told\b/gi,                                               instead: "say who is told, or: is reported" },
  { word: /\bwhat\s+there\s+is\b/gi,                                            instead: "name it" },
  { word: /\bpass(?:es|ed|ing)?\s+over\b/gi,                                  instead: "skip" },
  { word: /\b(?:is|are|was|were|be|been|stays?|comes?|not|record|chain)\s+whole\b/gi, instead: "intact, complete" },
  { word: /\b(?:somebody|nobody|whoever)\b/gi,                              instead: "name who acts: the worker, the user, no one" },
];

/** Files that contain such words for a reason. */
const EXCEPT = new Set(["scripts/check-words.ts", "scripts/check-words.test.ts", "LICENSE"]);

interface WordProblem {
  readonly file: string;
  readonly line: number;
  readonly found: string;
  readonly instead: string;
}

/** Words are found across line breaks and comment marks too. */
export function findWords(file: string, text: string): readonly WordProblem[] {
  const plain = text.replaceAll(/\n[ \t]*(?:\*|\/\/|>|#+)?[ \t]*/g, (gap) => `\n${" ".repeat(gap.length - 1)}`);
  return WORDS.flatMap(({ word, instead }) =>
    [...plain.matchAll(word)].map((match) => ({
      file,
      line: plain.slice(0, match.index).split("\n").length,
      found: match[0].replaceAll(/\s+/g, " "),
      instead,
    })),
  ).toSorted((one, other) => one.line - other.line);
}

function trackedFiles(root: string): readonly string[] {
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  return listed.split("\0").filter((file) => /\.(?:ts|js|mjs|md|json|sh|service)$/.test(file) && !EXCEPT.has(file));
}

if (import.meta.main) {
  const root = join(import.meta.dirname, "..");
  const wanted = process.argv.slice(2);
  const files = trackedFiles(root).filter(
    (file) => file !== "package-lock.json" && (wanted.length === 0 || wanted.some((each) => file.startsWith(each))),
  );
  const problems = files.flatMap((file) => findWords(file, readFileSync(join(root, file), "utf8")));
  for (const { file, line, found, instead } of problems) console.error(`${file}:${line} "${found}": write ${instead}`);
  console.log(`words: ${files.length} files, ${problems.length} places`);
  process.exitCode = problems.length === 0 && files.length > 0 ? 0 : 1;
}
