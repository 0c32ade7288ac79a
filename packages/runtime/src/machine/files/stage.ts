import { hash } from "node:crypto";
import { accessSync, constants, copyFile, fchmodSync, fchownSync, fstatSync, openSync } from "node:fs";
import type { BigIntStats } from "node:fs";
import type { FileChange } from "../../contract/context.ts";
import type { ChangedFile, FileVersion } from "../../contract/undo.ts";
import { ToolError } from "../../protocol/errors.ts";
import { hashPieces, writeAll } from "./bytes.ts";
import type { ChangeLog } from "./change-log.ts";
import { ChangedMeanwhile } from "./changed-meanwhile.ts";
import { procPath } from "./handle.ts";
import { PACKED_BYTES } from "./pack.ts";
import type { Packed } from "./pack.ts";
import { doing, isSystemError, reasonOf } from "./system-error.ts";
import type { Syncs } from "./syncs.ts";
import type { Target } from "./target.ts";
import type { UndoObjects } from "./undo-objects.ts";

/** One file that is ready to change: its new content lies beside it, its old content is kept. */
export interface Staged {
  readonly target: Target;
  readonly before: FileVersion | null;
  readonly after: FileVersion | null;
  readonly not_kept: boolean;
  /** Where the new content is; null where the file is to go. */
  readonly temporary: string | null;
  readonly after_inode: string | null;
}

export interface StageOptions {
  readonly log: ChangeLog;
  readonly objects: UndoObjects;
  readonly syncs: Syncs;
  readonly signal: AbortSignal;
  /** Old contents above it are not kept. */
  readonly keep_limit_bytes: number;
  /** Old contents that lie in the log's pack. */
  readonly packed: Packed[];
  /** Told of each temporary file before it is made, so that it can be removed whatever happens then. */
  readonly onTemporary: (target: Target, name: string) => void;
}

/** Gets a change ready without changing anything. Undefined where the file is already what it is to be. */
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
  const not_kept = await keepOld(target, before, options);
  const made = await makeTemporary(target, { ...options, mode, content });
  return { target, before, after: { sha256, size: content.length, mode: made.mode }, not_kept, ...made };
}

async function stageRemoval(target: Target, options: StageOptions): Promise<Staged | undefined> {
  const before = await versionOf(target);
  if (before === null) return undefined;
  const not_kept = await keepOld(target, before, options);
  return { target, before, after: null, not_kept, temporary: null, after_inode: null };
}

/** A file that is not to be held in memory is copied, or shared where the file system can, and the copy is added to. */
async function stageLongAppend(target: Target, added: Uint8Array, options: StageOptions): Promise<Staged | undefined> {
  if (added.length === 0 || target.facts === null) return undefined;
  const { size, mode } = target.facts;
  const name = newTemporary(target, options);
  const path = target.at(name);
  await target.use((from) => clone(procPath(from), path));
  const fd = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW);
  options.syncs.add(fd);
  // What was copied is what is kept and what is told: the file itself may have gone on changing.
  if (fstatSync(fd).size !== size) throw new ChangedMeanwhile(target.path);
  const sum = await hashPieces(fd, options.signal);
  const before = { sha256: sum.copy().digest("hex"), size, mode };
  const not_kept = size > options.keep_limit_bytes;
  if (!not_kept) await keeping(target, () => options.objects.putFile(before.sha256, fd, options));
  await writeAll(fd, added, { position: size, signal: options.signal });
  const made = takeOver(fd, { stats: target.stats, mode: undefined });
  const after = { sha256: sum.update(added).digest("hex"), size: size + added.length, mode: made.mode };
  return { target, before, after, not_kept, temporary: name, after_inode: made.after_inode };
}

async function versionOf(target: Target): Promise<FileVersion | null> {
  const sha256 = await target.sha256();
  if (target.facts === null || sha256 === undefined) return null;
  return { sha256, size: target.facts.size, mode: target.facts.mode };
}

/** Keeps what takes the change back. True where the old content is too large for that. */
async function keepOld(target: Target, before: FileVersion | null, options: StageOptions): Promise<boolean> {
  if (before === null) return false;
  if (before.size > options.keep_limit_bytes) return true;
  if (target.isInMemory) {
    const content = await target.read();
    await keeping(target, async () => {
      if (content.length <= PACKED_BYTES) options.packed.push(options.log.pack.keep(before.sha256, content));
      else await options.objects.put(before.sha256, content, options);
    });
    return false;
  }
  const isKept = await target.use((fd) => keeping(target, () => options.objects.putFile(before.sha256, fd, options)));
  if (!isKept) throw new ChangedMeanwhile(target.path);
  return false;
}

/** Without what takes it back nothing is changed. */
async function keeping<T>({ path }: Target, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new ToolError(
      "IOError",
      `Cannot change "${path}": what takes the change back could not be kept (${reasonOf(error)})`,
      { path, reason: (error as NodeJS.ErrnoException).code },
      error,
    );
  }
}

interface TemporaryOptions extends StageOptions {
  readonly content: Uint8Array;
  readonly mode: number | undefined;
}

interface Made {
  readonly temporary: string;
  readonly mode: number;
  readonly after_inode: string;
}

async function makeTemporary(target: Target, options: TemporaryOptions): Promise<Made> {
  const name = newTemporary(target, options);
  // A new file gets the mode that any program's new file gets; one that replaces another is nobody's to read till then.
  const mode = target.stats === undefined && options.mode === undefined ? 0o666 : 0o600;
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const fd = doing("change", target.path, () => openSync(target.at(name), flags, mode));
  options.syncs.add(fd);
  await writeAll(fd, options.content, { position: 0, signal: options.signal });
  return { temporary: name, ...takeOver(fd, { stats: target.stats, mode: options.mode }) };
}

function newTemporary(target: Target, options: StageOptions): string {
  const name = options.log.temporaryName(target.folder, "tmp");
  options.onTemporary(target, name);
  return name;
}

/** Gives a new file the owner and mode of the one that it replaces. */
function takeOver(
  fd: number,
  { stats, mode }: { stats: BigIntStats | undefined; mode: number | undefined },
): { readonly mode: number; readonly after_inode: string } {
  const own = fstatSync(fd, { bigint: true });
  const wanted = mode ?? (stats === undefined ? undefined : Number(stats.mode & 0o7777n));
  // First the owner: giving a file away takes its set-user-id bit.
  const isOwnerKept = stats === undefined || (stats.uid === own.uid && stats.gid === own.gid) || giveTo(fd, stats);
  if (wanted !== undefined) fchmodSync(fd, isOwnerKept ? wanted : wanted & 0o777);
  const now = wanted === undefined ? Number(own.mode & 0o7777n) : isOwnerKept ? wanted : wanted & 0o777;
  return { mode: now, after_inode: String(own.ino) };
}

/** False where this process may not: the file then becomes its own, as with any editor. */
function giveTo(fd: number, { uid, gid }: BigIntStats): boolean {
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
