import { existsSync, lstatSync, opendirSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import type { BigIntStats, Dirent } from "node:fs";
import { dirname, join } from "node:path";
import { findLaterPlace, isHiddenName } from "../../policy/check-path.ts";
import { looksLikeRepository, REPOSITORY_SETTINGS, RUN_LATER, SENSITIVE_PLACES } from "../../policy/dangers.ts";
import type { Places } from "../../policy/facts.ts";
import { foldPath } from "../../policy/fold-name.ts";
import type { PlaceRow } from "../../policy/places.ts";
import type { HiddenPlace } from "./bwrap.ts";

/** What of the tables of dangers is really there. */
export interface FoundPlaces {
  readonly hidden: readonly HiddenPlace[];
  readonly read_only: readonly string[];
  readonly pinned: readonly string[];
  /** Folders of the roots that were not looked into, and places beyond the number that a sandbox can take. */
  readonly left_out: number;
}

/** Each folder is looked at before each command: 2 µs, as long as it did not change. */
const MOST_FOLDERS = 400;
const MOST_ENTRIES = 5_000;
/** Names read for one command, some 50 ms. What is left is read for the next ones: what was seen is remembered. */
const MOST_NAMES = 20_000;
/** Each costs a mount for each command. */
const MOST_PLACES = 128;

/** Large, and what lies in there is not looked for: other people's code, and what git keeps by content. */
const NOT_ENTERED: ReadonlySet<string> = new Set(["node_modules", "objects", "refs", "logs", "lfs"]);

interface SeenFolder {
  readonly identity: string;
  readonly hidden: readonly HiddenPlace[];
  readonly read_only: readonly string[];
  readonly pinned: readonly string[];
  readonly folders: readonly string[];
  readonly left_out: number;
}

/** Finds what a sandbox has to close. Remembers the folders of the roots for as long as they do not change. */
export class PlaceFinder {
  readonly #workspace: Places;
  readonly #homes: readonly string[];
  readonly #named: readonly string[];
  readonly #seenOutside = new Map<string, SeenFolder>();
  #seen = new Map<string, SeenFolder>();
  #namesLeft = 0;

  constructor(workspace: Places) {
    this.#workspace = workspace;
    this.#homes = homesOf(workspace);
    this.#named = namedOutside(this.#homes);
  }

  find(): FoundPlaces {
    this.#namesLeft = MOST_NAMES;
    const { roots, state_dirs } = this.#workspace;
    const named = [...this.#named, ...listeningSockets(), ...state_dirs].flatMap((path) => existing(path, roots));
    const matching = [...this.#homes, ...TOP_FOLDERS].flatMap((folder) => this.#hiddenIn(folder));
    const inside = this.#findInside();
    const hidden = new Map([...named, ...matching, ...inside.hidden].map((place) => [place.path, place]));
    return { ...inside, hidden: [...hidden.values()].filter(({ path }) => !isBelowAnother(path, hidden)) };
  }

  #hiddenIn(folder: string): readonly HiddenPlace[] {
    const found = this.#look(folder, this.#seenOutside);
    if (found === undefined) return [];
    this.#seenOutside.set(folder, found);
    return found.hidden;
  }

  #findInside(): FoundPlaces {
    const folders = [...this.#workspace.roots];
    const seen = new Map<string, SeenFolder>();
    let places = 0;
    let left_out = 0;
    for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
      if (seen.has(folder)) continue;
      const found = seen.size < MOST_FOLDERS && places < MOST_PLACES ? this.#look(folder, this.#seen) : undefined;
      left_out += found?.left_out ?? 1;
      if (found === undefined) continue;
      places += found.hidden.length + found.read_only.length + found.pinned.length;
      seen.set(folder, found);
      folders.push(...found.folders);
    }
    this.#seen = seen;
    const all = [...seen.values()];
    return {
      hidden: all.flatMap(({ hidden }) => hidden),
      read_only: all.flatMap(({ read_only }) => read_only),
      pinned: all.flatMap(({ pinned }) => pinned),
      left_out,
    };
  }

  #look(folder: string, remembered: ReadonlyMap<string, SeenFolder>): SeenFolder | undefined {
    const stats = lstat(folder);
    if (stats === undefined) return undefined;
    const identity = `${stats.ino}:${stats.mtimeNs}:${stats.ctimeNs}`;
    const known = remembered.get(folder);
    if (known?.identity === identity) return known;
    const entries = this.#namesLeft > 0 ? entriesOf(folder) : undefined;
    this.#namesLeft -= entries?.length ?? 0;
    return entries && { identity, ...judgeEntries(folder, entries, this.#workspace) };
  }
}

function judgeEntries(folder: string, entries: readonly Dirent[], workspace: Places): Omit<SeenFolder, "identity"> {
  const hidden: HiddenPlace[] = [];
  const read_only: string[] = [];
  const pinned: string[] = [];
  const folders: string[] = [];
  let left_out = entries.length > MOST_ENTRIES ? 1 : 0;
  const isRepository = looksLikeRepository(new Set(entries.map(({ name }) => name)));
  for (const entry of entries) {
    const path = join(folder, entry.name);
    // A link holds no secret: what it leads to is judged where it is.
    if (entry.isSymbolicLink() || path.includes("\uFFFD")) continue;
    if (isHiddenName(folder, entry.name, workspace)) {
      hidden.push({ path, kind: entry.isDirectory() ? "folder" : "file" });
    } else if (isFixed(path, entry, workspace) || (isRepository && REPOSITORY_SETTINGS.has(entry.name))) {
      if (read_only.length < MOST_PLACES) read_only.push(path);
      else left_out++;
    } else if (entry.isDirectory() && !NOT_ENTERED.has(entry.name)) {
      folders.push(path);
      if (leadsToLater(path, workspace)) pinned.push(path);
    }
  }
  const extra = Math.max(0, hidden.length - MOST_PLACES);
  return { hidden: hidden.slice(0, MOST_PLACES), read_only, pinned, folders, left_out: left_out + extra };
}

/** Whether some program runs it later. Of a folder that is so by its own name only (`.git`), just parts are. */
function isFixed(path: string, entry: Dirent, { roots }: Places): boolean {
  const place = findLaterPlace(path, roots);
  if (place === undefined || place.rewritten) return false;
  return !entry.isDirectory() || findLaterPlace(`${path}/-`, roots) !== undefined;
}

const LATER_FOLDERS: ReadonlySet<string> = new Set(
  RUN_LATER.flatMap(({ paths }: PlaceRow) => paths)
    .filter((path) => /^\.[^/]+\//.test(path))
    .map((path) => foldPath(path.replace(/\/.*/, ""))),
);

/** Whether the name of a folder begins a place in the table: `.vscode` of `.vscode/tasks.json`. */
function leadsToLater(path: string, { roots }: Places): boolean {
  const name = foldPath(path.slice(path.lastIndexOf("/") + 1));
  return LATER_FOLDERS.has(name) && !roots.includes(path);
}

/**
 * Places in a root that must not come into being unasked, by the tables: those that are not there now. No sandbox can
 * keep them away without leaving empty files in the workspace, so whoever runs a command looks again afterwards.
 */
export function absentPlaces(roots: readonly string[]): readonly string[] {
  const names = [...RUN_LATER, ...SENSITIVE_PLACES]
    .flatMap(({ paths }: PlaceRow) => paths)
    .filter((path) => !path.startsWith("/") && !path.startsWith("~/"))
    .map((path) => path.replaceAll("**/", ""))
    .filter((path) => !path.includes("*"));
  return roots.flatMap((root) =>
    [...new Set(names)].map((name) => join(root, name)).filter((path) => lstat(path) === undefined),
  );
}

/** Sensitive places outside the roots by their full names, whether there is anything or not. */
function namedOutside(homes: readonly string[]): readonly string[] {
  const paths = SENSITIVE_PLACES.flatMap(({ paths }: PlaceRow) => paths).filter((path) => !path.includes("*"));
  return paths.flatMap((path) => {
    if (path.startsWith("/")) return KERNEL.has(path) ? [] : [path];
    return homes.map((home) => join(home, path.replace(/^~\//, "")));
  });
}

/** They are private in the sandbox, or read-only and needed. */
const KERNEL: ReadonlySet<string> = new Set(["/proc", "/sys", "/dev"]);
/** Folders at the top in which some names are sensitive by their beginning. */
const TOP_FOLDERS = ["/etc", "/etc/ssh"] as const;

function homesOf({ home }: Places): readonly string[] {
  const folders = [home, "/root", ...namesIn("/home").map((name) => join("/home", name))];
  return [...new Set(folders.flatMap((folder) => realOf(folder) ?? []))];
}

/** Sockets that some process listens on by name: docker, agents, databases. A read-only mount does not close them. */
function listeningSockets(): readonly string[] {
  try {
    const paths = readFileSync("/proc/net/unix", "utf8").matchAll(/ (\/.+)$/gm);
    return [...new Set([...paths].map(([, path = ""]) => path))].slice(0, MOST_PLACES);
  } catch {
    return []; // the system does not tell
  }
}

/** Where it really is, if it is there at all. A link that leads to a whole part of the machine hides nothing of it. */
function existing(path: string, roots: readonly string[]): readonly HiddenPlace[] {
  if (!existsSync(path)) return [];
  const real = realOf(path);
  if (real === undefined || roots.includes(real) || (real !== path && dirname(real) === "/")) return [];
  return [{ path: real, kind: lstat(real)?.isDirectory() === true ? "folder" : "file" }];
}

function isBelowAnother(path: string, places: ReadonlyMap<string, HiddenPlace>): boolean {
  for (let above = dirname(path); above !== "/"; above = dirname(above)) if (places.has(above)) return true;
  return false;
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined; // gone meanwhile
  }
}

function lstat(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined; // out of our own reach, and so out of the command's
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // not there, or out of our own reach, and so out of the command's
  }
}

/** One more than are looked at tells that there are more. */
function entriesOf(path: string): readonly Dirent[] | undefined {
  try {
    const folder = opendirSync(path, { bufferSize: 256 });
    const entries: Dirent[] = [];
    try {
      for (let entry = folder.readSync(); entry !== null && entries.length <= MOST_ENTRIES; entry = folder.readSync())
        entries.push(entry);
    } finally {
      folder.closeSync();
    }
    return entries;
  } catch {
    return undefined; // gone meanwhile, or out of our own reach, and so out of the command's
  }
}
