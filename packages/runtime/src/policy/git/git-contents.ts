import { gitSubcommand } from "../../shell/carriers/git.ts";
import { hasOption, optionValues, readArguments } from "../../shell/programs/options.ts";
import type { Arguments, OptionTable } from "../../shell/programs/options.ts";
import type { ShellWord, SimpleCommand } from "../../shell/parsed-shell.ts";

/** How a git subcommand that outputs object contents names them. */
interface ContentRow extends OptionTable {
  /** Number of leading operands that are not paths: the pattern of `git grep`, unless one of these options gives it. */
  readonly skip?: { readonly count: number; readonly unless: readonly string[] };
  /** Outputs contents only with one of these. */
  readonly with?: readonly string[];
  /** Outputs no contents with one of these, unless one of `despite` is present too. */
  readonly without?: readonly string[];
  readonly despite?: readonly string[];
  /** Options whose value names a path: `-L 1,9:file`. */
  readonly paths?: readonly string[];
}

// oxfmt-ignore
const PATCH = [
  "-p", "-u", "-U", "--patch", "--unified", "-L", "-S", "-G", "--cc", "-c", "-m", "--dd", "--remerge-diff", "--diff-merges", "-W", "--function-context",
  "--patch-with-stat", "--patch-with-raw", "--binary", "--word-diff", "--color-words",
];
const DIFF: OptionTable = {
  short: "SGnLOUlXMCB",
  // oxfmt-ignore
  long: ["grep", "author", "committer", "since", "until", "after", "before", "max-count", "skip", "diff-filter", "output", "src-prefix", "dst-prefix", "line-prefix", "word-diff-regex", "decorate-refs", "branches", "tags", "remotes", "glob", "exclude"],
};
const NAMES_ONLY = ["--name-only", "--name-status", "--stat", "--shortstat", "--numstat", "--summary", "--raw"];

/** From the manuals. `git ls-files`, `git log` without a patch and `git rm --cached` output no contents. */
// oxfmt-ignore
const CONTENTS: Readonly<Record<string, ContentRow | undefined>> = {
  __proto__: null as never,
  show:            { ...DIFF, without: NAMES_ONLY, despite: PATCH },
  diff:            { ...DIFF, without: NAMES_ONLY, despite: PATCH },
  difftool:        { ...DIFF },
  "diff-tree":     { ...DIFF, with: PATCH },
  "diff-index":    { ...DIFF, with: PATCH },
  "diff-files":    { ...DIFF, with: PATCH },
  log:             { ...DIFF, with: PATCH, paths: ["-L"] },
  reflog:          { ...DIFF, with: PATCH, paths: ["-L"] },
  whatchanged:     { ...DIFF, with: PATCH },
  "range-diff":    { ...DIFF },
  "format-patch":  { ...DIFF, short: `${DIFF.short}ov` },
  stash:           { ...DIFF, with: PATCH },
  "cat-file":      { long: ["path", "filter"], without: ["-e", "-t", "-s"], paths: ["--path"] },
  "unpack-file":   {},
  "merge-file":    { short: "L" },
  "merge-tree":    {},
  grep:            { short: "efABCmO", long: ["max-depth", "max-count", "threads"], skip: { count: 1, unless: ["-e", "-f"] }, without: ["-l", "-L", "--files-with-matches", "--name-only", "--files-without-match", "-q", "--quiet"] },
  archive:         { short: "o", long: ["format", "prefix", "output", "remote", "exec", "add-file", "mtime"] },
  "fast-export":   { long: ["import-marks", "export-marks", "refspec"] },
  bundle:          {},
  "read-tree":     { long: ["prefix", "index-output"] },
  "checkout-index": { long: ["prefix", "stage"] },
  checkout:        { short: "bB", long: ["orphan", "conflict"] },
  restore:         { short: "s", long: ["source", "conflict"], without: ["--staged", "-S"], despite: ["--worktree", "-W"] },
  blame:           { short: "LCMS", long: ["date", "contents", "ignore-rev", "ignore-revs-file"] },
  annotate:        { short: "LCMS", long: ["date", "contents"] },
};

function isGit({ words: [name] }: SimpleCommand): boolean {
  return name?.isDynamic === false && /^(?:.*\/)?git$/.test(name.value);
}

/** The words of a git command that name contents of git's objects: `HEAD:a`, `-- a`, `a`. */
export function contentWords(command: SimpleCommand): readonly ShellWord[] {
  if (!isGit(command)) return NONE;
  const rest = gitSubcommand(command.words);
  const row = CONTENTS[rest[0]?.value ?? ""];
  if (row === undefined) return NONE;
  const { options, operands } = readArguments(rest, row);
  if (row.with !== undefined && !hasOption(options, ...row.with)) return NONE;
  const { without = [], despite = [] } = row;
  if (hasOption(options, ...without) && !hasOption(options, ...despite)) return NONE;
  const skipped = row.skip === undefined || hasOption(options, ...row.skip.unless) ? 0 : row.skip.count;
  return [...operands.slice(skipped), ...optionValues(options, ...(row.paths ?? []))];
}

