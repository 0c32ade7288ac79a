import { mkdirSync } from "node:fs";
import type { BigIntStats } from "node:fs";
import { dirname } from "node:path";
import type { PlaceJudge } from "../../contract/processes.ts";
import { isInside } from "../../paths/inside.ts";
import type { GitPlaces, Places } from "../../policy/facts.ts";
import type { HiddenPlace } from "./bwrap.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import { isSystemError } from "../system/system-error.ts";
import { entriesOf, existing, listeningSockets, lstat, namedOutside, TOP_FOLDERS } from "./find-outside.ts";
import { judgeEntries } from "./judge-folder.ts";
import type { JudgedFolder, FolderJudge } from "./judge-folder.ts";
import { isCacheAmong, isInCache } from "./named-places.ts";
import { MAX_WATCHED } from "./place-guard.ts";
import { MAX_NAMES, MAX_READ_ONLY, notHidden, tooLarge, tooManyRuled } from "./place-limits.ts";
import { StraySockets } from "./stray-sockets.ts";
import type { ShownPlace } from "./stray-sockets.ts";

/** Paths that a sandbox has to protect. */
export interface FoundPlaces {
  readonly hidden: readonly HiddenPlace[];
  readonly read_only: readonly string[];
  /** Read-only by a rule: these stay read-only even where a command may change run-later files. */
  readonly ruled: readonly string[];
  readonly pinned: readonly string[];
  /** Folders in which paths may appear that a rule closes. */
  readonly watched: readonly string[];
  /** Number of read-only paths above the limit of a sandbox. Hidden paths are never left out. */
  readonly left_out: number;
}

/** A folder that changed more recently may change again without a newer time, so it is read again. */
const SETTLED_MS = 100;

interface SeenFolder extends JudgedFolder {
  readonly stats: Pick<BigIntStats, "ino" | "mtimeNs" | "ctimeNs">;
  readonly isSettled: boolean;
}

const NOTHING: readonly never[] = [];

export interface FinderOptions {
  /** Whether commands see a path outside the roots. Default: they see all. */
  readonly isShown?: (path: string) => boolean;
  /** Folders outside the roots that commands see. Default: none. */
  readonly shown?: () => readonly ShownPlace[];
}

/** Finds the paths that a sandbox has to protect. Caches the folders of the roots until they change. */
export class PlaceFinder {
  readonly #workspace: Places;
  readonly #isShown: (path: string) => boolean;
  readonly #shown: () => readonly ShownPlace[];
  readonly #strays = new StraySockets();
  readonly #named: readonly string[];
  readonly #seenOutside = new Map<string, SeenFolder>();
  #seen = new Map<string, SeenFolder>();
  #key: string | undefined;
  /** Paths in git's configuration at the last search. */
  gitPlaces: GitPlaces = NOTHING;
  /** Names read for the current command. */
  #names = 0;

  constructor(workspace: Places, { isShown = () => true, shown = () => [] }: FinderOptions = {}) {
    this.#workspace = workspace;
    this.#isShown = isShown;
    this.#shown = shown;
    this.#named = namedOutside(workspace);
  }

