import { hash } from "node:crypto";
import { accessSync, constants, copyFile, fchmodSync, fchownSync, fstatSync, openSync } from "node:fs";
import type { BigIntStats } from "node:fs";
import type { FileChange } from "../../contract/context.ts";
import type { ChangedFile, FileVersion } from "../../contract/undo-keeper.ts";
import { ToolError } from "../../protocol/errors.ts";
import { hashPieces, writeAll } from "../system/bytes.ts";
import type { ChangeLog } from "./change-log.ts";
import { ConcurrentChangeError } from "../system/concurrent-change.ts";
import { procPath } from "../system/handle.ts";
import { PACKED_BYTES } from "./pack.ts";
import type { Packed } from "./pack.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import { doing, isSystemError } from "../system/system-error.ts";
import type { Syncs } from "../system/syncs.ts";
import type { Target } from "../system/target.ts";
import type { UndoObjects } from "./undo-objects.ts";

/** One file that is ready to change: its new content is in a temporary file beside it, its old content is stored. */
export interface Staged {
  readonly target: Target;
  readonly before: FileVersion | null;
  readonly after: FileVersion | null;
  readonly not_kept: boolean;
  /** Path of the new content; null if the file is to be removed. */
  readonly temporary: string | null;
  readonly after_inode: string | null;
}

export interface StageOptions {
  readonly log: ChangeLog;
  readonly objects: UndoObjects;
  readonly syncs: Syncs;
  readonly signal: AbortSignal;
  /** Larger old contents are not stored. */
  readonly keep_limit_bytes: number;
  /** Old contents in the log's pack. */
  readonly packed: Packed[];
  /** Called before each temporary file is created, so that it can be removed in any case. */
  readonly onTemporary: (target: Target, name: string) => void;
}

/** Prepares a change without changing the file. Undefined if the file already has the wanted content. */
export async function stage(target: Target, change: FileChange, options: StageOptions): Promise<Staged | undefined> {
  if (target.stats !== undefined) doing("change", target.path, () => accessSync(target.at(), constants.W_OK));
  if ("remove" in change) return await stageRemoval(target, options);
  if ("append" in change && !target.isInMemory) return await stageLongAppend(target, change.append, options);
  const mode = "append" in change ? undefined : change.mode;
  const content = "append" in change ? Buffer.concat([await target.read(), change.append]) : change.content;
  const before = await versionOf(target);
  const sha256 = hash("sha256", content, "hex");
  const isSame = before?.sha256 === sha256 && (mode === undefined || mode === before.mode);
  if (isSame) return undefined;
  const not_kept = await storeOld(target, before, options);
  const made = await makeTemporary(target, { ...options, mode, content });
  return { target, before, after: { sha256, size: content.length, mode: made.mode }, not_kept, ...made };
}

async function stageRemoval(target: Target, options: StageOptions): Promise<Staged | undefined> {
  const before = await versionOf(target);
  if (before === null) return undefined;
  const not_kept = await storeOld(target, before, options);
  return { target, before, after: null, not_kept, temporary: null, after_inode: null };
}

/** Copies a file that is too large for memory (by reflink if possible) and appends to the copy. */
async function stageLongAppend(target: Target, added: Uint8Array, options: StageOptions): Promise<Staged | undefined> {
  if (added.length === 0 || target.facts === null) return undefined;
  const { size, mode } = target.facts;
  const name = newTemporary(target, options);
  const path = target.at(name);
  await target.use((from) => clone(procPath(from), path));
  const fd = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW);
  options.syncs.add(fd);
  // The copy is what gets stored and reported: the file itself may have changed since.
  if (fstatSync(fd).size !== size) throw new ConcurrentChangeError(target.path);
  const sum = await hashPieces(fd, options.signal);
  const before = { sha256: sum.copy().digest("hex"), size, mode };
  const not_kept = size > options.keep_limit_bytes;
  if (!not_kept) await withStorageErrors(target, () => options.objects.putFile(before.sha256, fd, options));
  await writeAll(fd, added, { position: size, signal: options.signal });
  const made = copyOwnerAndMode(fd, { stats: target.stats, mode: undefined });
  const after = { sha256: sum.update(added).digest("hex"), size: size + added.length, mode: made.mode };
  return { target, before, after, not_kept, temporary: name, after_inode: made.after_inode };
}

