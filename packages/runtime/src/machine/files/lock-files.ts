import { hash } from "node:crypto";
import { linkSync, renameSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { lifeOf, ownProcess } from "./process-owner.ts";
import { readOwnFile } from "../../own-files/read-own-file.ts";

/** A lock of a process that cannot be seen is given up when that process has not locked anything for this time. */
const UNSEEN_MS = 60_000;

/** Who has a lock. */
export interface Holder {
  readonly owner: string;
  readonly gone: boolean;
}

/**
 * Takes a lock: undefined when it is ours, else who has it. A lock is a further name of a file that says who its owner
 * is: made in one system call, never half written, cheaper than any new file. It is of no use after a restart, so
 * nothing of it needs to reach the disk.
 */
export function tryLock(path: string): Holder | undefined {
  for (;;) {
    const refusal = linkOwner(path);
    if (refusal === undefined) return undefined;
    if (refusal === "ENOENT") makeOwner(dirname(path));
    const owner = ownerOf(path);
    if (owner !== undefined) return { owner, gone: isGone(owner, path) };
  }
}

function linkOwner(path: string): "EEXIST" | "ENOENT" | undefined {
  try {
    linkSync(ownerFile(dirname(path)), path);
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" || code === "ENOENT") return code;
    throw error;
  }
}

function ownerFile(folder: string): string {
  return join(folder, `owner-${ownProcess()}`);
}

/** Written aside and renamed, so that nobody ever reads half of it. */
function makeOwner(folder: string): void {
  const path = ownerFile(folder);
  writeFileSync(`${path}.new`, ownProcess(), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

export function unlock(path: string): void {
  unlinkSync(path);
}

/** For a process that will lock no more. If it does, the file is made again. */
export function leaveLocks(folder: string): void {
  try {
    unlinkSync(ownerFile(folder));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

/** Like `tryLock`, and a lock whose owner is gone is taken away first. For locks that guard nothing half done. */
export function tryLockAnew(path: string): boolean {
  const holder = tryLock(path);
  if (holder === undefined) return true;
  if (!holder.gone) return false;
  takeAway(path, holder.owner);
  return tryLock(path) === undefined;
}

/**
 * Takes away a lock whose owner is gone. Two who saw the same dead owner must not take away each other's new lock, so
 * only who holds the right to clear up after this very owner removes anything, and only if the lock is still that
 * owner's. That right is a lock like any other: if its holder dies too, it is cleared up in the same way.
 */
export function takeAway(path: string, gone: string): void {
  const right = join(dirname(path), `right-${hash("sha256", `${path} ${gone}`, "hex").slice(0, 32)}`);
  if (!tryLockAnew(right)) return;
  try {
    if (ownerOf(path) === gone) unlinkSync(path);
  } finally {
    unlock(right);
  }
}

const OWNER_FILE = /^owner-(?<owner>[^/]+?)(?:\.new)?$/;

/** Undefined where the lock was released meanwhile. */
export function ownerOf(path: string): string | undefined {
  const named = OWNER_FILE.exec(basename(path))?.groups?.["owner"];
  if (named !== undefined) return named;
  try {
    return readOwnFile(path).toString("latin1");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function isGone(owner: string, path: string): boolean {
  const life = lifeOf(owner);
  if (life !== "unseen") return life === "gone";
  // Names given to a file and taken from it change its status.
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && Date.now() - stats.ctimeMs > UNSEEN_MS;
}
