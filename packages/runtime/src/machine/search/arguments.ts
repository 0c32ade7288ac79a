import type { NamesQuery, TextQuery } from "../../contract/search.ts";
import type { NameHint } from "./accelerate.ts";

/** How the tree below a folder is walked. */
export interface Walk {
  /** Places below the folder that are not even looked at, relative to it. */
  readonly closed: readonly string[];
  /**
   * Which `.gitignore` files above the folder count: none; those up to the repository that it is in; or all. Engines
   * stop at a repository only where they ask for one.
   */
  readonly above: "none" | "repository" | "all";
}

/*
 * Every list is fixed but for values that are attached with "=" or stand after "--": no text of a caller can become an
 * option. rg's own --glob with a pattern to keep would override .gitignore; one with "!" only leaves out.
 */
const RG_WALK = [
  "--no-config",
  "--color=never",
  "--hidden",
  "--no-follow",
  "--no-ignore-dot",
  "--no-ignore-global",
  "--no-ignore-messages",
  "--glob=!.git",
] as const;

export function rgTextArguments(query: TextQuery, walk: Walk | "stdin", hint: NameHint | undefined): string[] {
  const isFolder = walk !== "stdin";
  return [
    ...(isFolder ? rgWalk(walk) : ["--no-config", "--color=never"]),
    "--json",
    "--sort=path",
    "--no-mmap",
    "--engine=default",
    query.ignore_case ? "--ignore-case" : "--case-sensitive",
    ...(query.multiline ? ["--multiline", "--multiline-dotall"] : []),
    ...(query.context > 0 ? [`--context=${query.context}`] : []),
    ...(query.first_only ? ["--max-count=1"] : []),
    ...(query.type === undefined ? (isFolder ? rgHint(hint) : []) : [`--type=${query.type}`]),
    `--regexp=${query.pattern}`,
    "--",
    isFolder ? "." : "-",
  ];
}

export interface NamesWalk extends Walk {
  readonly hint: NameHint | undefined;
  readonly max_depth: number | undefined;
}

const RG_ORDER = { none: [], path: ["--sort=path"], newest: ["--sortr=modified"] } as const;

export function rgNamesArguments(walk: NamesWalk, order: keyof typeof RG_ORDER): string[] {
  return [...rgWalk(walk), "--files", "--null", ...RG_ORDER[order], ...depth(walk), ...rgHint(walk.hint), "--", "."];
}

function rgWalk({ closed, above }: Walk): string[] {
  return [
    ...RG_WALK,
    ...(above === "repository" ? [] : ["--no-require-git"]),
    ...(above === "none" ? ["--no-ignore-parent"] : []),
    ...closed.map((place) => `--glob=!/${escapeGlob(place)}`),
  ];
}

/** A type of our own that holds the names in question: unlike a glob it leaves .gitignore in force. */
function rgHint(hint: NameHint | undefined): string[] {
  return hint === undefined ? [] : [`--type-add=wanted:${hint.glob}`, "--type=wanted"];
}

/** What this machine's fd knows. */
export interface FdAbilities {
  readonly "--no-require-git": boolean;
  readonly "--no-global-ignore-file": boolean;
  readonly "--show-errors": boolean;
}

export interface FdWalk extends NamesWalk {
  /** Patterns to leave out cost fd a good deal; what git keeps is left out again by who reads the names. */
  readonly hasGit: boolean;
  readonly kinds: readonly NonNullable<NamesQuery["kind"]>[];
  /** Without a repository an fd that has no --no-require-git heeds no .gitignore but the one it is given. */
  readonly ignoreFile: boolean;
}

const ALWAYS_WHERE_KNOWN = ["--no-global-ignore-file", "--show-errors"] as const;

export function fdArguments(walk: FdWalk, abilities: FdAbilities): string[] {
  return [
    "--color=never",
    "--print0",
    "--hidden",
    "--no-follow",
    "--case-sensitive",
    ...(walk.hasGit ? ["--exclude=.git"] : []),
    ...walk.closed.map((place) => `--exclude=/${escapeGlob(place)}`),
    ...(walk.above === "none" ? ["--no-ignore-parent"] : []),
    ...(walk.above !== "repository" && abilities["--no-require-git"] ? ["--no-require-git"] : []),
    ...ALWAYS_WHERE_KNOWN.filter((option) => abilities[option]),
    ...(walk.ignoreFile ? ["--ignore-file=.gitignore"] : []),
    ...depth(walk),
    ...walk.kinds.map((kind) => `--type=${FD_TYPES[kind]}`),
    "--glob",
    "--",
    walk.hint?.glob ?? "*",
    ".",
  ];
}

const FD_TYPES = { file: "f", directory: "d", link: "l" } as const;

function depth({ max_depth }: NamesWalk): string[] {
  return max_depth === undefined ? [] : [`--max-depth=${max_depth}`];
}

function escapeGlob(path: string): string {
  return path.replace(/[\\*?[\]{}!#]/g, "\\$&");
}
