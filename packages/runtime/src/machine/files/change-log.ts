import { closeSync, ftruncateSync, openSync, renameSync, unlinkSync } from "node:fs";
import { basename, join } from "node:path";
import type { Clock } from "../../contract/host.ts";
import type { UndoRecord } from "../../contract/undo-keeper.ts";
import { makeId } from "../../protocol/ids.ts";
import { writeWhole } from "../system/bytes.ts";
import { Pack } from "./pack.ts";
import type { Packed } from "./pack.ts";
import { ownProcess } from "../system/process-owner.ts";
import { isValidLine } from "./log-line.ts";
import { stateFolders } from "../system/state-folders.ts";
import type { Syncs } from "../system/syncs.ts";
import { temporaryPrefix } from "../system/temporary-name.ts";

/** Facts about a file's change that only recovery needs; one per file of the record, in the same order. */
export interface StagedFacts {
  /** Inode numbers distinguish files with the same content. Device numbers are omitted: they may change at a boot. */
  readonly before_inode: string | null;
  readonly after_inode: string | null;
  /** Name, in the same folder, of the backup that is restored if the change is interrupted. */
  readonly backup: string | null;
}

/** done: applied. failed: not applied. left: partly applied, and other processes changed the rest. */
export type Outcome = "done" | "failed" | "left";

/**
 * The lines of a log. A change writes `making` (folders), `change` (durable before the first file changes), `ended`.
 * A change without `ended` whose process is gone was interrupted.
 */
export type LogLine =
  | { readonly folder: string } // may contain temporary files of this log
  | { readonly making: readonly string[]; readonly undo_id: string }
  | ChangeLine
  | (ChangeLine & DoneLine)
  | { readonly put_back: string; readonly undo_id: string; readonly inode: string }
  | { readonly ended: string; readonly outcome: Outcome };

export interface ChangeLine {
  readonly change: UndoRecord;
  readonly staged: readonly StagedFacts[];
  readonly packed?: readonly Packed[];
  /** Set for an undo: if interrupted, it is completed instead of rolled back. */
  readonly restoring?: true;
}

/** A change made by another process, recorded afterwards in one line, so that it never looks interrupted. */
interface DoneLine {
  readonly ended: string;
  readonly outcome: "done";
}

/** Lookups read complete logs, so their size is limited. */
const MAX_BYTES = 8 << 20;
const MAX_PACK_BYTES = 64 << 20;
/** Where the writing process cannot be seen, a log older than this is considered abandoned. */
const MAX_AGE_MS = 12 * 3_600_000;

/** `<id>@<owner>.jsonl` while its process writes it, `<id>.jsonl` once it is closed. */
export function parseLogName(name: string): { readonly id: string; readonly owner: string } {
  const [id = "", owner = ""] = basename(name, ".jsonl").split("@");
  return { id, owner };
}

export function closedPath(state_dir: string, { id }: { readonly id: string }): string {
  return join(stateFolders(state_dir).closed, `${id}.jsonl`);
}

/** The log that a process is currently writing. */
export class ChangeLog {
  readonly pack: Pack;
  readonly #id: string;
  readonly #path: string;
  readonly #fd: number;
  readonly #state_dir: string;
  readonly #known = new Set<string>();
  readonly #madeMs: number;
  #pending: LogLine[] = [];
  #nameSynced = false;
  #size = 0;
  #temporaries = 0;
  #users = 0;
  #hasChanges = false;
  #hasPartialChange = false;
  #retired = false;

  constructor(state_dir: string, nowMs: number) {
    this.#state_dir = state_dir;
    this.#madeMs = nowMs;
    this.#id = makeId("undo", nowMs);
    this.#path = join(stateFolders(state_dir).open, `${this.#id}@${ownProcess()}.jsonl`);
    this.#fd = openSync(this.#path, "ax", 0o600);
    this.pack = new Pack(state_dir, this.#id);
  }

  isFull(nowMs: number): boolean {
    return this.#size >= MAX_BYTES || this.pack.size >= MAX_PACK_BYTES || nowMs - this.#madeMs >= MAX_AGE_MS;
  }

  /**
   * Records how a change ended. Never throws, because the change has already happened. If the disk is full, the line is
   * written together with the next one; until then, or if this process dies first, recovery derives it from the files.
   */
  end(undo_id: string, outcome: Outcome): void {
    this.#pending.push({ ended: undo_id, outcome });
    if (outcome !== "failed") this.#hasChanges = true;
    try {
      this.#writePending();
    } catch {
      // Written with the next line, see above.
    }
  }

  /** Marks that a change could neither be completed nor rolled back and needs recovery. */
  markPartial(): void {
    this.#hasPartialChange = true;
  }

  #writePending(): void {
    for (let line = this.#pending[0]; line !== undefined; line = this.#pending[0]) {
      this.#write(line);
      this.#pending.shift();
    }
  }

