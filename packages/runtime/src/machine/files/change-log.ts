import { closeSync, ftruncateSync, openSync, renameSync, unlinkSync } from "node:fs";
import { basename, join } from "node:path";
import type { Clock } from "../../contract/host.ts";
import type { UndoRecord } from "../../contract/undo.ts";
import { makeId } from "../../protocol/ids.ts";
import { writeWhole } from "./bytes.ts";
import { Pack } from "./pack.ts";
import type { Packed } from "./pack.ts";
import { ownProcess } from "./process-owner.ts";
import { isSoundLine } from "./sound-line.ts";
import { stateFolders } from "./state-folders.ts";
import type { Syncs } from "./syncs.ts";
import { temporaryPrefix } from "./temporary-name.ts";

/** What of a file's change only recovery needs to know; one for each file of the record, in its order. */
export interface StagedFacts {
  /** Inode numbers: they tell a file apart from another one of the same content. Devices get new numbers at a boot. */
  readonly before_inode: string | null;
  readonly after_inode: string | null;
  /** Name, in the same folder, of what is put back if the change does not come to its end. */
  readonly backup: string | null;
}

/** done: in place. failed: nothing of it is. left: half of it is, and the rest was changed by others. */
export type Outcome = "done" | "failed" | "left";

/**
 * The lines of a log. A change goes `making` (folders), `change` (on the disk before the first file changes), `ended`.
 * One that has not ended was cut short, if its process is gone.
 */
export type LogLine =
  | { readonly folder: string } // one in which temporary files of this log may be found
  | { readonly making: readonly string[]; readonly undo_id: string }
  | {
      readonly change: UndoRecord;
      readonly staged: readonly StagedFacts[];
      readonly packed?: readonly Packed[];
      /** What undo restores: one that was cut short is finished, not rolled back. */
      readonly restoring?: true;
    }
  /** What somebody else did, put on record when it was done: in one line, so that nobody ever finds it cut short. */
  | (DoneLine & { readonly staged: readonly []; readonly packed: readonly Packed[] })
  | { readonly put_back: string; readonly undo_id: string; readonly inode: string }
  | { readonly ended: string; readonly outcome: Outcome };

interface DoneLine {
  readonly change: UndoRecord;
  readonly ended: string;
  readonly outcome: "done";
}

/** Logs are read whole to find something, so they do not grow without end. */
const MAX_BYTES = 8 << 20;
const MAX_PACK_BYTES = 64 << 20;
/** A log in which nobody writes any more can be told by its age, where its process cannot be seen. */
const MAX_AGE_MS = 12 * 3_600_000;

/** `<id>@<owner>.jsonl` while its process writes it, `<id>.jsonl` when it is put away. */
export function parseLogName(name: string): { readonly id: string; readonly owner: string } {
  const [id = "", owner = ""] = basename(name, ".jsonl").split("@");
  return { id, owner };
}

export function closedPath(state_dir: string, { id }: { readonly id: string }): string {
  return join(stateFolders(state_dir).closed, `${id}.jsonl`);
}

/** The log of one process, as long as it is the one that is written. */
export class ChangeLog {
  readonly pack: Pack;
  readonly #id: string;
  readonly #path: string;
  readonly #fd: number;
  readonly #state_dir: string;
  readonly #known = new Set<string>();
  readonly #madeMs: number;
  #owed: LogLine[] = [];
  #nameSynced = false;
  #size = 0;
  #temporaries = 0;
  #users = 0;
  #keepsSomething = false;
  #hasHalfDone = false;
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
   * Says how a change ended. Never throws: the change is what it is. What a full disk does not take is said with the
   * next line, and until then, or if this process dies before, the files themselves say it.
   */
  end(undo_id: string, outcome: Outcome): void {
    this.#owed.push({ ended: undo_id, outcome });
    if (outcome !== "failed") this.#keepsSomething = true;
    try {
      this.#payOff();
    } catch {
      // Owed, see above.
    }
  }

  /** A change that could neither be brought to its end nor be put back waits for a recovery. */
  leaveHalfDone(): void {
    this.#hasHalfDone = true;
  }

  #payOff(): void {
    for (let line = this.#owed[0]; line !== undefined; line = this.#owed[0]) {
      this.#write(line);
      this.#owed.shift();
    }
  }

  append(line: LogLine): void {
    this.#payOff();
    this.#write(line);
  }

  /** Adds a change that somebody else has made, with where its old contents lie in the pack. */
  appendDone(change: UndoRecord, packed: readonly Packed[]): void {
    this.append({ change, staged: [], packed, ended: change.undo_id, outcome: "done" });
    this.#keepsSomething = true;
  }

  /** All of it or nothing: what a full disk let through of a line is taken off again. */
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

  /** A new name for a temporary file, in a folder that is on record as one to be swept. */
  temporaryName(folder: string, ending: "tmp" | "old"): string {
    if (!this.#known.has(folder)) {
      this.append({ folder });
      this.#known.add(folder);
    }
    return `${temporaryPrefix({ id: this.#id })}${++this.#temporaries}.${ending}`;
  }

  /** Whoever uses the log gives it back with `leave`. */
  enter(): this {
    this.#users++;
    return this;
  }

  leave(): void {
    this.#users--;
    this.#putAway();
  }

  /** Nobody gets it any more; put away when the last user leaves. */
  retire(): void {
    this.#retired = true;
    this.#putAway();
  }

  /** A log with a change of which the end is not known stays where it is looked for after this process. */
  #putAway(): void {
    if (!this.#retired || this.#users > 0) return;
    const isInOrder = !this.#hasHalfDone && this.#owed.length === 0;
    closeSync(this.#fd);
    this.pack.close(this.#keepsSomething || !isInOrder);
    if (!isInOrder) return;
    if (this.#keepsSomething) renameSync(this.#path, closedPath(this.#state_dir, { id: this.#id }));
    else unlinkSync(this.#path);
  }
}

/** Which log is written: a new one when there is none yet, or the last one is full. */
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

/** Every whole line of a log. What a power cut left of a last line is no line: nothing had begun to rely on it. */
export function parseLines(text: string): LogLine[] {
  return parseJsonLines(text).filter(isSoundLine);
}

/** Whether a log holds lines that no version of ours writes: it is damaged, or somebody else's. */
export function isUnsound(text: string): boolean {
  return !parseJsonLines(text).every(isSoundLine);
}

function parseJsonLines(text: string): unknown[] {
  const lines: unknown[] = [];
  for (const line of text.split("\n")) {
    if (line === "") continue;
    try {
      lines.push(JSON.parse(line));
    } catch {
      // Torn, see above.
    }
  }
  return lines;
}
