import type { BigIntStats, Dirent } from "node:fs";
import { dirname } from "node:path";
import type { PlaceJudge } from "../../contract/processes.ts";
import { isInside } from "../../paths/inside.ts";
import { findLaterPlace, isHiddenName, isInPackages, isPublishedKey, mayRunLater } from "../../policy/check-path.ts";
import { FIXED_FOLDERS, looksLikeRepository, REPOSITORY_SETTINGS } from "../../policy/dangers.ts";
import type { GitPlaces, Places } from "../../policy/facts.ts";
import { foldPath } from "../../policy/fold-name.ts";
import type { PlaceRow } from "../../policy/places.ts";
import { RUN_LATER } from "../../policy/run-later.ts";
import type { HiddenPlace } from "./bwrap.ts";
import { MOST_WATCHED } from "./place-guard.ts";
import { MOST_NAMES, MOST_READ_ONLY, tooLarge, tooManyRuled, unnamed } from "./place-limits.ts";
import { StraySockets } from "./stray-sockets.ts";
import type { ShownPlace } from "./stray-sockets.ts";
import { holdsNamed, isNamed } from "./named-places.ts";
import { entriesOf, existing, listeningSockets, lstat, namedOutside, TOP_FOLDERS } from "./find-outside.ts";

/** What a sandbox has to close. */
export interface FoundPlaces {
  readonly hidden: readonly HiddenPlace[];
  readonly read_only: readonly string[];
  /** To be read only by a rule: nothing that a command is opened for opens these. */
  readonly ruled: readonly string[];
  readonly pinned: readonly string[];
  /** Folders in which something may appear that a rule closes. */
  readonly watched: readonly string[];
  /** Read-only places beyond the number that a sandbox takes. What is hidden is never left out. */
  readonly left_out: number;
}

/** A machine's own programs and kernel, where the whole machine is a root. Private in the sandbox, or read-only by nature. */
// oxfmt-ignore
const MACHINE: ReadonlySet<string> = new Set([
  "/proc", "/sys", "/dev", "/run", "/tmp", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/boot", "/nix", "/gnu", "/snap",
]);

/** Published packages: other people's files. Looked into for the sake of rules and of this program only. */
const PACKAGES = "node_modules";
/** What git keeps by content, in the folder of a repository. */
const STORES: ReadonlySet<string> = new Set(["objects", "refs", "logs", "lfs"]);

/** A folder that changed this short a time ago may change again without a newer time: it is read again. */
const SETTLED_MS = 100;

interface SeenFolder {
  readonly stats: Pick<BigIntStats, "ino" | "mtimeNs" | "ctimeNs">;
  readonly isSettled: boolean;
  readonly hidden: readonly HiddenPlace[];
  readonly read_only: readonly string[];
  readonly ruled: readonly string[];
  readonly pinned: readonly string[];
  readonly folders: readonly string[];
  /** A rule closes something in it. */
  readonly isRuled: boolean;
  /** A rule may close something in it that is not there yet. */
  readonly mayBeRuled: boolean;
}

const NOTHING: readonly never[] = [];

export interface FinderOptions {
  /** Whether something outside the roots is seen by commands at all. Default: all of it is. */
  readonly isShown?: (path: string) => boolean;
  /** Folders outside the roots that commands see. Default: none. */
  readonly shown?: () => readonly ShownPlace[];
}

/** Finds what a sandbox has to close. Remembers the folders of the roots for as long as they do not change. */
export class PlaceFinder {
  readonly #workspace: Places;
  readonly #isShown: (path: string) => boolean;
  readonly #shown: () => readonly ShownPlace[];
  readonly #strays = new StraySockets();
  readonly #named: readonly string[];
  readonly #seenOutside = new Map<string, SeenFolder>();
  #seen = new Map<string, SeenFolder>();
  #key: string | undefined;
  /** What git's configuration named when it last looked. */
  gitPlaces: GitPlaces = NOTHING;
  /** Read for one command. */
  #names = 0;

  constructor(workspace: Places, { isShown = () => true, shown = () => [] }: FinderOptions = {}) {
    this.#workspace = workspace;
    this.#isShown = isShown;
    this.#shown = shown;
    this.#named = namedOutside(workspace);
  }

