import { lstatSync, readdirSync, readlinkSync } from "node:fs";
import type { BigIntStats, Dirent } from "node:fs";

/** Names of a folder of the record that are shown of a link. */
const MAX_SHOWN = 200;

/**
 * Why something in the record is not what we write there, as a clause about it; undefined where it is, or where nothing is.
 * Links count as damage whatever they lead to: what they show can be exchanged without the record being touched.
 */
export function wrongEntry(path: string, wanted: "file" | "folder"): string | undefined {
  const stats = statsOf(path);
  if (typeof stats === "string") return stats;
  if (stats === undefined || (wanted === "file" ? stats.isFile() : stats.isDirectory())) return undefined;
  const what = wanted === "file" ? "a regular file" : "a folder";
  return `is ${kindOf(path, stats)}, not ${what}`;
}

/** Whether a file of the record has further names elsewhere: then it can be written to by them. */
export function hasMoreNames(path: string): boolean {
  const stats = statsOf(path);
  return typeof stats === "object" && stats.isFile() && stats.nlink > 1n;
}

/** Entries of a folder of the record; none where it is not there or is not a folder. */
export function entriesOf(folder: string): readonly Dirent[] {
  if (wrongEntry(folder, "folder") !== undefined || statsOf(folder) === undefined) return [];
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return []; // gone meanwhile
    throw error;
  }
}

/** A clause where the system does not say. */
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
