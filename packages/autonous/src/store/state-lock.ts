import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const BUSY = 5;

/**
 * Holds the state folder for one service: two would write the same files. Gives the function that lets go; undefined
 * when another process holds it. The lock is the kernel's, by way of an empty database that nobody else may open: it
 * ends with the process, however that ends, and it also holds between containers that share the folder, where the
 * number of a process says nothing.
 */
export function lockStateFolder(state_dir: string): (() => void) | undefined {
  const path = join(state_dir, "serve.lock");
  closeSync(openSync(path, "a", 0o600));
  const lock = new DatabaseSync(path, { timeout: 0 });
  try {
    lock.exec("begin exclusive");
    writeFileSync(holderFile(state_dir), `${process.pid}\n`, { mode: 0o600 });
  } catch (error) {
    lock.close();
    if ((error as { readonly errcode?: number }).errcode === BUSY) return undefined;
    throw error;
  }
  return () => lock.close();
}

/** Long enough for a few who each write a file. */
const WAIT_MS = 10_000;

/** Does the work while no other process holds this file, in the same way. */
export function holdingFile<T>(path: string, work: () => T): T {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, "a", 0o600));
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
  return existsSync(path) ? `the process ${readFileSync(path, "utf8").trim()}` : "another process";
}

function holderFile(state_dir: string): string {
  return join(state_dir, "serve.pid");
}
