import { isInside } from "../paths/inside.ts";
import { SENSITIVE_PLACES } from "./dangers.ts";
import type { GitPlaces, Places } from "./facts.ts";
import { foldPath } from "./fold-name.ts";
import { isAtPlace } from "./package-caches.ts";
import { compilePlaces } from "./places.ts";
import type { Place, PlaceRow, PlaceTable } from "./places.ts";
import { RUN_LATER } from "./run-later.ts";

const sensitivePlaces = compilePlaces(SENSITIVE_PLACES);
/** Compiled when something is first to be changed. */
let laterPlaces: PlaceTable | undefined;

/** Not what a resolver gives: a NUL, or a name that is empty, "." or "..". */
const NOT_NORMAL = /\0|\/\.{0,2}(?:\/|$)/;

export interface ClosedPlace {
  readonly code: "PathTraversalBlocked" | "SensitivePath";
  /** A clause about the path: "it leads outside the allowed roots". */
  readonly reason: string;
}

const OUTSIDE: ClosedPlace = { code: "PathTraversalBlocked", reason: "it leads outside the allowed roots" };
const STATE: ClosedPlace = { code: "SensitivePath", reason: "it is the runtime's own state" };

/**
 * The floor for one real path, whether anything is there or not: undefined where it is open. Asked when a call is
 * decided and again when the path is used, so that both ask the same.
 */
export function judgePlace(real: string, workspace: Places): ClosedPlace | undefined {
  return judgeInRoots(real, workspace) ?? judgeSensitivity(real, workspace);
}

/** As `judgeRoots`, for callers that ask `judgeSensitivity` too: it has the better word for a state folder that is a root. */
export function judgeInRoots(real: string, { roots, own_roots, state_dirs }: Places): ClosedPlace | undefined {
  const outside = judgeRoots(real, roots);
  if (outside === undefined || own_roots === undefined) return outside;
  return judgeRoots(
    real,
    own_roots.filter((root) => state_dirs.includes(root)),
  );
}

/** Compared name by name and letter by letter: folding here would open more than the roots. */
export function judgeRoots(real: string, roots: readonly string[]): ClosedPlace | undefined {
  if (real !== "/" && (!real.startsWith("/") || NOT_NORMAL.test(real))) return OUTSIDE;
  for (const root of roots) if (isInside(root, real)) return undefined;
  return OUTSIDE;
}

export function judgeSensitivity(real: string, workspace: Places): ClosedPlace | undefined {
  const { home, stateDirs } = foldedOf(workspace);
  const { judged_from: from } = workspace;
  const folded = foldPath(from !== undefined && isInside(from, real) ? `/skill${real.slice(from.length)}` : real);
  for (const stateDir of stateDirs) if (isInside(stateDir, folded)) return STATE;
  const place = sensitivePlaces.find(folded, 1, home);
  return place && { code: "SensitivePath", reason: `it is closed to every tool ("${place.path}": ${place.why})` };
}

/** Compiled when a command first made something that is closed. */
let obeyedPlaces: PlaceTable | undefined;

/**
 * Whether a path is closed by the name of a key alone: no program obeys what stands there, now or later, so one that a
 * command makes does no harm.
 */
export function isInertKey(real: string, workspace: Places): boolean {
  const { home } = foldedOf(workspace);
  const closed = judgeSensitivity(real, workspace);
  if (closed === undefined || closed === STATE) return false;
  obeyedPlaces ??= compilePlaces(SENSITIVE_PLACES.filter((row: PlaceRow) => row.inert !== true));
  return obeyedPlaces.find(foldPath(real), 1, home) === undefined && runsLater(real, workspace) === undefined;
}

/**
 * Whether a path lies among published packages below a root: package managers write there at will, and no program looks
 * there by itself for what it runs. A root may itself lie among packages.
 */
export function isInPackages(path: string, { roots }: Pick<Places, "roots">): boolean {
  return roots.some((root) => isInside(root, path) && path.slice(root.length).includes(PACKAGES));
}

const PACKAGES = "/node_modules/";

const PYTHON_PACKAGES = /\/(?:site|dist)-packages\//;

