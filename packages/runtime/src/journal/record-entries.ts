import { lstatSync, readdirSync, readlinkSync } from "node:fs";
import type { BigIntStats, Dirent } from "node:fs";

/** At most this much of a link's target is shown. */
const MAX_SHOWN = 200;

/**
 * Why an entry of the record differs from what we write there, as a clause; undefined if it does not, or does not
 * exist. Links count as damage whatever their target: the target can be exchanged without touching the record.
 */
export function wrongEntry(path: string, wanted: "file" | "folder"): string | undefined {
  const stats = statsOf(path);
  if (typeof stats === "string") return stats;
  if (stats === undefined || (wanted === "file" ? stats.isFile() : stats.isDirectory())) return undefined;
  const what = wanted === "file" ? "a regular file" : "a folder";
  return `is ${kindOf(path, stats)}, not ${what}`;
}

/** Whether a file of the record has further hard links: it can be written through them. */
export function hasMoreNames(path: string): boolean {
  const stats = statsOf(path);
  return typeof stats === "object" && stats.isFile() && stats.nlink > 1n;
}

/** Entries of a folder of the record; none if it does not exist or is not a folder. */
export function entriesOf(folder: string): readonly Dirent[] {
  if (wrongEntry(folder, "folder") !== undefined || statsOf(folder) === undefined) return [];
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return []; // removed in the meantime
    throw error;
  }
}

/** A clause for a kind that the system does not name. */
function statsOf(path: string): BigIntStats | string | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    return code === "ENOTDIR" ? undefined : `cannot be read (${code})`;
  }
}

function kindOf(path: string, stats: BigIntStats): string {
  if (stats.isSymbolicLink()) return `a link to ${JSON.stringify(readlinkSync(path).slice(0, MAX_SHOWN))}`;
  if (stats.isDirectory()) return "a folder";
  if (stats.isFIFO()) return "a pipe";
  if (stats.isFile()) return "a file";
  return stats.isSocket() ? "a socket" : "a device";
}
