import { hash } from "node:crypto";
import { closeSync, constants, lstatSync, openSync, readFileSync, realpathSync } from "node:fs";
import type { Stats } from "node:fs";
import { join, resolve } from "node:path";
import { inflateSync } from "node:zlib";
import { readRegular } from "../files/read-regular.ts";
import { parseIndex } from "./index-file.ts";
import type { IndexedFile, IndexFile } from "./index-file.ts";
import { findRepository, readIndex } from "./tracked-files.ts";
import type { Repository } from "./tracked-files.ts";

/** How a repository stands, as far as can be told without git. */
export interface GitState {
  /** Left out: no branch is checked out, or its name is not one. */
  readonly branch?: string;
  /** Whether something tracked is not committed. Left out: too much to look at, or not known. */
  readonly dirty?: boolean;
}

const SMALL_BYTES = 4096;
const PACKED_REFS_BYTES = 8 << 20;
/** More files than this take longer to look at than a person waits for a prompt. */
const MAX_FILES = 20_000;
/** Bytes that are read at most to compare files whose times changed and whose size did not. */
const MAX_READ_BYTES = 16 << 20;
/** Git's own rules are stricter; what is not a plain name is not shown. */
const BRANCH = /^ref: refs\/heads\/([\p{L}\p{N}][\p{L}\p{N}._/+@#=-]{0,199})\n?$/u;

/**
 * The state of the repository whose top is this folder. Only files are read: git itself would run what the repository
 * configures (`core.fsmonitor`, filters, hooks). Undefined where there is none. Never throws.
 */
export function readGitState(folder: string): GitState | undefined {
  const repository = findRepository(folder);
  if (repository === undefined || repository.top !== folder) return undefined;
  try {
    const head = readSmall(join(repository.gitdir, "HEAD"));
    if (head === undefined) return undefined;
    const branch = BRANCH.exec(head)?.[1];
    const dirty = isDirty(repository, head);
    return { ...(branch === undefined ? {} : { branch }), ...(dirty === undefined ? {} : { dirty }) };
  } catch {
    return undefined; // damaged, or out of reach: nothing is told about it
  }
}

function isDirty(repository: Repository, head: string): boolean | undefined {
  const bytes = readIndex(repository);
  const index = bytes && parseIndex(bytes);
  if (index === undefined || index.isSplit) return undefined;
  if (isStaged(repository, index, head) === true) return true;
  return isChanged(repository, index);
}

/** Whether the index differs from the last commit. Undefined where that cannot be told by small files. */
function isStaged({ gitdir }: Repository, index: IndexFile, head: string): boolean | undefined {
  if (index.tree === null) return true;
  const common = readSmall(join(gitdir, "commondir"))?.trim();
  const folder = common === undefined ? gitdir : resolve(gitdir, common);
  const commit = commitOf(folder, head);
  const tree = commit === undefined ? undefined : treeOf(folder, commit);
  return tree === undefined || index.tree === undefined ? undefined : tree !== index.tree;
}

const OID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

function commitOf(folder: string, head: string): string | undefined {
  const [, ref] = /^ref: (refs\/[^\s]+)\n?$/.exec(head) ?? [];
  const direct = ref === undefined ? head.trim() : ref.includes("..") ? "" : readSmall(join(folder, ref))?.trim();
  if (direct !== undefined) return OID.test(direct) ? direct : undefined;
  const packed = readBounded(join(folder, "packed-refs"), PACKED_REFS_BYTES)?.toString("utf8") ?? "";
  return packed
    .split("\n")
    .find((line) => line.endsWith(` ${ref}`))
    ?.split(" ", 1)[0];
}

/** Of a commit that is not packed. One that is comes from elsewhere, and the index with it. */
function treeOf(folder: string, commit: string): string | undefined {
  const object = readBounded(join(folder, "objects", commit.slice(0, 2), commit.slice(2)), SMALL_BYTES * 16);
  if (object === undefined) return undefined;
  const text = inflateSync(object, { maxOutputLength: 1 << 20 }).toString("latin1");
  return /^commit \d+\0tree ([0-9a-f]+)\n/.exec(text)?.[1];
}

/** Git writes no such name. An index that has one would have files looked at that are none of the repository's. */
const LEADS_OUT = /(?:^|\/)\.\.?(?:\/|$)/;

/** Whether a tracked file is not as git last saw it. */
function isChanged({ top }: Repository, index: IndexFile): boolean | undefined {
  let seen = 0;
  let left = MAX_READ_BYTES;
  for (const name of index.names()) {
    if (++seen > MAX_FILES || LEADS_OUT.test(name)) return undefined;
    const indexed = index.find(name);
    if (indexed === undefined) continue; // a link, a submodule, or git was told not to compare it
    const path = Buffer.from(`${top}/${Buffer.from(name, "latin1").toString("utf8")}`);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined || !stats.isFile() || stats.size % 2 ** 32 !== indexed.size) return true;
    if (isSameTime(stats, indexed)) continue;
    if ((left -= stats.size) < 0) return undefined;
    if (realpathSync.native(path, "buffer").compare(path) !== 0) return true; // beyond a link, which git does not track
    if (oidOf(path, stats.size, index.hashBytes) !== indexed.oid) return true;
  }
  return false;
}

/** Times in the index have fewer digits than those of some file systems. */
function isSameTime({ mtimeMs }: Stats, { modified }: IndexedFile): boolean {
  return Math.abs(mtimeMs - modified) < 0.01;
}

function oidOf(path: Buffer, size: number, hashBytes: number): string {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const content = Buffer.concat([Buffer.from(`blob ${size}\0`), readFileSync(fd)]);
    return hash(hashBytes === 20 ? "sha1" : "sha256", content, "hex");
  } finally {
    closeSync(fd);
  }
}

function readSmall(path: string): string | undefined {
  return readBounded(path, SMALL_BYTES)?.toString("utf8");
}

function readBounded(path: string, limit: number): Buffer | undefined {
  try {
    return readRegular(path, limit, constants.O_NOFOLLOW);
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ELOOP"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}
