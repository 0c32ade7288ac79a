import { closeSync, constants, lstatSync, openSync, readlinkSync } from "node:fs";
import type { BigIntStats } from "node:fs";
import type { Version } from "../../contract/undo-keeper.ts";
import { hashPieces } from "../system/bytes.ts";
import { chmodEntry, identityOf } from "../system/handle.ts";
import type { KeyFolders } from "../system/key-folders.ts";

type Path = string | Buffer;

/** The current entry at a path. */
export interface EntryState {
  readonly version: Version | null;
  /** Differs whenever the entry may have changed; null if nothing exists. */
  readonly identity: string | null;
  /** Only for a file. */
  readonly file?: FileState;
}

interface FileState {
  /** Equal for all hard links of a file. */
  readonly inode: string;
  /** Number of hard links. */
  readonly links: number;
  /** See `identityHash`. */
  readonly rough: string;
}

/** Larger files are compared by size and times: reading one would take too long. */
const HASHED_BYTES = 1n << 30n;

const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const NOTHING: EntryState = { version: null, identity: null };

interface StateAtOptions {
  readonly signal: AbortSignal;
  /** False for a key. Default: true. */
  readonly mayRead?: boolean;
  /** By inode: states of files that had to be made readable. Filled here, and reused for their other hard links. */
  readonly opened?: Map<string, EntryState>;
}

/** Does not follow a link in the last component. `at` leads through a verified folder. Key files are not read. */
export async function stateAt(at: Path, { signal, mayRead = true, opened }: StateAtOptions): Promise<EntryState> {
  const stats = lstatSync(at, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return NOTHING;
  const identity = identityOf(stats);
  const mode = Number(stats.mode & 0o7777n);
  if (stats.isDirectory()) return { version: { kind: "folder", mode, ...ownerOf(stats) }, identity };
  if (stats.isSymbolicLink()) {
    return { version: { kind: "link", target: readlinkSync(at, "latin1"), ...ownerOf(stats) }, identity };
  }
  if (!stats.isFile()) return { version: { kind: "other", ...ownerOf(stats) }, identity };
  const inode = inodeOf(stats);
  const known = opened?.get(inode);
  if (known !== undefined && isSameButTouched(known.identity, identity)) return { ...known, identity };
  const rough = identityHash({
    inode: Number(stats.ino),
    size: Number(stats.size),
    modified: millisecondsOf(stats.mtimeNs),
    touched: millisecondsOf(stats.ctimeNs),
  });
  const sha256 = stats.size > HASHED_BYTES || !mayRead ? rough : await hashAt(at, { stats, signal });
  const file = { inode, links: Number(stats.nlink), rough };
  const state = { version: { sha256, size: Number(stats.size), mode, ...ownerOf(stats) }, identity, file };
  // Making it readable changes its ctime, for all its hard links.
  if ((mode & 0o400) === 0) opened?.set(inode, state);
  return state;
}

/** Whether two identities of one file differ at most in the ctime, which changing its mode updates. */
export function isSameButTouched(one: string | null, other: string | null): boolean {
  return one !== null && other !== null && withoutTouched(one) === withoutTouched(other);
}

/** The ctime is the last part. */
function withoutTouched(identity: string): string {
  return identity.slice(0, identity.lastIndexOf(":"));
}

interface StateOptions extends StateAtOptions {
  readonly folders: Pick<KeyFolders, "at" | "lockedMode">;
}

/** Like `stateAt`, by key. A folder whose mode was changed to read it is reported with its original mode. */
export async function stateOf(key: string, { folders, ...options }: StateOptions): Promise<EntryState> {
  const at = folders.at(key);
  if (at === undefined) return NOTHING;
  const state = await stateAt(at, options);
  const mode = folders.lockedMode(key);
  if (state.version?.kind !== "folder" || mode === undefined) return state;
  return { ...state, version: { ...state.version, mode } };
}

export function inodeOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

interface RoughFacts {
  readonly inode: number;
  readonly size: number;
  /** Milliseconds, as in `Stats`. */
  readonly modified: number;
  readonly touched: number;
}

/** Used in place of a content hash for a file that is too large, or not readable by its owner. */
export function identityHash({ inode, size, modified, touched }: RoughFacts): string {
  return `identity:${inode}:${size}:${Math.round(modified * 1000)}:${Math.round(touched * 1000)}`;
}

/** Computed as Node.js does for `Stats`, so that both round to the same number. */
function millisecondsOf(ns: bigint): number {
  return Number(ns / 1_000_000_000n) * 1000 + Number(ns % 1_000_000_000n) / 1_000_000;
}

function ownerOf({ uid, gid }: BigIntStats): { owner?: { user: number; group: number } } {
  const [user, group] = [Number(uid), Number(gid)];
  return user === process.getuid?.() && group === process.getgid?.() ? {} : { owner: { user, group } };
}

interface HashOptions {
  readonly stats: BigIntStats;
  readonly signal: AbortSignal;
}

async function hashAt(at: Path, { stats, signal }: HashOptions): Promise<string> {
  const fd = openReadable(at, Number(stats.mode & 0o7777n));
  try {
    return (await hashPieces(fd, signal)).digest("hex");
  } finally {
    closeSync(fd);
  }
}

/** Opens a file for reading, even if its mode denies its owner read access. */
export function openReadable(at: Path, mode: number): number {
  try {
    return openSync(at, FLAGS);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES" || (mode & 0o400) !== 0) throw error;
  }
  chmodEntry(at, mode | 0o400);
  try {
    return openSync(at, FLAGS);
  } finally {
    chmodEntry(at, mode);
  }
}
