import { isInside } from "../../paths/inside.ts";
import { SENSITIVE_PLACES } from "./dangers.ts";
import type { GitPlaces, Places } from "../facts.ts";
import { foldPath } from "./fold-name.ts";
import { isAtPlace } from "./cache-folders.ts";
import { compilePlaces } from "./places.ts";
import type { Place, PlaceRow, PlaceTable } from "./places.ts";
import { RUN_LATER } from "./run-later.ts";

const sensitivePlaces = compilePlaces(SENSITIVE_PLACES);
/** Compiled on the first change. */
let laterPlaces: PlaceTable | undefined;

/** Never returned by a resolver: a NUL, or a name that is empty, "." or "..". */
const NOT_NORMAL = /\0|\/\.{0,2}(?:\/|$)/;

export interface ClosedPlace {
  readonly code: "PathTraversalBlocked" | "SensitivePath";
  /** A clause about the path: "it points outside the allowed roots". */
  readonly reason: string;
}

const OUTSIDE: ClosedPlace = { code: "PathTraversalBlocked", reason: "it points outside the allowed roots" };
const STATE: ClosedPlace = { code: "SensitivePath", reason: "it is the runtime's own state" };

/**
 * Why a real path is closed in every profile, whether it exists or not; undefined if it is open. Used both when a call
 * is decided and when the path is opened, so that the two cannot differ.
 */
export function judgePlace(real: string, workspace: Places): ClosedPlace | undefined {
  return judgeInRoots(real, workspace) ?? judgeSensitivity(real, workspace);
}

/**
 * Like `judgeRoots`, for callers that also use `judgeSensitivity`, whose reason is better for a state folder that is a
 * root.
 */
export function judgeInRoots(real: string, { roots, own_roots, state_dirs }: Places): ClosedPlace | undefined {
  const outside = judgeRoots(real, roots);
  if (outside === undefined || own_roots === undefined) return outside;
  return judgeRoots(
    real,
    own_roots.filter((root) => state_dirs.includes(root)),
  );
}

/** An exact comparison: case folding here would open more than the roots. */
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
  return place && { code: "SensitivePath", reason: `it is off limits to all tools ("${place.path}": ${place.why})` };
}

/** Compiled when a command first creates a closed path. */
let obeyedPlaces: PlaceTable | undefined;

/**
 * Whether a path is closed only because it is named like a key: no program executes its content, so a command that
 * creates one does no harm.
 */
export function isInertKey(real: string, workspace: Places): boolean {
  const { home } = foldedOf(workspace);
  const closed = judgeSensitivity(real, workspace);
  if (closed === undefined || closed === STATE) return false;
  obeyedPlaces ??= compilePlaces(SENSITIVE_PLACES.filter((row: PlaceRow) => row.inert !== true));
  return obeyedPlaces.find(foldPath(real), 1, home) === undefined && runsLater(real, workspace) === undefined;
}

/**
 * Whether a path is inside installed packages below a root: package managers write there freely, and no program
 * searches there for files to run. A root may itself be inside packages.
 */
export function isInPackages(path: string, { roots }: Pick<Places, "roots">): boolean {
  return roots.some((root) => isInside(root, path) && path.slice(root.length).includes(PACKAGES));
}

const PACKAGES = "/node_modules/";

const PYTHON_PACKAGES = /\/(?:site|dist)-packages\//;

/** A key that came with a Python package, such as the certificates that pip trusts: commands need it, tools do not. */
export function isPublishedKey(real: string, workspace: Places): boolean {
  const root = workspace.roots.find((each) => isInside(each, real)) ?? "";
  return PYTHON_PACKAGES.test(real.slice(root.length)) && isRemovableKey(real, workspace);
}

/** Whether undo may remove such a key: it is closed by its own name, not by that of a folder above it. */
export function isRemovableKey(real: string, workspace: Places): boolean {
  const folder = real.slice(0, real.lastIndexOf("/"));
  return isInertKey(real, workspace) && judgePlace(folder, workspace) === undefined;
}

/**
 * Whether an entry of a folder is sensitive or the runtime's state; agrees with `judgePlace` on the entry's path. Runs
 * for each entry of long listings, so a quick check of the name comes first.
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

/** Why the file runs later, e.g. ".git/hooks: git runs it"; undefined if it does not. */
export function runsLater(real: string, ground: LaterGround): string | undefined {
  const place = findLaterPlace(real, ground);
  return place && `${place.path}: ${place.why}`;
}

/** Whether a name can be the end of a match of `findLaterPlace`: a fast filter, since most names cannot. */
export function mayRunLater(name: string): boolean {
  laterPlaces ??= compilePlaces(RUN_LATER);
  return laterPlaces.isSuspicious(foldPath(name));
}

/** What decides whether a file runs later, in addition to the table. */
export type LaterGround = Pick<Places, "roots" | "git_places">;

/** The last folded root, since many paths share one root. A cache, not state. */
let folding = { of: "", length: 0 };

/**
 * A root inside such a place (a worktree below `.claude`) is an ordinary workspace, so only names below the innermost
 * root count.
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

interface FoldedPath {
  readonly home: string;
  readonly stateDirs: readonly string[];
  readonly stateNames: ReadonlySet<string>;
  /** The last checked folder: a listing checks one folder many times. */
  folder: string | undefined;
  isFolderClosed: boolean;
}

/** A cache, not state: the same workspace always folds to the same. */
const foldedByWorkspace = new WeakMap<Places, FoldedPath>();

function foldedOf(workspace: Places): FoldedPath {
  const known = foldedByWorkspace.get(workspace);
  if (known !== undefined) return known;
  const stateDirs = workspace.state_dirs.map(foldPath);
  const folded: FoldedPath = {
    home: foldPath(workspace.home),
    stateDirs,
    stateNames: new Set(stateDirs.map((path) => path.slice(path.lastIndexOf("/") + 1))),
    folder: undefined,
    isFolderClosed: false,
  };
  foldedByWorkspace.set(workspace, folded);
  return folded;
}
