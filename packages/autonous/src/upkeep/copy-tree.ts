import { constants, lstatSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from "node:fs";
import { copyFile, open } from "node:fs/promises";
import { join } from "node:path";

/**
 * Copies a folder with all that is in it, on the disk when this is done. What goes away meanwhile is passed over, and
 * so is what is neither file, folder nor link. Links are copied as what they are.
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

/** Shares the blocks where the file system can. */
export async function copyOne(from: string, to: string): Promise<void> {
  const times = lstatSync(from, { throwIfNoEntry: false });
  try {
    await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return; // gone since
    throw error;
  }
  const file = await open(to, "r");
  try {
    await file.chmod((await file.stat()).mode & 0o700);
    if (times !== undefined) await file.utimes(times.atime, times.mtime); // how long it is kept counts from then
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
