import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { readOwnText } from "@autonous/runtime/internal";
import { createFile } from "./sqlite-file.ts";

const BUSY = 5;
/** A process that only checks whether the folder is locked holds the lock for less than this. */
const POLL_MS = 250;

/**
 * Locks the state folder for one service: two would write the same files. Returns the function that unlocks; undefined
 * if another process has the lock. It is a kernel lock, taken by an exclusive transaction on an empty database: it ends
 * with the process, however that ends, and also works between containers that share the folder, where a process id
 * means nothing.
 */
export function lockStateFolder(state_dir: string): (() => void) | undefined {
  const unlock = tryHoldFile(lockFile(state_dir));
  if (unlock !== undefined) writeFileSync(holderFile(state_dir), `${process.pid}\n`, { mode: 0o600 });
  return unlock;
}

/** The same for any file; creates it if missing. */
export function tryHoldFile(path: string): (() => void) | undefined {
  createFile(path);
  const lock = new DatabaseSync(path, { timeout: POLL_MS });
  try {
    lock.exec("begin exclusive");
  } catch (error) {
    lock.close();
    if ((error as { readonly errcode?: number }).errcode === BUSY) return undefined;
    throw error;
  }
  return () => lock.close();
}

/** Whether a service runs on the state folder, including one in this process. */
export function isStateFolderLocked(state_dir: string): boolean {
  const path = lockFile(state_dir);
  if (!existsSync(path)) return false;
  const lock = new DatabaseSync(path, { timeout: 0 });
  try {
    lock.exec("begin exclusive");
    return false;
  } catch (error) {
    if ((error as { readonly errcode?: number }).errcode === BUSY) return true;
    throw error;
  } finally {
    lock.close();
  }
}

function lockFile(state_dir: string): string {
  return join(state_dir, "serve.lock");
}

/** Long enough for a few processes that each write a file. */
const WAIT_MS = 10_000;

/** Does the work while holding the same kind of lock on this file. */
export function holdingFile<T>(path: string, work: () => T): T {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  createFile(path);
  const lock = new DatabaseSync(path, { timeout: WAIT_MS });
  try {
    lock.exec("begin exclusive");
    return work();
  } finally {
    lock.close();
  }
}

/** The process that last took the lock, for messages. */
export function lockHolder(state_dir: string): string {
  const path = holderFile(state_dir);
  return existsSync(path) ? `the process ${readOwnText(path).trim()}` : "another process";
}

function holderFile(state_dir: string): string {
  return join(state_dir, "serve.pid");
}
