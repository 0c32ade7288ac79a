import type { Dirent } from "node:fs";
import type { PlaceJudge } from "../../contract/processes.ts";
import {
  findLaterPlace,
  isHiddenName,
  isInPackages,
  isPublishedKey,
  mayRunLater,
} from "../../policy/paths/check-path.ts";
import { FIXED_FOLDERS, looksLikeRepository, REPOSITORY_SETTINGS } from "../../policy/paths/dangers.ts";
import type { Places } from "../../policy/facts.ts";
import { foldPath } from "../../policy/paths/fold-name.ts";
import type { PlaceRow } from "../../policy/paths/places.ts";
import { RUN_LATER } from "../../policy/paths/run-later.ts";
import type { HiddenPlace } from "./bwrap.ts";
import { lstat } from "./find-outside.ts";
import { holdsNamed, isNamed } from "./named-places.ts";
import { unnamed } from "./place-limits.ts";

/** Paths that a sandbox has to protect in one folder. */
export interface JudgedFolder {
  readonly hidden: readonly HiddenPlace[];
  readonly read_only: readonly string[];
  readonly ruled: readonly string[];
  readonly pinned: readonly string[];
  /** Folders to search next: also read-only ones, which may contain paths that have to be hidden. */
  readonly folders: readonly string[];
  /** An entry is closed by a rule or because of the names of parent folders: at another place it would not be. */
  readonly isTied: boolean;
  /** A rule may close an entry in it that does not exist yet. */
  readonly mayBeRuled: boolean;
}

/** Folders of the system, for the case that `/` is a root. Private in the sandbox, or read-only anyway. */
// oxfmt-ignore
const MACHINE: ReadonlySet<string> = new Set([
  "/proc", "/sys", "/dev", "/run", "/tmp", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/boot", "/nix", "/gnu", "/snap",
]);

/** Published packages. Searched only for paths that rules close and for packages that this program loads. */
const PACKAGES = "node_modules";
/** Git's storage in the folder of a repository. */
const STORES: ReadonlySet<string> = new Set(["objects", "refs", "logs", "lfs"]);

export type FolderJudge = Pick<PlaceJudge, "judge" | "mayCloseBelow">;

const NOTHING: readonly never[] = [];

/** Findings in one folder. */
interface FolderFindings {
  readonly hidden: HiddenPlace[];
  readonly read_only: string[];
  readonly ruled: string[];
  readonly pinned: string[];
  readonly folders: string[];
}

export function judgeEntries(
  folder: string,
  entries: readonly Dirent[],
  workspace: Places,
  { judge, mayCloseBelow }: FolderJudge,
): JudgedFolder {
  const lists: FolderFindings = { hidden: [], read_only: [], ruled: [], pinned: [], folders: [] };
  let isUnnamed = false;
  let isTied = false;
  const isRepository = looksLikeRepository(new Set(entries.map(({ name }) => name)));
  const start = folder === "/" ? "/" : `${folder}/`;
  const isPackages = isInPackages(start, workspace);
  for (const entry of entries) {
    const { name } = entry;
    // A link has no content: its target is judged at its own path.
    if (entry.isSymbolicLink()) continue;
    const path = start + name;
    const isFolder = entry.isDirectory();
    if (name.includes("\uFFFD") && lstat(path) === undefined) {
      isUnnamed ||= isHiddenName(folder, name, workspace) || entry.isSocket() || isFolder;
      continue;
    }
    const closed = judge(path, isFolder);
    isTied ||= closed !== undefined;
    const isLater = (): boolean =>
      isPackages
        ? isNamed(path, workspace)
        : isFixed(path, entry, workspace) || (isRepository && REPOSITORY_SETTINGS.has(name));
    const isPublished = (): boolean => !isFolder && isPublishedKey(path, workspace);
    // A read-only mount does not prevent writing to a pipe or a device, so these are hidden.
    const cannotMount = !isFolder && !entry.isFile() && (entry.isSocket() || closed !== undefined || isLater());
    const isSensitive = isHiddenName(folder, name, workspace) && !isPublished();
    if (closed === "hide" || cannotMount || isSensitive) {
      lists.hidden.push({ path, kind: isFolder ? "folder" : "file" });
      isTied ||= isSensitive && !isHiddenName(ANYWHERE, name, workspace);
      continue;
    }
    const isOpen = closed === undefined && !isLater();
    if (!isOpen) (closed === undefined ? lists.read_only : lists.ruled).push(path);
    if (
      isFolder &&
      ((!isPackages && name !== PACKAGES) || mayCloseBelow(path) || (isOpen && holdsNamed(path, workspace))) &&
      !(isRepository && STORES.has(name)) &&
      !MACHINE.has(path)
    ) {
      lists.folders.push(path);
      const leads = isOpen && (isPackages ? holdsNamed(path, workspace) : leadsToLater(path, workspace));
      if (leads) lists.pinned.push(path);
    }
  }
  const mayBeRuled = mayCloseBelow(folder);
  if (!isUnnamed) return { ...withSharedLists(lists), isTied, mayBeRuled };
  // An entry whose name cannot be passed as an argument cannot be hidden by itself. Its folder can.
  if (workspace.roots.includes(folder)) throw unnamed(folder);
  return { ...NO_LISTS, hidden: [{ path: folder, kind: "folder" }], isTied, mayBeRuled };
}

/** A folder without a meaning of its own. */
const ANYWHERE = "/-";

const NO_LISTS = { hidden: NOTHING, read_only: NOTHING, ruled: NOTHING, pinned: NOTHING, folders: NOTHING } as const;

function withSharedLists({ hidden, read_only, ...more }: FolderFindings): Omit<JudgedFolder, "isTied" | "mayBeRuled"> {
  const [ruled, pinned, folders] = [orShared(more.ruled), orShared(more.pinned), orShared(more.folders)];
  return { hidden: orShared(hidden), read_only: orShared(read_only), ruled, pinned, folders };
}

/** Most folders of a large tree have no findings: they share one empty list. */
function orShared<T>(list: readonly T[]): readonly T[] {
  return list.length === 0 ? NOTHING : list;
}

/** Whether a program runs it later. Where only the folder's own name says so (`.git`), this holds just for parts of it. */
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

/** Whether the folder name is the beginning of a path in the table: `.vscode` of `.vscode/tasks.json`. */
function leadsToLater(path: string, workspace: Places): boolean {
  if (holdsNamed(path, workspace)) return true;
  const name = foldPath(path.slice(path.lastIndexOf("/") + 1));
  return LATER_FOLDERS.has(name) && !workspace.roots.includes(path);
}
