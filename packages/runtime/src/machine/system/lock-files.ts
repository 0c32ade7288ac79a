import { hash } from "node:crypto";
import { linkSync, renameSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { lifeOf, ownProcess } from "./process-owner.ts";
import { readOwnFile } from "../../own-files/read-own-file.ts";

/** A lock of a process that cannot be seen expires once that process has not locked anything for this time. */
const UNSEEN_MS = 60_000;

/** The process that holds a lock. */
export interface Holder {
  readonly owner: string;
  readonly gone: boolean;
}

/**
 * Takes a lock: undefined on success, else the current holder. A lock is a hard link to a file that identifies its
 * owner: created by one system call, never half written, cheaper than a new file. Locks do not survive a reboot, so
 * they need no fsync.
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

/** Written to a temporary name and renamed, so that readers never see a partial file. */
function makeOwner(folder: string): void {
  const path = ownerFile(folder);
  writeFileSync(`${path}.new`, ownProcess(), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

export function unlock(path: string): void {
  unlinkSync(path);
}

/** Removes the owner file of a process that takes no more locks. A later lock creates it again. */
export function leaveLocks(folder: string): void {
  try {
    unlinkSync(ownerFile(folder));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

/** Like `tryLock`, but removes a lock of a dead owner first. For locks that never guard unfinished work. */
export function tryLockOnce(path: string): boolean {
  const holder = tryLock(path);
  if (holder === undefined) return true;
  if (!holder.gone) return false;
  removeLock(path, holder.owner);
  return tryLock(path) === undefined;
}

/**
 * Removes the lock of a dead owner. Two processes that saw the same dead owner must not remove each other's new lock,
 * so a process first takes a cleanup lock for this owner, and then removes the lock only if it still belongs to that
 * owner. The cleanup lock is a normal lock: if its holder dies too, it is removed in the same way.
 */
export function removeLock(path: string, gone: string): void {
  const right = join(dirname(path), `right-${hash("sha256", `${path} ${gone}`, "hex").slice(0, 32)}`);
  if (!tryLockOnce(right)) return;
  try {
    if (ownerOf(path) === gone) unlinkSync(path);
  } finally {
    unlock(right);
  }
}

const OWNER_FILE = /^owner-(?<owner>[^/]+?)(?:\.new)?$/;

/** Undefined if the lock was released meanwhile. */
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
  // Adding and removing hard links updates the ctime.
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && Date.now() - stats.ctimeMs > UNSEEN_MS;
}
