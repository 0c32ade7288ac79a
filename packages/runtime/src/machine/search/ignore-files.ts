import { lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import type { Dirent } from "node:fs";
import { pointedTo } from "../../policy/git/git-pointers.ts";
import { readRegular } from "../system/read-regular.ts";
import { decodeKey, folderOf, keyOf, systemPath } from "../system/keys.ts";

/** Files that fd and rg open in every folder they enter, and in its parents, without checking their kind. */
const IGNORE_FILES: ReadonlySet<string> = new Set([".gitignore", ".ignore", ".rgignore", ".fdignore"]);
const MAX_POINTER_BYTES = 8192;

/** An ignore file on which an engine would block forever, or never stop reading. */
export interface EndlessFile {
  /** One character per byte. Absolute. */
  readonly key: string;
  /** A clause such as "it is a pipe, not a regular file". */
  readonly reason: string;
}

/** Checks a folder and its parents up to `/`: rg opens their ignore files even with --no-ignore-parent. */
export function endlessFrom(top: string): EndlessFile | undefined {
  for (let folder = top === "/" ? "" : top; ; folder = folderOf(folder)) {
    const found =
      firstOf([...IGNORE_FILES], (name) => endlessAt(`${folder}/${name}`)) ?? endlessInGit(`${folder}/.git`);
    if (found !== undefined || folder === "") return found;
  }
}

/** Maximum number of folders to check; a larger tree takes longer than a caller waits. */
const MAX_FOLDERS = 1_000_000;
const FOLDERS_AT_ONCE = 200;

/** Checks all subfolders, including those that an engine would skip. Yields to the event loop. */
export async function endlessBelow(top: string, signal: AbortSignal): Promise<EndlessFile | undefined> {
  const waiting = [top === "/" ? "" : top];
  for (let count = 1; waiting.length > 0 && count <= MAX_FOLDERS; count++) {
    const folder = waiting.pop() ?? "";
    for (const entry of entriesOf(folder)) {
      const key = `${folder}/${entry.name}`;
      if (entry.isDirectory()) waiting.push(key);
      const found =
        entry.name === ".git" ? endlessInGit(key) : IGNORE_FILES.has(entry.name) ? endlessAt(key) : undefined;
      if (found !== undefined) return found;
    }
    if (count % FOLDERS_AT_ONCE === 0) {
      await new Promise(setImmediate);
      if (signal.aborted) return undefined;
    }
  }
  return undefined;
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(systemPath(folder === "" ? "/" : folder), { withFileTypes: true, encoding: "latin1" });
  } catch {
    return []; // gone, or not accessible, so not to an engine either
  }
}

/** `.git` is a repository's git folder, or a file that points to one, which may point to a common one. */
function endlessInGit(key: string): EndlessFile | undefined {
  const stats = look(() => lstatSync(systemPath(key), { throwIfNoEntry: false }));
  if (stats === undefined) return undefined;
  const gitdir = stats.isFile() ? pointerIn(key, folderOf(key)) : key;
  if (gitdir === undefined) return undefined;
  const common = stats.isFile() ? pointerIn(`${gitdir}/commondir`, gitdir) : undefined;
  const files = [
    `${gitdir}/commondir`,
    `${gitdir}/info/exclude`,
    ...(common === undefined ? [] : [`${common}/info/exclude`]),
  ];
  return firstOf(files, endlessAt);
}

function pointerIn(key: string, folder: string): string | undefined {
  const text = look(() => readRegular(systemPath(key), MAX_POINTER_BYTES)?.toString("utf8"));
  const target = pointedTo(text ?? "", decodeKey(folder));
  return target === undefined ? undefined : keyOf(target);
}

/** Engines hold a line in memory, and a file of zero bytes is a single line. */
const MAX_IGNORE_BYTES = 64 << 20;
/** Kernel files report that they are regular and empty, but some block, and some never end. */
const OF_KERNEL = /^\/(?:proc|sys)\//;
/** `/dev/null`: major 1, minor 3. Reading it ends immediately. */
const NULL_DEVICE = 0x103;

/** Opening a folder, a socket or a broken link fails immediately, so those are harmless. */
function endlessAt(key: string): EndlessFile | undefined {
  const path = systemPath(key);
  const own = look(() => lstatSync(path, { throwIfNoEntry: false }));
  const stats = own?.isSymbolicLink() === true ? look(() => statSync(path, { throwIfNoEntry: false })) : own;
  if (own === undefined || stats === undefined) return undefined;
  const [is, not] = own.isSymbolicLink()
    ? ["it is a link to", ", not to a regular file"]
    : ["it is", ", not a regular file"];
  if (stats.isFIFO()) return { key, reason: `${is} a pipe${not}` };
  if (stats.isCharacterDevice())
    return stats.rdev === NULL_DEVICE ? undefined : { key, reason: `${is} a device${not}` };
  if (stats.isBlockDevice()) return { key, reason: `${is} a device${not}` };
  if (!stats.isFile()) return undefined;
  if (stats.size > MAX_IGNORE_BYTES) return { key, reason: "it is larger than 64 MiB" };
  const real = own === stats ? "" : (look(() => realpathSync.native(path)) ?? "");
  return OF_KERNEL.test(real) ? { key, reason: `${is} a file of the kernel${not}` } : undefined;
}

function look<T>(at: () => T | undefined): T | undefined {
  try {
    return at();
  } catch {
    return undefined; // not accessible, so not to an engine either
  }
}

function firstOf<T, R>(list: readonly T[], find: (each: T) => R | undefined): R | undefined {
  for (const each of list) {
    const found = find(each);
    if (found !== undefined) return found;
  }
  return undefined;
}
