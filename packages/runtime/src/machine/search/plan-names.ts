import type { NamesQuery } from "../../contract/search.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import { PROGRAMS } from "../processes/programs.ts";
import { hintOf } from "./accelerate.ts";
import type { NameHint } from "./accelerate.ts";
import { fdArguments, rgNamesArguments } from "./arguments.ts";
import type { FdWalk, NamesWalk } from "./arguments.ts";
import type { Fd } from "./engines.ts";
import { fdIgnoresIn, has, walkOf } from "./place.ts";

/** How to list names with one engine. */
export interface NamesPlan {
  readonly engine: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly hint: NameHint | undefined;
  /** The order in which the engine outputs names. */
  readonly ordered: "path" | "newest" | undefined;
  /** The output includes names of other kinds. */
  readonly mixed: boolean;
  /** The output consists of files, and all of them are wanted. */
  readonly onlyFiles: boolean;
  /** The output has only files; folders are derived from their paths. */
  readonly derive: boolean;
  /** If a `.gitignore` below the top appears, the engine is unable. */
  readonly watch: boolean;
  readonly notes: readonly string[];
}

interface PlanOptions {
  readonly rg: string;
  readonly fd: Fd | undefined;
  readonly workspace: WorkspaceContext;
}

/** The plans for a query, best first. rg lists files; fd also lists folders and links. */
export function planNames(top: string, query: NamesQuery, { rg, fd, workspace }: PlanOptions): NamesPlan[] {
  const walk: NamesWalk = { ...walkOf(top, workspace), hint: hintOf(query.filter.pattern), max_depth: query.max_depth };
  if (query.kind === "file") return [planFiles(rg, query, walk)];
  const plans = fd === undefined ? [] : planFd(fd, { top, query, walk, roots: workspace.roots });
  if (query.kind !== "link") plans.push(planDerived(rg, query, walk, fd !== undefined));
  return plans;
}

const PLAIN = { ordered: undefined, mixed: false, onlyFiles: false, derive: false, watch: false, notes: [] } as const;

/** Sorted output of rg uses one core but can be stopped early; if few names match, unsorted on all cores is faster. */
function planFiles(rg: string, { order }: NamesQuery, walk: NamesWalk): NamesPlan {
  const ordered = order === "newest" ? "newest" : walk.hint === undefined ? "path" : undefined;
  const args = rgNamesArguments(walk, ordered ?? "none");
  return { ...PLAIN, engine: "rg", program: rg, args, hint: walk.hint, ordered, onlyFiles: true };
}

interface FdOptions {
  readonly top: string;
  readonly query: NamesQuery;
  readonly walk: NamesWalk;
  readonly roots: readonly string[];
}

/** An fd that applies `.gitignore` only in repositories is passed the top one; its output is watched for others. */
function planFd({ program, abilities }: Fd, { top, query, walk, roots }: FdOptions): NamesPlan[] {
  const kinds = query.kind === undefined ? [] : [query.kind];
  const plan = { ...PLAIN, engine: program, program, hint: walk.hint };
  const plain: FdWalk = { ...walk, kinds, ignoreFile: false, hasGit: has(top, ".git") };
  const scope = abilities["--no-require-git"] ? "all" : fdIgnoresIn(top, walk, roots);
  if (scope === "all") return [{ ...plan, args: fdArguments(plain, abilities) }];
  const ignoreFile = has(top, ".gitignore");
  const watched: FdWalk = {
    ...plain,
    ignoreFile,
    hint: watchedHint(walk.hint),
    kinds: kinds.length === 0 ? [] : [...kinds, "file"],
  };
  const args = fdArguments(watched, abilities);
  const plans: NamesPlan[] = scope === "none" ? [] : [{ ...plan, args, mixed: kinds.length > 0, watch: true }];
  // Only fd lists links, so they are listed here even though a .gitignore may exclude some.
  if (query.kind === "link") {
    const notes = [
      "Ignored files are listed too: this version of fd cannot apply .gitignore outside of repositories; a newer one can",
    ];
    plans.push({ ...plan, args: fdArguments({ ...plain, ignoreFile }, abilities), notes });
  }
  return plans;
}

function watchedHint(hint: NameHint | undefined): NameHint | undefined {
  if (hint === undefined) return undefined;
  const glob = hint.glob.includes("{") ? undefined : `{.gitignore,${hint.glob}}`;
  return glob === undefined ? undefined : { ...hint, glob };
}

function planDerived(rg: string, query: NamesQuery, walk: NamesWalk, hasFd: boolean): NamesPlan {
  const { hint, max_depth } = walk;
  const ordered = query.order === "path" && hint === undefined ? "path" : undefined;
  const deeper = { ...walk, hint: undefined, max_depth: max_depth === undefined ? undefined : max_depth + 1 };
  const why = hasFd
    ? "this version of fd cannot apply .gitignore outside of repositories; a newer one can"
    : `fd is not installed; install it with "${PROGRAMS.fd.install}"`;
  return {
    ...PLAIN,
    engine: "rg",
    program: rg,
    args: rgNamesArguments(deeper, ordered ?? "none"),
    hint,
    ordered,
    derive: true,
    notes: [`Links and folders without files are not listed: ${why}`],
  };
}
