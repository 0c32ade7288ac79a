import { constants, lstatSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from "node:fs";
import { copyFile, open } from "node:fs/promises";
import { join } from "node:path";

/**
 * Copies a folder recursively and flushes the copies to disk. Skips entries that disappear meanwhile, and everything
 * that is not a file, folder or symbolic link. Links are copied as links.
 */
export async function copyTree(
  from: string,
  to: string,
  isWanted: (name: string) => boolean = () => true,
): Promise<void> {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const name of namesIn(from)) {
    if (!isWanted(name)) continue;
    const [source, target] = [join(from, name), join(to, name)];
    const stats = lstatSync(source, { throwIfNoEntry: false });
    if (stats?.isDirectory() === true) await copyTree(source, target);
    else if (stats?.isSymbolicLink() === true) symlinkSync(readlinkSync(source), target);
    else if (stats?.isFile() === true) await copyOne(source, target);
  }
}

/** Uses copy-on-write clones where the file system supports them. */
export async function copyOne(from: string, to: string): Promise<void> {
  const times = lstatSync(from, { throwIfNoEntry: false });
  try {
    await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return; // deleted meanwhile
    throw error;
  }
  const file = await open(to, "r");
  try {
    await file.chmod((await file.stat()).mode & 0o700);
    if (times !== undefined) await file.utimes(times.atime, times.mtime); // retention counts from mtime
    await file.sync();
  } finally {
    await file.close();
  }
}

export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