async function versionOf(target: Target): Promise<FileVersion | null> {
  const sha256 = await target.sha256();
  if (target.facts === null || sha256 === undefined) return null;
  return { sha256, size: target.facts.size, mode: target.facts.mode };
}

/** Stores the old content for undo. True if it is too large to store. */
async function storeOld(target: Target, before: FileVersion | null, options: StageOptions): Promise<boolean> {
  if (before === null) return false;
  if (before.size > options.keep_limit_bytes) return true;
  if (target.isInMemory) {
    const content = await target.read();
    await withStorageErrors(target, async () => {
      if (content.length <= PACKED_BYTES) options.packed.push(options.log.pack.keep(before.sha256, content));
      else await options.objects.put(before.sha256, content, options);
    });
    return false;
  }
  const isKept = await target.use((fd) =>
    withStorageErrors(target, () => options.objects.putFile(before.sha256, fd, options)),
  );
  if (!isKept) throw new ConcurrentChangeError(target.path);
  return false;
}

/** Nothing is changed unless its undo data is stored. */
async function withStorageErrors<T>({ path }: Target, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new ToolError(
      "IOError",
      `Cannot change "${path}": its undo data could not be stored (${reasonOf(error)})`,
      { path, reason: (error as NodeJS.ErrnoException).code },
      error,
    );
  }
}

interface TemporaryOptions extends StageOptions {
  readonly content: Uint8Array;
  readonly mode: number | undefined;
}

interface TemporaryFile {
  readonly temporary: string;
  readonly mode: number;
  readonly after_inode: string;
}

async function makeTemporary(target: Target, options: TemporaryOptions): Promise<TemporaryFile> {
  const name = newTemporary(target, options);
  // A new file gets the default mode; a replacement stays private until it gets the mode of the old file.
  const mode = target.stats === undefined && options.mode === undefined ? 0o666 : 0o600;
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const fd = doing("change", target.path, () => openSync(target.at(name), flags, mode));
  options.syncs.add(fd);
  await writeAll(fd, options.content, { position: 0, signal: options.signal });
  return { temporary: name, ...copyOwnerAndMode(fd, { stats: target.stats, mode: options.mode }) };
}

function newTemporary(target: Target, options: StageOptions): string {
  const name = options.log.temporaryName(target.folder, "tmp");
  options.onTemporary(target, name);
  return name;
}

/** Gives a new file the owner and mode of the file it replaces. */
function copyOwnerAndMode(
  fd: number,
  { stats, mode }: { stats: BigIntStats | undefined; mode: number | undefined },
): { readonly mode: number; readonly after_inode: string } {
  const own = fstatSync(fd, { bigint: true });
  const wanted = mode ?? (stats === undefined ? undefined : Number(stats.mode & 0o7777n));
  // Owner first: changing the owner clears the set-user-id bit.
  const hasSameOwner =
    stats === undefined || (stats.uid === own.uid && stats.gid === own.gid) || chownIfPermitted(fd, stats);
  if (wanted !== undefined) fchmodSync(fd, hasSameOwner ? wanted : wanted & 0o777);
  const now = wanted === undefined ? Number(own.mode & 0o7777n) : hasSameOwner ? wanted : wanted & 0o777;
  return { mode: now, after_inode: String(own.ino) };
}

/** False if this process lacks permission: it stays the owner, as with any editor. */
function chownIfPermitted(fd: number, { uid, gid }: BigIntStats): boolean {
  try {
    fchownSync(fd, Number(uid), Number(gid));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
    return false;
  }
}

function clone(from: string, to: string): Promise<void> {
  const flags = constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE;
  return new Promise((resolve, reject) => {
    copyFile(from, to, flags, (error) => (error === null ? resolve() : reject(error)));
  });
}

export function changedFileOf({ target, before, after, not_kept }: Staged, made: readonly string[]): ChangedFile {
  return {
    path: target.path,
    real: target.real,
    before,
    after,
    ...(not_kept ? { not_kept } : {}),
    ...(made.length > 0 ? { folders_made: made } : {}),
  };
}
