import { lstatSync, readdirSync } from "node:fs";
import { dirname, isAbsolute, join, relative } from "node:path";
import { readRegular } from "../files/read-regular.ts";
import { parseIndex } from "../git/index-file.ts";
import { decodeKey } from "../search/keys.ts";

/** The folders above (or at) a path that are work trees of git, innermost first, by their `.git`. */
export function workTreesAbove(path: string): readonly string[] {
  const found: string[] = [];
  for (let folder = path; ; folder = dirname(folder)) {
    if (isThere(join(folder, ".git"))) found.push(folder);
    if (folder === dirname(folder)) return found;
  }
}

/**
 * A file below the folder that a repository around it tracks, "unknown" where an index cannot be read, else undefined.
 * What git tracks it writes at a checkout or a pull, ignored or not, so it is not ours. Git itself is not asked: its
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

/** Some file systems do not tell cases apart. */
function fold(name: string): string {
  return name.normalize("NFC").toLowerCase();
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false; // not a folder, or closed to us: git does not find a repository there either
  }
}

/** The index, and those that it shares entries with. None where nothing was ever added. */
function indexesOf(tree: string): readonly string[] {
  const folder = gitFolder(join(tree, ".git"));
  const names = namesIn(folder).filter((name) => name === "index" || name.startsWith("sharedindex."));
  return names.map((name) => join(folder, name));
}

/** `.git` is a folder, or a file that names one: in a worktree and a submodule. */
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

/** A million files take some 100 MiB. */
const MOST_BYTES = 1 << 30;

function readWhole(path: string): Buffer | undefined {
  try {
    return readRegular(path, MOST_BYTES);
  } catch {
    return undefined;
  }
}

/** Every name in an index of git; undefined where it is not one. */
function readIndex(path: string): string[] | undefined {
  const bytes = readWhole(path);
  const names = bytes === undefined ? undefined : parseIndex(bytes)?.names();
  return names === undefined ? undefined : Array.from(names, decodeKey);
}
