import { existsSync, readdirSync, renameSync, rmSync, statfsSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Database } from "./database.ts";
import { StoreError } from "../store-error.ts";

/** Reserve for what is written while the copy is made. */
const SPARE_BYTES = 16 << 20;
const MIB = 1 << 20;

export interface KeepCopyOptions {
  /** The migration that it precedes. */
  readonly version: number;
  readonly clock: () => number;
}

/**
 * Makes a complete copy next to the database, for a downgrade to the version that wrote it; returns its path. Throws
 * `Full` if the disk has too little space.
 */
export async function keepCopy(database: Database, { version, clock }: KeepCopyOptions): Promise<string> {
  const file = database.name;
  const time = new Date(clock()).toISOString().replaceAll(":", "-");
  const copy = `${file}.before-${version}-${time}`;
  removeLeftOver(file);
  refuseWithoutRoom(file, version);
  const unfinished = `${copy}.${process.pid}.new`;
  try {
    await database.copyTo(unfinished);
    renameSync(unfinished, copy);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
  return copy;
}

function refuseWithoutRoom(file: string, version: number): void {
  const { bavail, bsize } = statfsSync(dirname(file));
  const free = bavail * bsize;
  const parts = [file, `${file}-wal`].filter((path) => existsSync(path));
  const needed = parts.reduce((bytes, path) => bytes + statSync(path).size, SPARE_BYTES);
  if (free >= needed) return;
  const doing = `back up the database before migration ${version}`;
  const why = `a copy of "${file}" needs ${Math.ceil(needed / MIB)} MiB, but only ${Math.floor(free / MIB)} MiB are free`;
  throw new StoreError("Full", { doing, why });
}

/** Removes leftovers of processes that were killed while copying. */
function removeLeftOver(file: string): void {
  const folder = dirname(file);
  for (const name of readdirSync(folder)) {
    const [, pid] = /\.before-[^/]*\.(\d+)\.new$/.exec(name) ?? [];
    if (pid !== undefined && name.startsWith(basename(file)) && !isAlive(Number(pid)))
      rmSync(join(folder, name), { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