  append(line: LogLine): void {
    this.#writePending();
    this.#write(line);
  }

  /**
   * Appends a change. Resolves when the line, the packed contents that it refers to, and all that `syncs` collected are
   * durable.
   */
  async store(line: ChangeLine | (ChangeLine & DoneLine), syncs: Syncs): Promise<void> {
    const { packed = [] } = line;
    this.append(line);
    if ("ended" in line) this.#hasChanges = true;
    this.pack.refer(packed);
    this.pack.addTo(syncs, packed);
    this.addTo(syncs);
    await syncs.run();
    this.pack.markSynced(packed);
  }

  /** All or nothing: a line written in part because the disk is full is truncated again. */
  #write(line: LogLine): void {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    try {
      writeWhole(this.#fd, bytes);
    } catch (error) {
      ftruncateSync(this.#fd, this.#size);
      throw error;
    }
    this.#size += bytes.length;
  }

  addTo(syncs: Syncs): void {
    if (!this.#nameSynced) syncs.add(openSync(stateFolders(this.#state_dir).open, "r"));
    this.#nameSynced = true;
    syncs.addLog(this.#fd);
  }

  /** A new name for a temporary file. Records its folder first, so that recovery sweeps it. */
  temporaryName(folder: string, ending: "tmp" | "old"): string {
    if (!this.#known.has(folder)) {
      this.append({ folder });
      this.#known.add(folder);
    }
    return `${temporaryPrefix({ id: this.#id })}${++this.#temporaries}.${ending}`;
  }

  /** Registers a user of the log; each `enter` needs a `leave`. */
  enter(): this {
    this.#users++;
    return this;
  }

  leave(): void {
    this.#users--;
    this.#closeIfDone();
  }

  /** Gives the log to no new user; closes it when the last user leaves. */
  retire(): void {
    this.#retired = true;
    this.#closeIfDone();
  }

  /**
   * A log that contains a change with unknown outcome stays open, so that recovery finds it after this process ends.
   */
  #closeIfDone(): void {
    if (!this.#retired || this.#users > 0) return;
    const isComplete = !this.#hasPartialChange && this.#pending.length === 0;
    closeSync(this.#fd);
    this.pack.close(this.#hasChanges || !isComplete);
    if (!isComplete) return;
    if (this.#hasChanges) renameSync(this.#path, closedPath(this.#state_dir, { id: this.#id }));
    else unlinkSync(this.#path);
  }
}

/** Provides the log to write to: a new one at first, and whenever the current one is full. */
export class ChangeLogs {
  readonly #state_dir: string;
  readonly #clock: Clock;
  #current: ChangeLog | undefined;

  constructor(state_dir: string, clock: Clock) {
    this.#state_dir = state_dir;
    this.#clock = clock;
  }

  enter(): ChangeLog {
    const nowMs = this.#clock();
    if (this.#current?.isFull(nowMs) === true) this.close();
    this.#current ??= new ChangeLog(this.#state_dir, nowMs);
    return this.#current.enter();
  }

  close(): void {
    this.#current?.retire();
    this.#current = undefined;
  }
}

/** Every complete line of a log. A last line truncated by a power loss is ignored: nothing relied on it yet. */
export function parseLines(text: string): LogLine[] {
  return parseJsonLines(text).filter(isValidLine);
}

/** Whether a log contains lines that no version of this program writes: it is damaged or foreign. */
export function isDamaged(text: string): boolean {
  return !parseJsonLines(text).every(isValidLine);
}

function parseJsonLines(text: string): unknown[] {
  const lines: unknown[] = [];
  for (const line of text.split("\n")) {
    if (line === "") continue;
    try {
      lines.push(JSON.parse(line));
    } catch {
      // Truncated, see above.
    }
  }
  return lines;
}
