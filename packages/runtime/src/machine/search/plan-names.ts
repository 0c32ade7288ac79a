import type { NamesQuery } from "../../contract/search.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import { PROGRAMS } from "../processes/programs.ts";
import { hintOf } from "./accelerate.ts";
import type { NameHint } from "./accelerate.ts";
import { fdArguments, rgNamesArguments } from "./arguments.ts";
import type { FdWalk, NamesWalk } from "./arguments.ts";
import type { Fd } from "./engines.ts";
import { fdHeedsIn, has, walkOf } from "./place.ts";

/** A way to get at names with one engine. */
export interface NamesPlan {
  readonly engine: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly hint: NameHint | undefined;
  /** The order in which the names come. */
  readonly ordered: "path" | "newest" | undefined;
  /** Names of other kinds come too. */
  readonly mixed: boolean;
  /** What comes are files, and all of it is wanted as it is. */
  readonly onlyFiles: boolean;
  /** Only files come; folders are made out from their paths. */
  readonly derive: boolean;
  /** A `.gitignore` below the top means that the engine cannot do it. */
  readonly watch: boolean;
  readonly notes: readonly string[];
}

interface PlanOptions {
  readonly rg: string;
  readonly fd: Fd | undefined;
  readonly workspace: WorkspaceContext;
}

/** The ways to get at the names that are asked for, best first. Files are rg's; fd also sees folders and links. */
export function planNames(top: string, query: NamesQuery, { rg, fd, workspace }: PlanOptions): NamesPlan[] {
  const walk: NamesWalk = { ...walkOf(top, workspace), hint: hintOf(query.filter.pattern), max_depth: query.max_depth };
  if (query.kind === "file") return [planFiles(rg, query, walk)];
  const plans = fd === undefined ? [] : planFd(fd, { top, query, walk, roots: workspace.roots });
  if (query.kind !== "link") plans.push(planDerived(rg, query, walk, fd !== undefined));
  return plans;
}

const PLAIN = { ordered: undefined, mixed: false, onlyFiles: false, derive: false, watch: false, notes: [] } as const;

/** rg sorts on one core, and then it can be stopped early; where few names fit it is faster on all of them. */
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

/** An fd that heeds `.gitignore` only in repositories is told of the one at the top, and watched for others. */
function planFd({ program, abilities }: Fd, { top, query, walk, roots }: FdOptions): NamesPlan[] {
  const kinds = query.kind === undefined ? [] : [query.kind];
  const plan = { ...PLAIN, engine: program, program, hint: walk.hint };
  const plain: FdWalk = { ...walk, kinds, ignoreFile: false, hasGit: has(top, ".git") };
  const heeds = abilities["--no-require-git"] ? "all" : fdHeedsIn(top, walk, roots);
  if (heeds === "all") return [{ ...plan, args: fdArguments(plain, abilities) }];
  const ignoreFile = has(top, ".gitignore");
  const watched: FdWalk = {
    ...plain,
    ignoreFile,
    hint: watchedHint(walk.hint),
    kinds: kinds.length === 0 ? [] : [...kinds, "file"],
  };
  const args = fdArguments(watched, abilities);
  const plans: NamesPlan[] = heeds === "none" ? [] : [{ ...plan, args, mixed: kinds.length > 0, watch: true }];
  // Nobody else sees links, so here they are listed even though some may be left out by a .gitignore.
  if (query.kind === "link") {
    const notes = [
      "What .gitignore leaves out is listed too: this fd cannot apply it outside of repositories; a newer one can",
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
    ? "this fd cannot apply .gitignore outside of repositories; a newer one can"
    : `fd is missing; "${PROGRAMS.fd.install}" installs it`;
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
