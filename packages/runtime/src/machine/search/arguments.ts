import type { NamesQuery, TextQuery } from "../../contract/search.ts";
import type { NameHint } from "./accelerate.ts";

/** How the tree below a folder is walked. */
export interface Walk {
  /** Paths below the folder that are not visited, relative to it. */
  readonly closed: readonly string[];
  /**
   * Which `.gitignore` files above the folder apply: none, those up to the enclosing repository, or all. Engines stop
   * at a repository only if they require one.
   */
  readonly above: "none" | "repository" | "all";
}

/*
 * Every list is fixed, except for values attached with "=" or placed after "--": no text of a caller can become an
 * option. A positive --glob of rg would override .gitignore; one with "!" only excludes.
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

/** A custom file type for the wanted names: unlike a glob, it does not override .gitignore. */
function rgHint(hint: NameHint | undefined): string[] {
  return hint === undefined ? [] : [`--type-add=wanted:${hint.glob}`, "--type=wanted"];
}

/** Options that the installed fd supports. */
export interface FdAbilities {
  readonly "--no-require-git": boolean;
  readonly "--no-global-ignore-file": boolean;
  readonly "--show-errors": boolean;
}

export interface FdWalk extends NamesWalk {
  /** Exclude patterns slow fd down considerably; the caller filters out git's folders again anyway. */
  readonly hasGit: boolean;
  readonly kinds: readonly NonNullable<NamesQuery["kind"]>[];
  /** Outside a repository, an fd without --no-require-git applies only the .gitignore that it is passed. */
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