  /** `more`: folders below the roots that are looked at too, wherever they lie. */
  find(judge?: PlaceJudge, more: readonly string[] = []): FoundPlaces {
    this.#names = 0;
    const { roots, state_dirs } = this.#workspace;
    const named = [...this.#named, ...listeningSockets(), ...state_dirs]
      .filter((path) => this.#isShown(path) || roots.some((root) => isInside(root, path)))
      .flatMap((path) => existing(path, roots));
    const matching = TOP_FOLDERS.flatMap((folder) => (this.#isShown(folder) ? this.#hiddenIn(folder) : []));
    const strays = this.#strays.find(this.#shown());
    const inside = this.#findInside(judge, more);
    const hidden = new Map([...named, ...matching, ...strays, ...inside.hidden].map((place) => [place.path, place]));
    return { ...inside, hidden: [...hidden.values()].filter(({ path }) => !isBelowAnother(path, hidden)) };
  }

  #hiddenIn(folder: string): readonly HiddenPlace[] {
    const found = this.#look(folder, this.#seenOutside, undefined);
    if (found === undefined) return [];
    this.#seenOutside.set(folder, found);
    return found.hidden;
  }

  /** Whether the last walk looked at this folder, by its place and its number. */
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
    const watched: string[] = [];
    // The list grows while it is walked.
    for (const folder of folders) {
      if (seen.has(folder)) continue;
      const found = this.#look(folder, this.#seen, judge);
      if (found === undefined) continue;
      seen.set(folder, found);
      hidden.push(...found.hidden);
      read_only.push(...found.read_only);
      ruled.push(...found.ruled);
      pinned.push(...found.pinned);
      if (found.isRuled) for (const each of foldersAbove(folder, this.#workspace.roots)) above.add(each);
      if (found.mayBeRuled && watched.length < MOST_WATCHED) watched.push(folder);
      for (const each of found.folders) folders.push(each);
    }
    this.#seen = seen;
    if (ruled.length > MOST_READ_ONLY) throw tooManyRuled(ruled.length);
    const left_out = Math.max(0, read_only.length - MOST_READ_ONLY);
    // A folder comes before those in it: what is mounted there already comes along.
    const pins = [...new Set([...pinned.slice(0, MOST_READ_ONLY), ...above])].sort();
    return { hidden, read_only: read_only.slice(0, MOST_READ_ONLY), ruled, pinned: pins, watched, left_out };
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
    if (this.#names > MOST_NAMES) throw tooLarge(this.#workspace.roots);
    const { ino, mtimeNs, ctimeNs } = stats;
    const isSettled = Date.now() - Number(ctimeNs / 1_000_000n) > SETTLED_MS;
    const own = judge ?? NO_RULES;
    return { stats: { ino, mtimeNs, ctimeNs }, isSettled, ...judgeEntries(folder, entries, this.#workspace, own) };
  }
}

type Judging = Pick<PlaceJudge, "judge" | "mayCloseBelow">;

const NO_RULES: Judging = { judge: () => undefined, mayCloseBelow: () => false };

/** The folder and those above it, below the roots: renamed, they would take along what a rule closes in them. */
function foldersAbove(folder: string, roots: readonly string[]): readonly string[] {
  const above: string[] = [];
  for (let each = folder; each !== "/" && !roots.includes(each); each = dirname(each)) above.push(each);
  return above;
}

function isSame(one: SeenFolder["stats"], other: SeenFolder["stats"]): boolean {
  return one.ino === other.ino && one.mtimeNs === other.mtimeNs && one.ctimeNs === other.ctimeNs;
}

/** What is found in one folder. */
interface Lists {
  readonly hidden: HiddenPlace[];
  readonly read_only: string[];
  readonly ruled: string[];
  readonly pinned: string[];
  readonly folders: string[];
}

function judgeEntries(
  folder: string,
  entries: readonly Dirent[],
  workspace: Places,
  { judge, mayCloseBelow }: Judging,
): Omit<SeenFolder, "stats" | "isSettled"> {
  const lists: Lists = { hidden: [], read_only: [], ruled: [], pinned: [], folders: [] };
  let isUnnamed = false;
  let isRuled = false;
  const isRepository = looksLikeRepository(new Set(entries.map(({ name }) => name)));
  const start = folder === "/" ? "/" : `${folder}/`;
  const isPackages = isInPackages(start, workspace);
  for (const entry of entries) {
    const { name } = entry;
    // A link holds no secret: what it leads to is judged where it is.
    if (entry.isSymbolicLink()) continue;
    const path = start + name;
    const isFolder = entry.isDirectory();
    if (name.includes("\uFFFD") && lstat(path) === undefined) {
      isUnnamed ||= isHiddenName(folder, name, workspace) || entry.isSocket() || isFolder;
      continue;
    }
    const closed = judge(path, isFolder);
    isRuled ||= closed !== undefined;
    const isLater = (): boolean =>
      isPackages
        ? isNamed(path, workspace)
        : isFixed(path, entry, workspace) || (isRepository && REPOSITORY_SETTINGS.has(name));
    const isPublished = (): boolean => !isFolder && isPublishedKey(path, workspace);
    // Nothing keeps a pipe or a device from being written where a file is read-only.
    const isUnkept = !isFolder && !entry.isFile() && (entry.isSocket() || closed !== undefined || isLater());
    if (closed === "hide" || isUnkept || (isHiddenName(folder, name, workspace) && !isPublished())) {
      lists.hidden.push({ path, kind: isFolder ? "folder" : "file" });
    } else if (closed === "read_only") {
      lists.ruled.push(path);
    } else if (isLater()) {
      lists.read_only.push(path);
    } else if (
      isFolder &&
      ((!isPackages && name !== PACKAGES) || mayCloseBelow(path) || holdsNamed(path, workspace)) &&
      !(isRepository && STORES.has(name)) &&
      !MACHINE.has(path)
    ) {
      lists.folders.push(path);
      if (isPackages ? holdsNamed(path, workspace) : leadsToLater(path, workspace)) lists.pinned.push(path);
    }
  }
  const mayBeRuled = mayCloseBelow(folder);
  if (!isUnnamed) return { ...keptOf(lists), isRuled, mayBeRuled };
  // What has a name that cannot be passed on cannot be hidden by itself. Its folder can.
  if (workspace.roots.includes(folder)) throw unnamed(folder);
  return { ...NO_LISTS, hidden: [{ path: folder, kind: "folder" }], isRuled, mayBeRuled };
}

const NO_LISTS = { hidden: NOTHING, read_only: NOTHING, ruled: NOTHING, pinned: NOTHING, folders: NOTHING } as const;

function keptOf({
  hidden,
  read_only,
  ...more
}: Lists): Omit<SeenFolder, "stats" | "isSettled" | "isRuled" | "mayBeRuled"> {
  const [ruled, pinned, folders] = [kept(more.ruled), kept(more.pinned), kept(more.folders)];
  return { hidden: kept(hidden), read_only: kept(read_only), ruled, pinned, folders };
}

/** Most folders of a large tree have nothing: they share one list. */
function kept<T>(list: readonly T[]): readonly T[] {
  return list.length === 0 ? NOTHING : list;
}

/** Whether some program runs it later. Of a folder that is so by its own name only (`.git`), just parts are. */
function isFixed(path: string, entry: Dirent, workspace: Places): boolean {
  const { roots } = workspace;
  if (entry.isDirectory() && FIXED_FOLDERS.has(foldPath(entry.name)) && !roots.includes(path)) return true;
  const isSuspicious = mayRunLater(entry.name) || isNamed(path, workspace);
  const place = isSuspicious ? findLaterPlace(path, workspace) : undefined;
  if (place === undefined || place.rewritten) return false;
  return !entry.isDirectory() || findLaterPlace(`${path}/-`, workspace) !== undefined;
}

const LATER_FOLDERS: ReadonlySet<string> = new Set(
  RUN_LATER.flatMap(({ paths }: PlaceRow) => paths)
    .filter((path) => /^\.[^/]+\//.test(path))
    .map((path) => foldPath(path.replace(/\/.*/, ""))),
);

/** Whether the name of a folder begins a place in the table: `.vscode` of `.vscode/tasks.json`. */
function leadsToLater(path: string, workspace: Places): boolean {
  if (holdsNamed(path, workspace)) return true;
  const name = foldPath(path.slice(path.lastIndexOf("/") + 1));
  return LATER_FOLDERS.has(name) && !workspace.roots.includes(path);
}

function isBelowAnother(path: string, places: ReadonlyMap<string, HiddenPlace>): boolean {
  for (let above = dirname(path); above !== "/"; above = dirname(above)) if (places.has(above)) return true;
  return false;
}