const NONE: readonly never[] = [];

export interface Pathspec {
  readonly path: string;
  /** Relative to the top of the working folder. */
  readonly isTop: boolean;
  /** Its magic is more than `top` and `exclude`, so its path alone does not show what it covers. */
  readonly isPartial: boolean;
}

/** What a git command stages or commits from the working folder, including deletions. */
export interface RecordedPaths {
  /** Pathspecs; undefined: the whole working folder. */
  readonly specs: readonly Pathspec[] | undefined;
  readonly excluded: readonly Pathspec[];
  /** It does not support pathspecs that exclude. */
  readonly isCommit: boolean;
}

const ADD: OptionTable = { long: ["chmod", "pathspec-from-file"] };
const COMMIT: OptionTable = {
  short: "mFCct",
  // oxfmt-ignore
  long: ["message", "file", "author", "date", "template", "trailer", "fixup", "squash", "cleanup", "reuse-message", "reedit-message", "pathspec-from-file"],
};
const STASH: OptionTable = { short: "m", long: ["message", "pathspec-from-file"] };
const STASHES = /^(?:push|save)$/;
const STASH_LOOKS = /^(?:list|show|pop|apply|drop|clear|branch|create|store|export|import)$/;

/** Subcommands that record deletions in the working folder. */
// oxfmt-ignore
const RECORDERS: Readonly<Record<string, { readonly table: OptionTable; read(given: Arguments): RecordedPaths | undefined } | undefined>> = {
  __proto__: null as never,
  add:    { table: ADD,    read: addedBy },
  stage:  { table: ADD,    read: addedBy },
  commit: { table: COMMIT, read: committedBy },
  stash:  { table: STASH,  read: stashedBy },
};

/** Undefined if it would not record files hidden from the command as deleted. */
export function recordedBy(command: SimpleCommand): RecordedPaths | undefined {
  if (!isGit(command)) return undefined;
  const rest = gitSubcommand(command.words);
  const recorder = RECORDERS[rest[0]?.value ?? ""];
  return recorder?.read(readArguments(rest, recorder.table));
}

function addedBy({ options, operands }: Arguments): RecordedPaths | undefined {
  const picks = ["-n", "--dry-run", "-p", "--patch", "-i", "--interactive", "-e", "--edit", "-N", "--intent-to-add"];
  if (hasOption(options, ...picks, "--no-all", "--ignore-removal", "--refresh", "--renormalize")) return undefined;
  const isAll = hasOption(options, "-A", "--all", "-u", "--update", "--no-ignore-removal");
  if (operands.length === 0 && !isAll) return undefined;
  return recorded(operands, false);
}

function committedBy({ options, operands }: Arguments): RecordedPaths | undefined {
  if (hasOption(options, "--dry-run", "-p", "--patch", "--interactive")) return undefined;
  if (hasOption(options, "-a", "--all")) return { specs: undefined, excluded: [], isCommit: true };
  return operands.length === 0 ? undefined : recorded(operands, true);
}

function stashedBy({ options, operands }: Arguments): RecordedPaths | undefined {
  const [action, ...rest] = operands;
  if (hasOption(options, "-p", "--patch", "-S", "--staged") || STASH_LOOKS.test(action?.value ?? "")) return undefined;
  if (action?.value === "save") return { specs: undefined, excluded: [], isCommit: false };
  return recorded(STASHES.test(action?.value ?? "") ? rest : operands, false);
}

/** `:!a`, `:(top,exclude)a`, `:/a`: the magic before the path of a pathspec. */
const MAGIC = /^:(?:\(([a-z,:]*)\)|([!^/]+))?/;

/** The path of a pathspec, and its magic. */
export function readPathspec(value: string): Pathspec & { readonly isExcluded: boolean } {
  const [before = "", words = "", signs = ""] = MAGIC.exec(value) ?? [];
  return {
    path: value.slice(before.length) || ".",
    isPartial: words.split(",").some((word) => !/^(?:top|exclude|icase|)$/.test(word)),
    isTop: /\btop\b/.test(words) || signs.includes("/"),
    isExcluded: /\bexclude\b/.test(words) || /[!^]/.test(signs),
  };
}

function recorded(operands: readonly ShellWord[], isCommit: boolean): RecordedPaths {
  const all = operands.map(({ value, isDynamic }) => readPathspec(isDynamic ? "." : value));
  const specs = all.filter(({ isExcluded }) => !isExcluded);
  const excluded = all.filter(({ isExcluded }) => isExcluded);
  return { specs: specs.length === 0 ? undefined : specs, excluded, isCommit };
}
