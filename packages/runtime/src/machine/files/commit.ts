import { copyFileSync, linkSync, renameSync, unlinkSync } from "node:fs";
import { ToolError } from "../../protocol/errors.ts";
import { ChangedMeanwhile } from "../system/changed-meanwhile.ts";
import type { OpenFolders } from "../system/folders.ts";
import type { Staged } from "./stage.ts";
import { asToolError, isSystemError, reasonOf } from "../system/system-error.ts";

/** A staged file with the backup to restore if another file of the same change fails. */
export interface Committing extends Staged {
  /** Null for a new file, or if the change has no other file that could fail. */
  readonly backup: string | null;
}

/**
 * Puts all files in place, or none. Synchronous from the last check to the last file, to keep the window for changes by
 * other processes as short as possible. Throws `ChangedMeanwhile` if another process did change a file.
 */
export function commit(files: readonly Committing[], folders: OpenFolders): void {
  const [first] = files;
  if (first === undefined) return;
  if (!folders.areInPlace(new Set(files.map(({ target }) => target.folder))))
    throw new ChangedMeanwhile(first.target.path);
  for (const { target } of files) if (!target.isUnchanged()) throw new ChangedMeanwhile(target.path);
  const done: Committing[] = [];
  let { path } = first.target;
  try {
    for (const { target, backup } of files) {
      ({ path } = target);
      if (backup !== null) linkOr(copyFileSync, target.at(), target.at(backup));
    }
    for (const file of files) {
      ({ path } = file.target);
      putInPlace(file);
      done.push(file);
    }
  } catch (error) {
    putBack(done, path);
    throw failure(error, path, files.length);
  }
}

/** A new file is linked into place, because a link never replaces a file that another process has just created. */
function putInPlace({ target, temporary, before }: Staged): void {
  if (temporary === null) unlinkSync(target.at());
  else if (before !== null) renameSync(target.at(temporary), target.at());
  else if (linkOr(renameSync, target.at(temporary), target.at())) dropName(target.at(temporary));
}

/** Removes the temporary name. A failure is ignored: the file is already in place. */
function dropName(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Swept after this process ends.
  }
}

const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/** True if it was linked; on a file system without hard links, runs the fallback. */
function linkOr(secondBest: (from: string, to: string) => void, from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (!NO_LINKS.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    secondBest(from, to);
    return false;
  }
}

function putBack(done: readonly Committing[], failed: string): void {
  const stuck: string[] = [];
  let why: unknown;
  for (const { target, backup } of done.toReversed()) {
    try {
      if (backup === null) unlinkSync(target.at());
      else renameSync(target.at(backup), target.at());
    } catch (error) {
      stuck.push(target.path);
      why = error;
    }
  }
  if (stuck.length === 0) return;
  const names = stuck.map((path) => `"${path}"`).join(", ");
  throw new HalfDone(
    `Cannot change "${failed}", and ${names} could not be restored (${reasonOf(why)}): the next start retries`,
    { path: failed, changed: stuck },
    why,
  );
}

/** Some files are new, some are old, and the rollback failed. Recovery handles it after this process ends. */
export class HalfDone extends ToolError {
  constructor(message: string, details: ToolError["details"], cause: unknown) {
    super("IOError", message, details, cause);
  }
}

/** Files that appear, disappear or become folders between check and change: the retry sees their new state. */
const MEANWHILE = new Set(["EEXIST", "ENOENT", "EISDIR", "ENOTDIR"]);

function failure(error: unknown, path: string, count: number): unknown {
  if (!isSystemError(error)) return error;
  if (MEANWHILE.has((error as NodeJS.ErrnoException).code ?? "")) return new ChangedMeanwhile(path);
  const told = asToolError(error, path, "change");
  const all = count === 1 ? "it was not changed" : `none of the ${count} files was changed`;
  return new ToolError(told.code, `${told.message}; ${all}`, { ...told.details, hint: told.hint }, error);
}