/** A key that came with a package of Python, such as the certificates that pip trusts: commands need it, tools do not. */
export function isPublishedKey(real: string, workspace: Places): boolean {
  const root = workspace.roots.find((each) => isInside(each, real)) ?? "";
  return PYTHON_PACKAGES.test(real.slice(root.length)) && isRemovableKey(real, workspace);
}

/** Whether undo may remove such a key: it is closed by its own name, and not by that of a folder around it. */
export function isRemovableKey(real: string, workspace: Places): boolean {
  const folder = real.slice(0, real.lastIndexOf("/"));
  return isInertKey(real, workspace) && judgePlace(folder, workspace) === undefined;
}

/**
 * Whether an entry of a folder is a sensitive place or the runtime's state; agrees with `judgePlace` on the entry's
 * path. Asked for each entry of long listings: only a suspicious name costs more than a look at the name.
 */
export function isHiddenName(folderReal: string, name: string, workspace: Places): boolean {
  const known = foldedOf(workspace);
  if (known.folder !== folderReal) {
    known.folder = folderReal;
    known.isFolderClosed = judgeSensitivity(folderReal, workspace) !== undefined;
  }
  const folded = foldPath(name);
  if (!known.isFolderClosed && !known.stateNames.has(folded) && !sensitivePlaces.isSuspicious(folded)) return false;
  return judgeSensitivity(folderReal === "/" ? `/${name}` : `${folderReal}/${name}`, workspace) !== undefined;
}

/** Why the file runs later, e.g. ".git/hooks: git runs it"; undefined where it does not. */
export function runsLater(real: string, ground: LaterGround): string | undefined {
  const place = findLaterPlace(real, ground);
  return place && `${place.path}: ${place.why}`;
}

/** Whether a name can complete a place of `findLaterPlace` at all. Most names cannot, and this says so fast. */
export function mayRunLater(name: string): boolean {
  laterPlaces ??= compilePlaces(RUN_LATER);
  return laterPlaces.isSuspicious(foldPath(name));
}

/** What decides whether a file runs later, beside the table. */
export type LaterGround = Pick<Places, "roots" | "git_places">;

/** The root that was folded last: many paths of one root are asked about. Remembered, not state. */
let folding = { of: "", length: 0 };

/**
 * A root that was opened inside such a place (a worktree below `.claude`) is a workspace like any other, so only names
 * below the innermost root complete a place.
 */
export function findLaterPlace(real: string, { roots, git_places = [] }: LaterGround): Place | undefined {
  let innermost = "";
  for (const root of roots) if (root.length > innermost.length && isInside(root, real)) innermost = root;
  if (folding.of !== innermost) folding = { of: innermost, length: foldPath(innermost).length };
  const from = innermost === "/" ? 1 : folding.length + 1;
  laterPlaces ??= compilePlaces(RUN_LATER);
  const folded = foldPath(real);
  return laterPlaces.find(folded, from, "") ?? (git_places.length === 0 ? undefined : namedByGit(folded, git_places));
}

function namedByGit(folded: string, named: GitPlaces): Place | undefined {
  for (const each of named) {
    const place = foldPath(each.path);
    if (!isAtPlace(folded, each, place)) continue;
    return { path: each.path, why: each.why, telling: place.slice(place.lastIndexOf("/") + 1), rewritten: false };
  }
  return undefined;
}

interface Folded {
  readonly home: string;
  readonly stateDirs: readonly string[];
  readonly stateNames: ReadonlySet<string>;
  /** The folder that was asked about last: a listing asks about one folder many times. */
  folder: string | undefined;
  isFolderClosed: boolean;
}

/** Remembered, not state: the same workspace always folds to the same. */
const foldedByWorkspace = new WeakMap<Places, Folded>();

function foldedOf(workspace: Places): Folded {
  const known = foldedByWorkspace.get(workspace);
  if (known !== undefined) return known;
  const stateDirs = workspace.state_dirs.map(foldPath);
  const folded: Folded = {
    home: foldPath(workspace.home),
    stateDirs,
    stateNames: new Set(stateDirs.map((path) => path.slice(path.lastIndexOf("/") + 1))),
    folder: undefined,
    isFolderClosed: false,
  };
  foldedByWorkspace.set(workspace, folded);
  return folded;
}
