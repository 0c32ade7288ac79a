import { copyFileSync, linkSync, renameSync, unlinkSync } from "node:fs";
import { ToolError } from "../../protocol/errors.ts";
import { ChangedMeanwhile } from "./changed-meanwhile.ts";
import type { OpenFolders } from "./folders.ts";
import type { Staged } from "./stage.ts";
import { asToolError, isSystemError, reasonOf } from "./system-error.ts";

/** A staged file of a change of several: where its old self is, in case that another one fails. */
export interface Committing extends Staged {
  /** Null where there is no old self, or no other file that could fail. */
  readonly backup: string | null;
}

/**
 * Puts everything in place, or nothing. Without a pause from the last look to the last file, so that the time in which
 * somebody else could come between is as short as it can be. Throws `ChangedMeanwhile` where somebody did.
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

/** A new file is linked into place, so that it cannot take the place of one that somebody else has just made. */
function putInPlace({ target, temporary, before }: Staged): void {
  if (temporary === null) unlinkSync(target.at());
  else if (before !== null) renameSync(target.at(temporary), target.at());
  else if (linkOr(renameSync, target.at(temporary), target.at())) dropName(target.at(temporary));
}

/** The file is in place; that it has a second name yet is no reason to say that it is not. */
function dropName(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Swept after this process.
  }
}

const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/** True where it was linked; on a file system without links the second best is done. */
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
    `Cannot change "${failed}", and ${names} could not be put back (${reasonOf(why)}): the next start tries again`,
    { path: failed, changed: stuck },
    why,
  );
}

/** Some files are new and some are old, and it could not be helped. Recovery sees to it when this process is gone. */
export class HalfDone extends ToolError {
  constructor(message: string, details: ToolError["details"], cause: unknown) {
    super("IOError", message, details, cause);
  }
}

/** Files that appear, go, or turn into folders between the look and the change are seen at the next look. */
const MEANWHILE = new Set(["EEXIST", "ENOENT", "EISDIR", "ENOTDIR"]);

function failure(error: unknown, path: string, count: number): unknown {
  if (!isSystemError(error)) return error;
  if (MEANWHILE.has((error as NodeJS.ErrnoException).code ?? "")) return new ChangedMeanwhile(path);
  const told = asToolError(error, path, "change");
  const all = count === 1 ? "it was left as it was" : `none of the ${count} files was changed`;
  return new ToolError(told.code, `${told.message}; ${all}`, told.details, error);
}
