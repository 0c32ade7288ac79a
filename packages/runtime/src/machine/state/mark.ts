import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { chmodSync, constants, linkSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { readRegular } from "../system/read-regular.ts";

/** The file in a state folder that identifies its owner. */
export const MARK_FILE = "mark";

const KEY_BYTES = 32;

/** The temporary name of a mark while it is written: see `writeAside`. */
const IN_PROGRESS = new RegExp(`^${MARK_FILE}\\.\\d+\\.[0-9a-f]{8}$`);

export function isMarkInProgress(name: string): boolean {
  return IN_PROGRESS.test(name);
}

/**
 * A state folder where others may write (a workspace, a repository) is bound to this user, this machine and this
 * folder: its mark is a MAC over the folder's identity, with a key from the user's state directory. A folder that came
 * from elsewhere has no valid mark, nor has a copy of a marked folder.
 */
export function hasMark(folder: string, keyFile: string): boolean {
  const key = readKey(keyFile);
  const mark = readSmall(join(folder, MARK_FILE));
  if (key === undefined || mark === undefined) return false;
  const said = Buffer.from(mark.toString("utf8").trim(), "hex");
  const wanted = markOf(folder, key);
  return said.length === wanted.length && timingSafeEqual(said, wanted);
}

/** Binds the folder. Concurrent calls write the same mark. */
export function writeMark(folder: string, keyFile: string): void {
  const key = readKey(keyFile) ?? makeKey(keyFile);
  letTimesDiffer(folder);
  const path = join(folder, MARK_FILE);
  writeAside(path, `${markOf(folder, key).toString("hex")}\n`, (temporary) => renameSync(temporary, path));
}

/** Device numbers change at a boot. The birth time distinguishes a folder from a later one with the same inode. */
function markOf(folder: string, key: Buffer): Buffer {
  const { ino, birthtimeNs, ctimeNs, uid } = statSync(folder, { bigint: true });
  // A system without birth times reports the ctime instead, which is useless here.
  const born = birthtimeNs === ctimeNs ? 0n : birthtimeNs;
  const identity = [folder, uid, ino, born, machineId()].map(String);
  return createHmac("sha256", key).update(JSON.stringify(identity)).digest();
}

const TRIES = 20;
const TICK_MS = 3;

/** In a folder created in the current clock tick, birth time and ctime are equal, as if the former were unknown. */
function letTimesDiffer(folder: string): void {
  for (let tries = 0; tries < TRIES; tries++) {
    const { birthtimeNs, ctimeNs, mode } = statSync(folder, { bigint: true });
    if (birthtimeNs !== ctimeNs) return;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TICK_MS);
    chmodSync(folder, Number(mode & 0o777n));
  }
}

/** Empty if the system has none, as in some containers: then the key and the folder identity must suffice. */
function machineId(): string {
  return readSmall("/etc/machine-id")?.toString("latin1").trim() ?? "";
}

function readKey(keyFile: string): Buffer | undefined {
  const key = readSmall(keyFile);
  return key?.length === KEY_BYTES ? key : undefined;
}

/** Created atomically: if two processes create it at once, both get the first one. */
function makeKey(keyFile: string): Buffer {
  mkdirSync(dirname(keyFile), { recursive: true, mode: 0o700 });
  writeAside(keyFile, randomBytes(KEY_BYTES), (temporary) => {
    try {
      linkSync(temporary, keyFile);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  });
  const key = readKey(keyFile);
  if (key !== undefined) return key;
  throw new Error(
    `"${keyFile}" is not a key of ${KEY_BYTES} bytes; remove it, and adopt state folders in workspaces again`,
  );
}

function writeAside(path: string, content: string | Buffer, place: (temporary: string) => void): void {
  const temporary = `${path}.${process.pid}.${randomBytes(4).toString("hex")}`;
  try {
    writeFileSync(temporary, content, { flag: "wx", mode: 0o600 });
    place(temporary);
  } finally {
    rmSync(temporary, { force: true });
  }
}

const SMALL_BYTES = 4096;

/** Reads a small regular file; links are not followed. */
function readSmall(path: string): Buffer | undefined {
  try {
    return readRegular(path, SMALL_BYTES, constants.O_NOFOLLOW);
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "EACCES", "ELOOP"].includes((error as NodeJS.ErrnoException).code ?? ""))
      return undefined;
    throw error;
  }
}
