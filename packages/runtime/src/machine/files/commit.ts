import { copyFileSync, linkSync, renameSync, unlinkSync } from "node:fs";
import { ToolError } from "../../protocol/errors.ts";
import { ConcurrentChangeError } from "../system/concurrent-change.ts";
import type { OpenFolders } from "../system/folders.ts";
import type { Staged } from "./stage.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import { asToolError, isSystemError } from "../system/system-error.ts";

/** A staged file with the backup to restore if another file of the same change fails. */
export interface CommitFile extends Staged {
  /** Null for a new file, or if the change has no other file that could fail. */
  readonly backup: string | null;
}

/**
 * Puts all files in place, or none. Synchronous from the last check to the last file, to keep the window for changes by
 * other processes as short as possible. Throws `ConcurrentChangeError` if another process did change a file.
 */
export function commitFiles(files: readonly CommitFile[], folders: OpenFolders): void {
  const [first] = files;
  if (first === undefined) return;
  if (!folders.areInPlace(new Set(files.map(({ target }) => target.folder))))
    throw new ConcurrentChangeError(first.target.path);
  for (const { target } of files) if (!target.isUnchanged()) throw new ConcurrentChangeError(target.path);
  const done: CommitFile[] = [];
  let { path } = first.target;
  try {
    for (const { target, backup } of files) {
      ({ path } = target);
      if (backup !== null) linkOr(copyFileSync, target.at(), target.at(backup));
    }
    for (const file of files) {
      ({ path } = file.target);
      placeFile(file);
      done.push(file);
    }
  } catch (error) {
    rollBack(done, path);
    throw commitError(error, path, files.length);
  }
}

/** A new file is linked into place, because a link never replaces a file that another process has just created. */
function placeFile({ target, temporary, before }: Staged): void {
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
function linkOr(fallback: (from: string, to: string) => void, from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (!NO_LINKS.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    fallback(from, to);
    return false;
  }
}

function rollBack(done: readonly CommitFile[], failed: string): void {
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
  throw new PartialChangeError(
    `Cannot change "${failed}", and ${names} could not be restored (${reasonOf(why)}): the next start retries`,
    { path: failed, changed: stuck },
    why,
  );
}

/** Some files are new, some are old, and the rollback failed. Recovery handles it after this process ends. */
export class PartialChangeError extends ToolError {
  constructor(message: string, details: ToolError["details"], cause: unknown) {
    super("IOError", message, details, cause);
  }
}

/** Files that appear, disappear or become folders between check and change: the retry sees their new state. */
const CONCURRENT_CODES = new Set(["EEXIST", "ENOENT", "EISDIR", "ENOTDIR"]);

function commitError(error: unknown, path: string, count: number): unknown {
  if (!isSystemError(error)) return error;
  if (CONCURRENT_CODES.has((error as NodeJS.ErrnoException).code ?? "")) return new ConcurrentChangeError(path);
  const converted = asToolError(error, path, "change");
  const all = count === 1 ? "it was not changed" : `none of the ${count} files was changed`;
  return new ToolError(
    converted.code,
    `${converted.message}; ${all}`,
    { ...converted.details, hint: converted.hint },
    error,
  );
}
