import { closeSync, constants, fchmodSync, fchownSync, fsyncSync, lstatSync, openSync, renameSync } from "node:fs";
import { rmdirSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { decodeKey, folderOf, keyOf, nameOf, systemPath } from "../system/keys.ts";
import type { ChangeLogs } from "./change-log.ts";
import type { ContentStore } from "../tree/content-store.ts";
import { FolderToRead } from "../tree/read-entry.ts";
import { chownIfPermitted, removeIfExists } from "../system/handle.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import { isSystemError } from "../system/system-error.ts";
import type { Facts, TreeEntry } from "../tree/tree-snapshot.ts";

/** A path that a command created or changed although that needs approval. */
export interface UnapprovedChange {
  /** Its real path, one character per byte. */
  readonly key: string;
  /** The previous entry. Undefined if nothing existed, or it was a folder. */
  readonly before: TreeEntry | undefined;
  readonly after: TreeEntry;
}

export interface RevertedChange {
  readonly entry: UnapprovedChange;
  readonly outcome: "restored" | "removed" | "stays";
  /** Why it could not be reverted: a clause. */
  readonly problem?: string;
}

export interface RevertOptions {
  readonly contents: ContentStore;
  /** Keys of folders that did not exist before: removed afterwards if empty. */
  readonly folders_made: readonly string[];
  /** The root that contains a key. */
  readonly rootOf: (key: string) => string;
}

/**
 * Removes entries that did not exist before, innermost folders first, and restores the others atomically. Works by
 * descriptor in the folder that was examined. An interruption leaves nothing behind: temporary files are recorded.
 */
// oxlint-disable-next-line typescript/require-await -- see docs/decisions/0004
export async function revertUnapproved(
  logs: ChangeLogs,
  unapproved: readonly UnapprovedChange[],
  options: RevertOptions,
): Promise<readonly RevertedChange[]> {
  const isFolder = ({ after }: UnapprovedChange): boolean => after.kind === "directory";
  const added = unapproved.filter(({ before }) => before === undefined);
  const removed = added.filter((each) => !isFolder(each)).map((each) => tryToRevert(each, "removed", unlinkSync));
  const around = foldersAround(unapproved);
  // Longest first, so that a folder comes after its contents.
  const made = options.folders_made.filter((key) => around.has(key)).sort((one, other) => other.length - one.length);
  for (const key of made) removeIfEmpty(key);
  const emptied = added.filter(isFolder).map((each) => tryToRevert(each, "removed", assertGone));
  const restored = unapproved
    .filter(({ before }) => before !== undefined)
    .map((each) =>
      tryToRevert(each, "restored", (at, folder) => restore(at, folder, { ...options, entry: each, logs })),
    );
  return [...removed, ...emptied, ...restored];
}

/** The keys of the unapproved changes and of all their parent folders. */
function foldersAround(unapproved: readonly UnapprovedChange[]): ReadonlySet<string> {
  const around = new Set<string>();
  for (const { key } of unapproved) {
    for (let each = key; each !== "" && !around.has(each); each = folderOf(each)) around.add(each);
  }
  return around;
}

type Path = string | Buffer;

/** Runs the work in the entry's folder and returns the outcome. */
function tryToRevert(
  entry: UnapprovedChange,
  outcome: "restored" | "removed",
  work: (at: Path, folder: FolderToRead) => void,
): RevertedChange {
  const folder = new FolderToRead(folderOf(entry.key) || "/");
  try {
    const at = folder.at(nameOf(entry.key));
    if (at === undefined && outcome === "removed") assertGone(systemPath(entry.key));
    else if (at === undefined) throw new RevertError("its folder no longer exists");
    else work(at, folder);
    return { entry, outcome };
  } catch (error) {
    if (error instanceof RevertError) return { entry, outcome: "stays", problem: error.message };
    if (!isSystemError(error)) throw error;
    const isGone = outcome === "removed" && (error as NodeJS.ErrnoException).code === "ENOENT";
    return isGone ? { entry, outcome } : { entry, outcome: "stays", problem: reasonOf(error) };
  } finally {
    folder.close();
  }
}

function removeIfEmpty(key: string): void {
  const folder = new FolderToRead(folderOf(key) || "/");
  try {
    const at = folder.at(nameOf(key));
    if (at !== undefined) rmdirSync(at);
  } catch {
    // Not empty, or already removed.
  } finally {
    folder.close();
  }
}

function assertGone(at: Path): void {
  if (lstatSync(at, { throwIfNoEntry: false }) !== undefined) throw new RevertError("it is not empty, or was replaced");
}

/** The error message is a clause for another message. */
class RevertError extends Error {}

interface RestoreOptions extends RevertOptions {
  readonly entry: UnapprovedChange;
  readonly logs: ChangeLogs;
}

function restore(at: Path, folder: FolderToRead, { entry, logs, contents, rootOf }: RestoreOptions): void {
  const { key, before } = entry;
  const content = before?.sha256 === undefined ? undefined : contents.read(before.sha256);
  if (before?.kind === "link" ? before.target === undefined : content === undefined) {
    throw new RevertError("its earlier content was not stored");
  }
  // Folders to sweep are recorded as text. If the folder's name is not valid UTF-8, use the root instead.
  const folderKey = folderOf(key);
  const isText = keyOf(decodeKey(folderKey)) === folderKey;
  const root = new FolderToRead(keyOf(rootOf(key)));
  const log = logs.enter();
  try {
    const name = log.temporaryName(isText ? decodeKey(folderKey) : rootOf(key), "tmp");
    const temporary = isText ? folder.at(name) : root.at(name);
    if (temporary === undefined) throw new RevertError("its folder no longer exists");
    try {
      if (before?.kind === "link") symlinkSync(systemPath(before.target ?? ""), temporary);
      else if (before !== undefined && content !== undefined) writeNew(temporary, content, before);
      renameSync(temporary, at);
    } catch (error) {
      removeIfExists(temporary);
      throw error;
    }
  } finally {
    log.leave();
    root.close();
  }
}

function writeNew(path: Path, content: Buffer, { mode, owner, group }: Facts): void {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const fd = openSync(path, flags, 0o600);
  try {
    writeFileSync(fd, content);
    chownIfPermitted(() => fchownSync(fd, owner, group));
    fchmodSync(fd, mode);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
