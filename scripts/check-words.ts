/**
 * Fails where code or documents use words that readers have to translate. The table says what to write instead. Names count
 * too: `judgeAnew` and `command-deeds.ts` are read as words. Names that other programs use (error codes, events, settings,
 * fields) contain none of them.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

interface WordRow {
  readonly word: RegExp;
  readonly instead: string;
  /** Not looked for in names, where the same words mean something else: `isNoMatch`, `isWhole`. */
  readonly prose?: true;
}

// oxfmt-ignore
const WORDS: readonly WordRow[] = [
  { word: /\bmend(?:s|ed|ing)?\b/gi,                                           instead: "fix" },
  { word: /\banew\b/gi,                                                        instead: "again" },
  { word: /\bunasked\b/gi,                                                     instead: "without approval" },
  { word: /\bheed(?:s|ed|ing|less)?\b/gi,                                      instead: "honor, obey" },
  { word: /\bin\s+hand\b/gi,                                                   instead: "running" },
  { word: /\bt(?:ak(?:e|es|en|ing)|ook)\s+(?:[\w"`*]+\s+){0,3}back\b/gi,       instead: "undo, revoke, return" },
  { word: /\bg(?:ive|ives|iven|iving|ave)\s+(?:\w+\s+){0,2}back\b/gi,            instead: "return, release" },
  { word: /\bput(?:s|ting)?\s+(?:\w+\s+)?aside\b/gi,                           instead: "store" },
  { word: /\bput(?:s|ting)?\s+(?:\w+\s+)?away\b/gi,                            instead: "discard" },
  { word: /\bput(?:s|ting)?\s+(?:\w+\s+)?in\s+order\b/gi,                      instead: "recover, sort" },
  { word: /\b(?:go(?:es|ing|ne)?|went)\s+on\s+with\b/gi,                       instead: "resume, continue" },
  { word: /\bget(?:s|ting)?\s+on\b/gi,                                         instead: "make progress" },
  { word: /(?<!\bthere\s)\b(?:is|are|was|were)\s+no\b(?!\s+(?:longer|more)\b)/gi,            instead: "is not a valid, does not exist", prose: true },
  { word: /\bnothing\s+is\s+left\s+of\b/gi,                                    instead: "is removed completely" },
  { word: /\bso\s+many\b/gi,                                                   instead: "at most N, too many" },
  { word: /\bafter\s+so\s+long\b/gi,                                           instead: "after N seconds" },
  { word: /\bdeeds?\b/gi,                                                      instead: "action" },
  { word: /\bstand-ins?\b/gi,                                                  instead: "placeholder, substitute" },
  { word: /\btroubles\b/gi,                                                    instead: "failures" },
  { word: /(?<!["|.])\bwish(?:es|ed|ing)?\b(?!["|(])/gi,                       instead: "request, options" },
  { word: /\bt(?:ell(?:s|ing)?|old)\s+of\b/gi,                                 instead: "report, mention, notify" },
  { word: /\bit\s+is\s+told\b/gi,                                              instead: "say who is told, or: is reported" },
  { word: /\bwhat\s+there\s+is\b/gi,                                           instead: "name it" },
  { word: /\bwhat\s+was\s+kept\b/gi,                                           instead: "name it: memory entries, stored files" },
  { word: /\bpass(?:es|ed|ing)?\s+over\b/gi,                                   instead: "skip" },
  { word: /\bbut\s+for\b/gi,                                                   instead: "except" },
  { word: /\bof\s+before\b(?=[\s,;:"])/gi,                                     instead: "earlier" },
  { word: /\b(?:is|are|was|were|be|been|stays?|comes?|not|record|chain)\s+whole\b/gi, instead: "intact, complete", prose: true },
  { word: /\b(?:somebody|nobody|whoever)\b/gi,                                 instead: "name who acts: the worker, the user, no one", prose: true },
  { word: /\b(?:altogether|whence|thence|whither|hitherto|thereof|therein|wherein|whereof|whereby|nought|aught|whilst|unto|upon|amongst|lest)\b/g, instead: "a word in use today" },
  { word: /\b(?:interface|type|class)\s+(?:Asked|Found|Given|Kept|Made|Meant|Said|Shown|Told|Wanted)\b/g, instead: "a noun for the type" },
];

/** Names as they are written, in one piece. */
// oxfmt-ignore
const NAMES: readonly WordRow[] = [
  { word: /^MOST_[A-Z]/,                                         instead: "MAX_…" },
  { word: /^(?:LAST_WORDS|AS_IT_IS|A_READ|MAX_BESIDE|LOOKS)(?:_MS)?$/, instead: "the field's term: FLUSH_MS, READ_ONLY, PAGE_SIZE, MAX_PARALLEL" },
  { word: /^isStandIn|^standIn|^STAND_IN|StandIn/,               instead: "placeholder, substitute" },
  { word: /^(?:ChantWatch|ChangedMeanwhile)$/,      instead: "the field's term: RepetitionDetector, ConcurrentChangeError" },
];

/** Files that contain such words for a reason. */
const EXCEPT = new Set(["scripts/check-words.ts", "scripts/check-words.test.ts", "LICENSE"]);

interface WordProblem {
  readonly file: string;
  /** 0: the path itself. */
  readonly line: number;
  readonly found: string;
  readonly instead: string;
}

/** Words are found across line breaks and comment marks too, and in the parts of names. */
export function findWords(file: string, text: string): readonly WordProblem[] {
  const plain = text.replaceAll(/\n[ \t]*(?:\*|\/\/|>|#+)?[ \t]*/g, (gap) => `\n${" ".repeat(gap.length - 1)}`);
  const lineOf = (index: number): number => plain.slice(0, index).split("\n").length;
  const inProse = WORDS.flatMap(({ word, instead }) =>
    [...plain.matchAll(word)].map((match) => ({
      file,
      line: lineOf(match.index),
      found: match[0].replaceAll(/\s+/g, " "),
      instead,
    })),
  );
  const inNames = [...plain.matchAll(NAME)].flatMap(({ 0: name, index }) =>
    meaningsOf(name).map((instead) => ({ file, line: lineOf(index), found: name, instead })),
  );
  const inPath = file
    .split("/")
    .flatMap((name) => meaningsOf(name).map((instead) => ({ file, line: 0, found: name, instead })));
  return [...inPath, ...inProse, ...inNames].toSorted((one, other) => one.line - other.line);
}

/** Names of two or more words: camelCase, PascalCase, snake_case, UPPER_CASE. */
const NAME = /\b[A-Za-z][A-Za-z0-9]*(?:[a-z0-9][A-Z]|_[A-Za-z0-9])[A-Za-z0-9_]*\b/g;

/** Fields of stored events and results that other programs read. */
const WIRE_FIELDS = new Set(["taken_back", "taken_back_more"]);

/** What to write instead of a name, for each row that finds it. */
function meaningsOf(name: string): readonly string[] {
  if (WIRE_FIELDS.has(name)) return [];
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, "$1$3 $2")
    .replaceAll(/[^A-Za-z0-9]+/g, " ");
  return [
    ...WORDS.filter(({ word, prose }) => prose !== true && words.search(word) !== -1),
    ...NAMES.filter(({ word }) => word.test(name)),
  ].map(({ instead }) => instead);
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
  for (const { file, line, found, instead } of problems)
    console.error(`${file}${line === 0 ? "" : `:${line}`} "${found}": write ${instead}`);
  console.log(`words: ${files.length} files, ${problems.length} places`);
  process.exitCode = problems.length === 0 && files.length > 0 ? 0 : 1;
}
