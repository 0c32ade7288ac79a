import { appendFileSync, closeSync, readdirSync, readFileSync, renameSync, rmdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { UndoRecord } from "../../contract/undo.ts";
import { closedPath, parseLines, parseLogName } from "./change-log.ts";
import type { LogLine, Outcome, StagedFacts } from "./change-log.ts";
import { procPath } from "./handle.ts";
import { leaveLocks, ownerOf, takeAway, tryLockAnew, unlock } from "./lock-files.ts";
import { readPacked } from "./pack.ts";
import type { Packed } from "./pack.ts";
import { pause } from "./pause.ts";
import { lifeOf } from "./process-owner.ts";
import { putInOrder } from "./put-in-order.ts";
import { stateFolders } from "./state-folders.ts";
import { openRealFolder, sweep } from "./sweep.ts";
import { temporaryPrefix } from "./temporary-name.ts";
import { UndoObjects } from "./undo-objects.ts";

/** A change of which a part is in place, and which cannot be put back because others have changed its files since. */
export interface LeftChange {
  readonly undo_id: string;
  readonly run_id: string;
  readonly tool_call_id: string;
  readonly files: readonly string[];
}

export interface Recovered {
  /** How many changes were cut short and are in order now: whole, or gone. */
  readonly changes: number;
  readonly left: readonly LeftChange[];
}

/** Logs of processes that cannot be seen: with a change under way nobody pauses as long, without one nobody is in a hurry. */
const UNSEEN_UNFINISHED_MS = 60_000;
const UNSEEN_IDLE_MS = 24 * 3_600_000;

const PAUSE_MS = 5;

/**
 * Puts in order what processes left that are gone: a change that was cut short becomes whole or nothing, temporary
 * files go, locks are taken away. Changes of live processes are not touched. To be done before the first change; costs
 * one look into a folder when there is nothing to do.
 */
export async function recoverChanges(state_dir: string): Promise<Recovered> {
  const { open, locks } = stateFolders(state_dir);
  const recovered: Recovered[] = [];
  for (const name of namesIn(open)) {
    const log = name.endsWith(".jsonl") ? await recoverLog(state_dir, name) : undefined;
    if (log !== undefined) recovered.push(log);
  }
  if (removeDeadLocks(state_dir) || recovered.length > 0) leaveLocks(locks);
  return {
    changes: recovered.reduce((sum, { changes }) => sum + changes, 0),
    left: recovered.flatMap(({ left }) => left),
  };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Several who find the same log wait for the one who is at it: none goes on before it is in order. */
async function recoverLog(state_dir: string, name: string): Promise<Recovered | undefined> {
  const { open, locks } = stateFolders(state_dir);
  const path = join(open, name);
  const lock = join(locks, parseLogName(name).id);
  while (isLeftBehind(path)) {
    if (tryLockAnew(lock)) {
      try {
        // Somebody may have been quicker between the look and the lock.
        return isLeftBehind(path) ? await recoverLocked(state_dir, path) : undefined;
      } finally {
        unlock(lock);
      }
    }
    await pause(PAUSE_MS, new AbortController().signal);
  }
  return undefined;
}

/** Whether nobody writes the log any more. Not so where it was put away. */
function isLeftBehind(path: string): boolean {
  const life = lifeOf(parseLogName(path).owner);
  if (life === "alive") return false;
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || life === "gone") return stats !== undefined;
  const ageMs = Date.now() - stats.mtimeMs;
  return ageMs > UNSEEN_IDLE_MS || (ageMs > UNSEEN_UNFINISHED_MS && readState(path).unfinished.length > 0);
}

interface LogState {
  /** Nothing, or the end of a last line that a power cut took, so that the next line begins anew. */
  readonly separator: string;
  readonly folders: readonly string[];
  readonly madeInVain: readonly string[];
  readonly packed: ReadonlyMap<string, Packed>;
  readonly unfinished: readonly { readonly change: UndoRecord; readonly staged: readonly StagedFacts[] }[];
  /** Inodes of files that were put back from the store, by undo_id and path. */
  readonly putBack: ReadonlyMap<string, string>;
}

function readState(path: string): LogState {
  const text = readFileSync(path, "utf8");
  const lines = parseLines(text);
  const ended = new Set(lines.flatMap((line) => ("ended" in line ? [line.ended] : [])));
  const recorded = new Set(lines.flatMap((line) => ("change" in line ? [line.change.undo_id] : [])));
  return {
    separator: text === "" || text.endsWith("\n") ? "" : "\n",
    folders: lines.flatMap((line) => ("folder" in line ? [line.folder] : [])),
    madeInVain: lines.flatMap((line) =>
      "making" in line && !ended.has(line.undo_id) && !recorded.has(line.undo_id) ? line.making : [],
    ),
    packed: new Map(
      lines.flatMap((line) => ("change" in line ? (line.packed ?? []) : [])).map((each) => [each.sha256, each]),
    ),
    unfinished: lines.flatMap((line) => ("change" in line && !ended.has(line.change.undo_id) ? [line] : [])),
    putBack: new Map(
      lines.flatMap((line) => ("put_back" in line ? [[`${line.undo_id} ${line.put_back}`, line.inode] as const] : [])),
    ),
  };
}

async function recoverLocked(state_dir: string, path: string): Promise<Recovered> {
  const log = parseLogName(path);
  const state = readState(path);
  let { separator } = state;
  const append = (line: LogLine): void => {
    appendFileSync(path, `${separator}${JSON.stringify(line)}\n`);
    separator = "";
  };
  const objects = new UndoObjects(state_dir);
  const contentOf = (sha256: string): Buffer | undefined => {
    const packed = state.packed.get(sha256);
    return (packed && readPacked(state_dir, log.id, packed)) ?? objects.read(sha256);
  };
  const prefix = temporaryPrefix(log);
  const outcomes: { readonly change: UndoRecord; readonly outcome: Outcome }[] = [];
  for (const { change, staged } of state.unfinished) {
    const outcome = await putInOrder(change, staged, { contentOf, prefix, append, putBack: state.putBack });
    outcomes.push({ change, outcome });
  }
  // Only now: backups are temporary files too, and temporary files keep folders from being removed.
  sweep(state.folders, prefix);
  const failed = outcomes.filter(({ outcome }) => outcome === "failed").flatMap(({ change }) => change.files);
  removeFolders([...state.madeInVain, ...failed.flatMap(({ folders_made = [] }) => folders_made)]);
  for (const { change, outcome } of outcomes) append({ ended: change.undo_id, outcome });
  renameSync(path, closedPath(state_dir, log));
  const left = outcomes.filter(({ outcome }) => outcome === "left").map(({ change }) => toldOf(change));
  return { changes: outcomes.length - left.length, left };
}

function toldOf({ undo_id, run_id, tool_call_id, files }: UndoRecord): LeftChange {
  return { undo_id, run_id, tool_call_id, files: files.map(({ real }) => real) };
}

/** Innermost first, and only while they are empty. */
function removeFolders(folders: readonly string[]): void {
  for (const folder of [...new Set(folders)].sort().reverse()) {
    const above = openRealFolder(dirname(folder));
    if (above === undefined) continue;
    try {
      rmdirSync(`${procPath(above)}/${basename(folder)}`);
    } catch {
      // Not made yet, gone, or no longer empty and thus in use.
    } finally {
      closeSync(above);
    }
  }
}

/**
 * Locks stay as long as there is a log of their owner: what they guard may be half done. The logs are looked for when
 * the owner is known to be gone, and can make none any more. Says whether there was anything to take away.
 */
function removeDeadLocks(state_dir: string): boolean {
  const { open, locks } = stateFolders(state_dir);
  const dead = namesIn(locks).flatMap((name) => {
    const path = join(locks, name);
    const owner = ownerOf(path);
    return owner !== undefined && lifeOf(owner) === "gone" ? [{ path, owner }] : [];
  });
  if (dead.length === 0) return false;
  const withLogs = new Set(namesIn(open).map((name) => parseLogName(name).owner));
  for (const { path, owner } of dead) if (!withLogs.has(owner)) takeAway(path, owner);
  return true;
}
