import { closeSync, constants, fchmodSync, fstatSync, fsyncSync, lstatSync, openSync } from "node:fs";
import { renameSync, unlinkSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { ChangedEntry, FileVersion, UndoRecord, Version } from "../../contract/undo-keeper.ts";
import { hashPieces } from "../system/bytes.ts";
import type { LogLine, Outcome, StagedFacts } from "./change-log.ts";
import { procPath } from "../system/handle.ts";
import { openRealFolder } from "./sweep.ts";
import { isFileVersion } from "../../contract/versions.ts";

export interface RecoverOptions {
  /** The content with this hash, or undefined if it is not stored. */
  readonly contentOf: (sha256: string) => Buffer | undefined;
  /** Prefix of temporary file names, which are swept. */
  readonly prefix: string;
  readonly append: (line: LogLine) => void;
  /** Inodes of files restored from the store by a recovery that was itself interrupted. */
  readonly rolledBack: ReadonlyMap<string, string>;
}

/** One file of an interrupted change. Its folder is open if it was not moved. */
interface FileToRecover {
  readonly file: ChangedEntry;
  readonly facts: StagedFacts;
  readonly folder: number | undefined;
  readonly state: "old" | "new" | "other";
}

const UNKNOWN: StagedFacts = { before_inode: null, after_inode: null, backup: null };

/**
 * Resolves an interrupted change. If no file is still old, the change is done. If no file is new, it has failed. If
 * some are new, those are rolled back, unless another process has changed one of the files since: then it is left
 * alone.
 */
export async function recoverChange(
  change: UndoRecord,
  staged: readonly StagedFacts[],
  options: RecoverOptions,
): Promise<Outcome> {
  const files: FileToRecover[] = [];
  try {
    for (const [index, file] of change.files.entries()) {
      const facts = staged[index] ?? UNKNOWN;
      const again = options.rolledBack.get(`${change.undo_id} ${file.real}`);
      files.push(await examine(file, facts, again));
    }
    const has = (state: FileToRecover["state"]): boolean => files.some((each) => each.state === state);
    if (!has("old")) return "done";
    if (!has("new")) return "failed";
    const placed = files.filter(({ state }) => state === "new");
    if (has("other") || !placed.every((each) => canRollBack(each, options))) return "left";
    for (const each of placed) rollBack(each, change.undo_id, options);
    for (const { folder } of placed) if (folder !== undefined) fsyncSync(folder);
    return "failed";
  } finally {
    for (const { folder } of files) if (folder !== undefined) closeSync(folder);
  }
}

/** By inode and hash: the inode shows whether this program wrote the file, the hash whether it changed since. */
async function examine(file: ChangedEntry, facts: StagedFacts, again: string | undefined): Promise<FileToRecover> {
  const folder = openRealFolder(dirname(file.real));
  const is = (version: Version | null, inodes: readonly (string | null | undefined)[]): Promise<boolean> =>
    isAt(folder === undefined ? undefined : nameIn(folder, basename(file.real)), version, inodes);
  const isOld = await is(file.before, [facts.before_inode, again]);
  const state = isOld ? "old" : (await is(file.after, [facts.after_inode])) ? "new" : "other";
  return { file, facts, folder, state };
}

async function isAt(
  path: string | undefined,
  version: Version | null,
  inodes: readonly (string | null | undefined)[],
): Promise<boolean> {
  const stats = path === undefined ? undefined : lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (path === undefined || stats === undefined || version === null) return stats === undefined && version === null;
  if (
    !isFileVersion(version) ||
    !stats.isFile() ||
    stats.size !== BigInt(version.size) ||
    !inodes.includes(String(stats.ino))
  )
    return false;
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    return (await hashPieces(fd, new AbortController().signal)).digest("hex") === version.sha256;
  } finally {
    closeSync(fd);
  }
}

function nameIn(folder: number, name: string): string {
  return `${procPath(folder)}/${name}`;
}

function backupOf({ folder, facts }: FileToRecover): string | undefined {
  if (folder === undefined || facts.backup === null) return undefined;
  const path = nameIn(folder, facts.backup);
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true ? path : undefined;
}

function canRollBack(entry: FileToRecover, { contentOf }: RecoverOptions): boolean {
  const { before } = entry.file;
  if (entry.folder === undefined) return false;
  if (before === null || backupOf(entry) !== undefined) return true;
  return isFileVersion(before) && contentOf(before.sha256) !== undefined;
}

/** If this recovery is interrupted too, the next one can continue after any of its steps. */
function rollBack(entry: FileToRecover, undo_id: string, { contentOf, prefix, append }: RecoverOptions): void {
  const { file, folder } = entry;
  if (folder === undefined) return;
  const path = nameIn(folder, basename(file.real));
  if (file.before === null) {
    unlinkSync(path);
    return;
  }
  const backup = backupOf(entry);
  if (backup !== undefined) {
    renameSync(backup, path);
    return;
  }
  const old = file.before as FileVersion; // `canRollBack` checked that it is a file
  const temporary = nameIn(folder, `${prefix}recovery.tmp`);
  const fd = openSync(
    temporary,
    constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW,
    0o600,
  );
  try {
    writeFileSync(fd, contentOf(old.sha256) ?? "");
    fchmodSync(fd, old.mode);
    fsyncSync(fd);
    append({ put_back: file.real, undo_id, inode: String(fstatSync(fd, { bigint: true }).ino) });
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, path);
}
