import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync } from "node:fs";
import { dirname, isAbsolute, join, relative } from "node:path";

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
  if (stats?.isFile() !== true || stats.size > 8192) return path;
  const named = /^gitdir: (.+)$/m.exec(readFileSync(path, "utf8"))?.[1];
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

const HEADER_BYTES = 12;
/** Times, device, inode, mode, owner and size come before the hash of an entry; flags after it. */
const FACTS_BYTES = 40;
const EXTENDED = 0x4000;

/** A million files take some 100 MiB. */
const MOST_BYTES = 1 << 30;

/** A pipe would not end, nor a device: whoever fills the workspace may have put one there. */
function readWhole(path: string): Buffer | undefined {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = fstatSync(fd);
      return stats.isFile() && stats.size <= MOST_BYTES ? readFileSync(fd) : undefined;
    } finally {
      closeSync(fd);
    }
  } catch {
    return undefined;
  }
}

/** Every name in an index of git (versions 2 to 4, SHA-1 or SHA-256); undefined where it is not one. */
function readIndex(path: string): string[] | undefined {
  const bytes = readWhole(path);
  if (bytes === undefined || bytes.length < HEADER_BYTES || bytes.toString("latin1", 0, 4) !== "DIRC") return undefined;
  const header = { version: bytes.readUInt32BE(4), count: bytes.readUInt32BE(8) };
  if (header.version < 2 || header.version > 4) return undefined;
  return readEntries(bytes, { ...header, hashBytes: 20 }) ?? readEntries(bytes, { ...header, hashBytes: 32 });
}

interface IndexShape {
  readonly version: number;
  readonly count: number;
  readonly hashBytes: number;
}

function readEntries(bytes: Buffer, { version, count, hashBytes }: IndexShape): string[] | undefined {
  const names: string[] = [];
  let previous = Buffer.alloc(0);
  let at = HEADER_BYTES;
  for (let entry = 0; entry < count; entry++) {
    const flagsAt = at + FACTS_BYTES + hashBytes;
    if (flagsAt + 2 > bytes.length || !isMode(bytes.readUInt32BE(at + 24))) return undefined;
    const extended = version > 2 && (bytes.readUInt16BE(flagsAt) & EXTENDED) !== 0;
    const nameAt = flagsAt + (extended ? 4 : 2);
    const kept = version === 4 ? readOffset(bytes, nameAt) : { value: previous.length, next: nameAt };
    const end = bytes.indexOf(0, kept.next);
    if (end === -1 || kept.value > previous.length) return undefined;
    previous = Buffer.concat([previous.subarray(0, previous.length - kept.value), bytes.subarray(kept.next, end)]);
    names.push(previous.toString("utf8"));
    // Entries are padded to a multiple of eight, but for version 4.
    at = version === 4 ? end + 1 : at + (((end - at) >> 3) + 1) * 8;
  }
  return names;
}

/** Regular file, link, submodule, or the folder of a sparse index. */
function isMode(mode: number): boolean {
  return [0o100000, 0o120000, 0o160000, 0o040000].includes(mode & 0o170000) && mode >>> 16 === 0;
}

/** How many bytes of the previous name are dropped: seven bits a byte, as in packs of git. */
function readOffset(bytes: Buffer, start: number): { readonly value: number; readonly next: number } {
  let byte = bytes[start] ?? 0;
  let value = byte & 0x7f;
  let next = start + 1;
  while ((byte & 0x80) !== 0) {
    byte = bytes[next] ?? 0;
    value = ((value + 1) << 7) | (byte & 0x7f);
    next++;
  }
  return { value, next };
}
