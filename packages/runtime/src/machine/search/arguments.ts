import type { NamesQuery, TextQuery } from "../../contract/search.ts";
import type { NameHint } from "./accelerate.ts";

/** How the tree below a folder is walked. */
export interface Walk {
  /** Places below the folder that are not even looked at, relative to it. */
  readonly closed: readonly string[];
  /** `.gitignore` files above the folder count too. */
  readonly parents: boolean;
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
  "--no-require-git",
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

function rgWalk({ closed, parents }: Walk): string[] {
  return [
    ...RG_WALK,
    ...(parents ? [] : ["--no-ignore-parent"]),
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
  readonly kinds: readonly NonNullable<NamesQuery["kind"]>[];
  /** Without a repository an fd that has no --no-require-git heeds no .gitignore but the one it is given. */
  readonly ignoreFile: boolean;
}

export function fdArguments(walk: FdWalk, abilities: FdAbilities): string[] {
  return [
    "--color=never",
    "--print0",
    "--hidden",
    "--no-follow",
    "--case-sensitive",
    "--exclude=.git",
    ...walk.closed.map((place) => `--exclude=/${escapeGlob(place)}`),
    ...(walk.parents ? [] : ["--no-ignore-parent"]),
    ...Object.entries(abilities).flatMap(([option, known]) => (known ? [option] : [])),
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