  /** `more`: further folders below the roots to search. */
  find(judge?: PlaceJudge, more: readonly string[] = []): FoundPlaces {
    this.#names = 0;
    const { roots, state_dirs } = this.#workspace;
    const isInRoots = (path: string): boolean => roots.some((root) => isInside(root, path));
    const isSeen = (path: string): boolean => this.#isShown(path) || isInRoots(path);
    // A command could create a missing path: so our own folders in a root are created, to be hidden.
    for (const path of state_dirs) if (isInRoots(path)) makeOwn(path);
    const byName = [...this.#named, ...state_dirs].filter(isSeen).flatMap((path) => existing(path, roots));
    const named = [
      ...byName,
      ...listeningSockets()
        .filter(isSeen)
        .flatMap((path) => existing(path, roots)),
    ];
    const matching = TOP_FOLDERS.flatMap((folder) => (this.#isShown(folder) ? this.#hiddenIn(folder) : []));
    const strays = this.#strays.find(this.#shown());
    const inside = this.#findInside(judge, more);
    const hidden = new Map([...named, ...matching, ...strays, ...inside.hidden].map((place) => [place.path, place]));
    const tops = [...hidden.values()].filter(({ path }) => !isBelowAnother(path, hidden));
    const above = byName.flatMap(({ path }) => (isInRoots(path) ? foldersAbove(dirname(path), roots) : []));
    const ground = { git_places: this.gitPlaces };
    const isFixed = (path: string): boolean =>
      inside.ruled.some((each) => isInside(each, path)) ||
      inside.read_only.some((each) => isInside(each, path) && !isInCache(path, each, ground));
    const pinned = [...new Set([...inside.pinned, ...above.filter((path) => !isFixed(path))])].sort();
    return {
      ...inside,
      hidden: tops,
      pinned: pinned.filter((path) => !hidden.has(path) && !isBelowAnother(path, hidden)),
    };
  }

  #hiddenIn(folder: string): readonly HiddenPlace[] {
    const found = this.#look(folder, this.#seenOutside, undefined);
    if (found === undefined) return [];
    this.#seenOutside.set(folder, found);
    return found.hidden;
  }

  /** Whether the last walk visited this folder, by path and inode. */
  saw(path: string, ino: bigint): boolean {
    return this.#seen.get(path)?.stats.ino === ino;
  }

  #findInside(judge: PlaceJudge | undefined, more: readonly string[]): FoundPlaces {
    const { git_places = NOTHING } = this.#workspace;
    if (this.#key !== judge?.key || this.gitPlaces !== git_places) this.#seen = new Map();
    this.#key = judge?.key;
    this.gitPlaces = git_places;
    const folders = [...this.#workspace.roots, ...more];
    const seen = new Map<string, SeenFolder>();
    const hidden: HiddenPlace[] = [];
    const read_only: string[] = [];
    const ruled: string[] = [];
    const pinned: string[] = [];
    const above = new Set<string>();
    /** Read-only folders and their subfolders: their entries need no protection of their own against changes or moves. */
    const fixed = new Map<string, FixedReason>();
    const watched: string[] = [];
    // The list grows while it is walked.
    for (const folder of folders) {
      if (seen.has(folder)) continue;
      const found = this.#look(folder, this.#seen, judge);
      if (found === undefined) continue;
      seen.set(folder, found);
      hidden.push(...found.hidden);
      const kept = fixed.get(folder);
      if (kept !== "ruled") ruled.push(...found.ruled);
      if (found.isTied)
        for (const each of foldersAbove(folder, this.#workspace.roots)) if (!fixed.has(each)) above.add(each);
      if (kept === undefined) {
        read_only.push(...found.read_only);
        pinned.push(...found.pinned);
        if (found.mayBeRuled && watched.length < MAX_WATCHED) watched.push(folder);
      }
      if (kept !== undefined || found.read_only.length + found.ruled.length > 0)
        markFixed(found, kept, { fixed, git_places });
      for (const each of found.folders) folders.push(each);
    }
    this.#seen = seen;
    if (ruled.length > MAX_READ_ONLY) throw tooManyRuled(ruled.length);
    const left_out = Math.max(0, read_only.length - MAX_READ_ONLY);
    // Parents first: mounts that exist in a folder move along with it.
    const pins = [...new Set([...pinned.slice(0, MAX_READ_ONLY), ...above])].sort();
    return { hidden, read_only: read_only.slice(0, MAX_READ_ONLY), ruled, pinned: pins, watched, left_out };
  }

  #look(
    folder: string,
    remembered: ReadonlyMap<string, SeenFolder>,
    judge: PlaceJudge | undefined,
  ): SeenFolder | undefined {
    const stats = lstat(folder);
    if (stats?.isDirectory() !== true) return undefined;
    const known = remembered.get(folder);
    if (known?.isSettled === true && isSame(known.stats, stats)) return known;
    const entries = entriesOf(folder);
    if (entries === undefined) return undefined;
    this.#names += entries.length;
    if (this.#names > MAX_NAMES) throw tooLarge(this.#workspace.roots);
    const { ino, mtimeNs, ctimeNs } = stats;
    const isSettled = Date.now() - Number(ctimeNs / 1_000_000n) > SETTLED_MS;
    const own = judge ?? NO_RULES;
    return { stats: { ino, mtimeNs, ctimeNs }, isSettled, ...judgeEntries(folder, entries, this.#workspace, own) };
  }
}

const NO_RULES: FolderJudge = { judge: () => undefined, mayCloseBelow: () => false };

/** The folder and its parents below the roots: renaming one would move the closed paths in it. */
function foldersAbove(folder: string, roots: readonly string[]): readonly string[] {
  const above: string[] = [];
  for (let each = folder; each !== "/" && !roots.includes(each); each = dirname(each)) above.push(each);
  return above;
}

type FixedReason = "later" | "ruled";

function markFixed(
  { folders, read_only, ruled }: JudgedFolder,
  within: FixedReason | undefined,
  { fixed, git_places }: { readonly fixed: Map<string, FixedReason>; readonly git_places: GitPlaces },
): void {
  const [later, byRule] = [new Set(read_only), new Set(ruled)];
  for (const each of folders) {
    if (within === "ruled" || byRule.has(each)) fixed.set(each, "ruled");
    // Caches in read-only package folders stay writable.
    else if (later.has(each) || (within === "later" && !isCacheAmong(each, { git_places }))) fixed.set(each, "later");
  }
}

function isSame(one: SeenFolder["stats"], other: SeenFolder["stats"]): boolean {
  return one.ino === other.ino && one.mtimeNs === other.mtimeNs && one.ctimeNs === other.ctimeNs;
}

function makeOwn(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    if (!isSystemError(error)) throw error;
    // If we may not create it, a command may not either.
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!["EACCES", "EPERM", "EROFS"].includes(code)) throw notHidden(path, reasonOf(error));
  }
}

function isBelowAnother(path: string, places: ReadonlyMap<string, HiddenPlace>): boolean {
  for (let above = dirname(path); above !== "/"; above = dirname(above)) if (places.has(above)) return true;
  return false;
}
