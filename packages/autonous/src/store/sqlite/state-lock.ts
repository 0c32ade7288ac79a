import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { readOwnText } from "@autonous/runtime";
import { createFile } from "./sqlite-file.ts";

const BUSY = 5;
/** Whoever only looks whether the folder is held has it for less. */
const LOOKED_AT_MS = 250;

/**
 * Holds the state folder for one service: two would write the same files. Gives the function that lets go; undefined
 * when another process holds it. The lock is the kernel's, by way of an empty database that nobody else may open: it
 * ends with the process, however that ends, and it also holds between containers that share the folder, where the
 * number of a process says nothing.
 */
export function lockStateFolder(state_dir: string): (() => void) | undefined {
  const unlock = tryHoldFile(lockFile(state_dir));
  if (unlock !== undefined) writeFileSync(holderFile(state_dir), `${process.pid}\n`, { mode: 0o600 });
  return unlock;
}

/** The same for any file, which is made when it is not there. */
export function tryHoldFile(path: string): (() => void) | undefined {
  createFile(path);
  const lock = new DatabaseSync(path, { timeout: LOOKED_AT_MS });
  try {
    lock.exec("begin exclusive");
  } catch (error) {
    lock.close();
    if ((error as { readonly errcode?: number }).errcode === BUSY) return undefined;
    throw error;
  }
  return () => lock.close();
}

/** Whether a service runs on the state folder, this process's own included. */
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

/** Long enough for a few who each write a file. */
const WAIT_MS = 10_000;

/** Does the work while no other process holds this file, in the same way. */
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

/** Who took the lock last, for people. */
export function lockHolder(state_dir: string): string {
  const path = holderFile(state_dir);
  return existsSync(path) ? `the process ${readOwnText(path).trim()}` : "another process";
}

function holderFile(state_dir: string): string {
  return join(state_dir, "serve.pid");
}
