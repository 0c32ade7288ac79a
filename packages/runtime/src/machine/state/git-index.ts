import { lstatSync, readdirSync } from "node:fs";
import { dirname, isAbsolute, join, relative } from "node:path";
import { readRegular } from "../system/read-regular.ts";
import { parseIndex } from "../git/index-file.ts";
import { decodeKey } from "../system/keys.ts";

/** The git work trees at or above a path, innermost first, recognized by their `.git`. */
export function workTreesAbove(path: string): readonly string[] {
  const found: string[] = [];
  for (let folder = path; ; folder = dirname(folder)) {
    if (isThere(join(folder, ".git"))) found.push(folder);
    if (folder === dirname(folder)) return found;
  }
}

/**
 * A file below the folder that a surrounding repository tracks, "unknown" if an index cannot be read, else undefined.
 * Git overwrites tracked files at a checkout or pull, even ignored ones, so they cannot be state. Does not run git: its
 * configuration comes with the repository and can start programs.
 */
export function trackedIn(folder: string, workTrees: readonly string[]): string | undefined {
  for (const tree of workTrees) {
    if (tree === folder) return ".git";
    const below = `${fold(relative(tree, folder))}/`;
    for (const index of indexesOf(tree)) {
      const names = readIndex(index);
      if (names === undefined) return "unknown";
      const tracked = names.find((name) => fold(`${name}/`).startsWith(below));
      if (tracked !== undefined) return tracked;
    }
  }
  return undefined;
}

/** Some file systems are case-insensitive. */
function fold(name: string): string {
  return name.normalize("NFC").toLowerCase();
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false; // not a folder, or not accessible: git does not find a repository there either
  }
}

/** The index, and the shared indexes it refers to. Empty if nothing was ever added. */
function indexesOf(tree: string): readonly string[] {
  const folder = gitFolder(join(tree, ".git"));
  const names = namesIn(folder).filter((name) => name === "index" || name.startsWith("sharedindex."));
  return names.map((name) => join(folder, name));
}

/** `.git` is a folder, or, in a worktree or submodule, a file that points to one. */
function gitFolder(path: string): string {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isFile() !== true) return path;
  const named = /^gitdir: (.+)$/m.exec(readRegular(path, 8192)?.toString("utf8") ?? "")?.[1];
  if (named === undefined) return path;
  return isAbsolute(named) ? named : join(dirname(path), named);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // not a repository
  }
}

/** The index of a million files has about 100 MiB. */
const MAX_BYTES = 1 << 30;

function readWhole(path: string): Buffer | undefined {
  try {
    return readRegular(path, MAX_BYTES);
  } catch {
    return undefined;
  }
}

/** All names in a git index; undefined if it is not a valid one. */
function readIndex(path: string): string[] | undefined {
  const bytes = readWhole(path);
  const names = bytes === undefined ? undefined : parseIndex(bytes)?.names();
  return names === undefined ? undefined : Array.from(names, decodeKey);
}
