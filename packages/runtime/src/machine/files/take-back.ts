import { closeSync, constants, fchmodSync, fchownSync, fsyncSync, lstatSync, openSync, renameSync } from "node:fs";
import { rmdirSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { decodeKey, folderOf, keyOf, nameOf, systemPath } from "../search/keys.ts";
import type { ChangeLogs } from "./change-log.ts";
import type { KeptContents } from "../watch/kept-contents.ts";
import { FolderToRead } from "../watch/read-entry.ts";
import { giveTo, removeNew } from "./new-files.ts";
import { isSystemError, reasonOf } from "./system-error.ts";
import type { Facts, TreeEntry } from "../watch/tree-entry.ts";

/** Something that a command may not make or change unasked, and did. */
export interface Intruder {
  /** Its real path, one character a byte. */
  readonly key: string;
  /** What was there before. Undefined where nothing was, or a folder. */
  readonly before: TreeEntry | undefined;
  readonly after: TreeEntry;
}

export interface TakenBack {
  readonly intruder: Intruder;
  readonly outcome: "restored" | "removed" | "stays";
  /** Why it stays: a clause. */
  readonly problem?: string;
}

export interface TakeBackOptions {
  readonly contents: KeptContents;
  /** Keys of folders that were not there before: they go where they are empty then. */
  readonly folders_made: readonly string[];
  /** The root that a key lies in. */
  readonly rootOf: (key: string) => string;
}

/**
 * What was not there is removed, innermost folders first; what was is put back in one step. It is done by descriptor, in
 * the very folder that was looked at, and leaves nothing behind when it is cut short: temporary files are on record.
 */
// oxlint-disable-next-line typescript/require-await -- see docs/decisions/0004
export async function takeBack(
  logs: ChangeLogs,
  intruders: readonly Intruder[],
  options: TakeBackOptions,
): Promise<readonly TakenBack[]> {
  const isFolder = ({ after }: Intruder): boolean => after.kind === "directory";
  const added = intruders.filter(({ before }) => before === undefined);
  const removed = added.filter((each) => !isFolder(each)).map((each) => tell(each, "removed", unlinkSync));
  const around = foldersAround(intruders);
  // Longest first, so that a folder comes after all that was in it.
  const made = options.folders_made.filter((key) => around.has(key)).sort((one, other) => other.length - one.length);
  for (const key of made) removeIfEmpty(key);
  const emptied = added.filter(isFolder).map((each) => tell(each, "removed", assertGone));
  const restored = intruders
    .filter(({ before }) => before !== undefined)
    .map((each) => tell(each, "restored", (at, folder) => restore(at, folder, { ...options, intruder: each, logs })));
  return [...removed, ...emptied, ...restored];
}

/** The keys of the intruders, and of all folders above them. */
function foldersAround(intruders: readonly Intruder[]): ReadonlySet<string> {
  const around = new Set<string>();
  for (const { key } of intruders) {
    for (let each = key; each !== "" && !around.has(each); each = folderOf(each)) around.add(each);
  }
  return around;
}

type Path = string | Buffer;

/** Does it in the folder of the intruder, and says how it went. */
function tell(
  intruder: Intruder,
  outcome: "restored" | "removed",
  work: (at: Path, folder: FolderToRead) => void,
): TakenBack {
  const folder = new FolderToRead(folderOf(intruder.key) || "/");
  try {
    const at = folder.at(nameOf(intruder.key));
    if (at === undefined && outcome === "removed") assertGone(systemPath(intruder.key));
    else if (at === undefined) throw new CannotTakeBack("its folder is not there any more");
    else work(at, folder);
    return { intruder, outcome };
  } catch (error) {
    if (error instanceof CannotTakeBack) return { intruder, outcome: "stays", problem: error.message };
    if (!isSystemError(error)) throw error;
    const isGone = outcome === "removed" && (error as NodeJS.ErrnoException).code === "ENOENT";
    return isGone ? { intruder, outcome } : { intruder, outcome: "stays", problem: reasonOf(error) };
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
    // Something else is in it, so it is of use; or it is gone already.
  } finally {
    folder.close();
  }
}

function assertGone(at: Path): void {
  if (lstatSync(at, { throwIfNoEntry: false }) !== undefined)
    throw new CannotTakeBack("something else is in it, or in its place");
}

/** The message is a clause. */
class CannotTakeBack extends Error {}

interface RestoreOptions extends TakeBackOptions {
  readonly intruder: Intruder;
  readonly logs: ChangeLogs;
}

function restore(at: Path, folder: FolderToRead, { intruder, logs, contents, rootOf }: RestoreOptions): void {
  const { key, before } = intruder;
  const content = before?.sha256 === undefined ? undefined : contents.read(before.sha256);
  if (before?.kind === "link" ? before.target === undefined : content === undefined) {
    throw new CannotTakeBack("what was there before was not kept");
  }
  // The record of folders to sweep is text: where that cannot name the folder, the root does as well.
  const folderKey = folderOf(key);
  const isText = keyOf(decodeKey(folderKey)) === folderKey;
  const root = new FolderToRead(keyOf(rootOf(key)));
  const log = logs.enter();
  try {
    const name = log.temporaryName(isText ? decodeKey(folderKey) : rootOf(key), "tmp");
    const temporary = isText ? folder.at(name) : root.at(name);
    if (temporary === undefined) throw new CannotTakeBack("its folder is not there any more");
    try {
      if (before?.kind === "link") symlinkSync(systemPath(before.target ?? ""), temporary);
      else if (before !== undefined && content !== undefined) writeNew(temporary, content, before);
      renameSync(temporary, at);
    } catch (error) {
      removeNew(temporary);
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
    giveTo(() => fchownSync(fd, owner, group));
    fchmodSync(fd, mode);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
