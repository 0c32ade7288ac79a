import { hash } from "node:crypto";
import { closeSync, constants, lstatSync, openSync, readFileSync, realpathSync } from "node:fs";
import type { Stats } from "node:fs";
import { join, resolve } from "node:path";
import { inflateSync } from "node:zlib";
import { readRegular } from "../system/read-regular.ts";
import { parseIndex } from "./index-file.ts";
import type { IndexedFile, IndexFile } from "./index-file.ts";
import { findRepository, readIndex } from "./tracked-files.ts";
import type { Repository } from "./tracked-files.ts";

/** State of a repository, as far as it can be determined without running git. */
export interface GitState {
  /** Left out if no branch is checked out, or its name is not a plain one. */
  readonly branch?: string;
  /** Whether tracked files have uncommitted changes. Left out if unknown, or too expensive to find out. */
  readonly dirty?: boolean;
}

const SMALL_BYTES = 4096;
const PACKED_REFS_BYTES = 8 << 20;
/** Checking more files would delay the prompt noticeably. */
const MAX_FILES = 20_000;
/** Maximum bytes read to compare files whose times changed but whose size did not. */
const MAX_READ_BYTES = 16 << 20;
/** Stricter than git's own rules; other names are not shown. */
const BRANCH = /^ref: refs\/heads\/([\p{L}\p{N}][\p{L}\p{N}._/+@#=-]{0,199})\n?$/u;

/**
 * The state of the repository whose top is this folder. Reads files only: git itself would run programs that the
 * repository configures (`core.fsmonitor`, filters, hooks). Undefined if the folder is not a repository. Never throws.
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
    return undefined; // damaged or not accessible: nothing is reported
  }
}

function isDirty(repository: Repository, head: string): boolean | undefined {
  const bytes = readIndex(repository);
  const index = bytes && parseIndex(bytes);
  if (index === undefined || index.isSplit) return undefined;
  if (isStaged(repository, index, head) === true) return true;
  return isChanged(repository, index);
}

/** Whether the index differs from the last commit. Undefined if reading small files is not enough to tell. */
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

/** The tree of a loose commit. A packed commit usually came from a remote, together with its index. */
function treeOf(folder: string, commit: string): string | undefined {
  const object = readBounded(join(folder, "objects", commit.slice(0, 2), commit.slice(2)), SMALL_BYTES * 16);
  if (object === undefined) return undefined;
  const text = inflateSync(object, { maxOutputLength: 1 << 20 }).toString("latin1");
  return /^commit \d+\0tree ([0-9a-f]+)\n/.exec(text)?.[1];
}

/** Git never writes such a name. An index with one would lead to files outside the repository. */
const LEADS_OUT = /(?:^|\/)\.\.?(?:\/|$)/;

/** Whether a tracked file differs from the index. */
function isChanged({ top }: Repository, index: IndexFile): boolean | undefined {
  let seen = 0;
  let left = MAX_READ_BYTES;
  for (const name of index.names()) {
    if (++seen > MAX_FILES || LEADS_OUT.test(name)) return undefined;
    const indexed = index.find(name);
    if (indexed === undefined) continue; // a link, a submodule, or marked as not to be compared
    const path = Buffer.from(`${top}/${Buffer.from(name, "latin1").toString("utf8")}`);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined || !stats.isFile() || stats.size % 2 ** 32 !== indexed.size) return true;
    if (isSameTime(stats, indexed)) continue;
    if ((left -= stats.size) < 0) return undefined;
    if (realpathSync.native(path, "buffer").compare(path) !== 0) return true; // behind a link
    if (oidOf(path, stats.size, index.hashBytes) !== indexed.oid) return true;
  }
  return false;
}

/** Times in the index are less precise than those of some file systems. */
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
