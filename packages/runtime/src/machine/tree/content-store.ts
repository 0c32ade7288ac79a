import { hash, randomBytes } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeWhole } from "../system/bytes.ts";
import { ownProcess } from "../system/process-owner.ts";
import { makeStateFolders, stateFolders } from "../system/state-folders.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import { isSystemError } from "../system/system-error.ts";

export interface Span {
  readonly at: number;
  readonly size: number;
}

/** Small files are written in batches: one system call per file would cost more than writing its bytes. */
const BATCH_BYTES = 1 << 20;

/**
 * The store is cleared when it grows beyond this and no command runs: by then most of it belongs to files that are long
 * gone. The hard limit is twice as much.
 */
const MAX_BYTES = 512 << 20;

/**
 * Contents of files before a command, each content once. Needed only until the command is over: then changed contents
 * are copied to the undo log, and the rest never has to reach the disk. Backed by a file of this process, so that the
 * next start finds it if the process is killed while a command runs, see `SnapshotStore`. The caller clears it.
 */
export class ContentStore {
  readonly #state_dir: string;
  readonly #spans = new Map<string, Span>();
  /** Write buffer: its first `#batched` bytes are pending. */
  #batch: Buffer | undefined;
  #batched = 0;
  #size = 0;
  #fd: number | undefined;
  #path: string | undefined;
  #epoch = 0;
  #problem: string | undefined;

  constructor(state_dir: string) {
    this.#state_dir = state_dir;
  }

  /** Opens the store of a dead process. Throws system errors. */
  static reopen(state_dir: string, path: string, spans: ReadonlyMap<string, Span>): ContentStore {
    const contents = new ContentStore(state_dir);
    contents.#fd = openSync(path, "a+");
    contents.#path = path;
    contents.#size = fstatSync(contents.#fd).size;
    for (const [sha256, span] of spans) contents.#spans.set(sha256, span);
    return contents;
  }

  /** The file; undefined while the store is empty. */
  get path(): string | undefined {
    return this.#path;
  }

  /** Where each content is, in the order of storing. Valid as long as `epoch` is the same. */
  get spans(): ReadonlyMap<string, Span> {
    return this.#spans;
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** Writes the buffer to the file, which outlives this process. */
  flush(): void {
    try {
      if (this.#fd !== undefined) this.#flush(this.#fd);
    } catch (error) {
      this.#giveUp(error);
    }
  }

  /** Why nothing more can be stored, as a clause; undefined where it can. */
  get problem(): string | undefined {
    return this.#problem;
  }

  get isLarge(): boolean {
    return this.#size > MAX_BYTES;
  }

  /** Whether this number of bytes still fits. */
  canTake(bytes: number): boolean {
    return this.#problem === undefined && this.#size + bytes <= 2 * MAX_BYTES;
  }

  has(sha256: string | undefined): boolean {
    return sha256 !== undefined && this.#spans.has(sha256);
  }

  /** False on failure: a full disk does not prevent the command, but is reported. */
  keep(sha256: string, content: Uint8Array): boolean {
    if (this.#spans.has(sha256)) return true;
    if (!this.canTake(content.length)) return false;
    try {
      this.#add((this.#fd ??= this.#open()), content);
      this.#spans.set(sha256, { at: this.#size, size: content.length });
      this.#size += content.length;
      return true;
    } catch (error) {
      this.#giveUp(error);
      return false;
    }
  }

  /** Undefined where it is not stored. */
  read(sha256: string): Buffer | undefined {
    const span = this.#spans.get(sha256);
    if (span === undefined || this.#fd === undefined) return undefined;
    try {
      if (span.at >= this.#size - this.#batched) this.#flush(this.#fd);
      const content = Buffer.alloc(span.size);
      readSync(this.#fd, content, 0, span.size, span.at);
      return hash("sha256", content, "hex") === sha256 ? content : undefined;
    } catch (error) {
      this.#giveUp(error);
      return undefined;
    }
  }

  /** Whether dropping all but these would free enough space to be worth the copying. */
  isMostlyWaste(wanted: Iterable<string>): boolean {
    let waste = this.#size;
    for (const sha256 of new Set(wanted)) waste -= this.#spans.get(sha256)?.size ?? 0;
    return this.#problem !== undefined || waste >= MAX_BYTES / 4;
  }

  /** Drops everything but these. */
  keepOnly(wanted: Iterable<string>): void {
    const kept = [...wanted];
    const old = new ContentStore(this.#state_dir);
    old.#takeOver(this);
    this.clear();
    for (const sha256 of kept) {
      const content = old.read(sha256);
      if (content !== undefined) this.keep(sha256, content);
    }
    old.clear();
  }

  #takeOver(other: ContentStore): void {
    other.flush();
    for (const [sha256, span] of other.#spans) this.#spans.set(sha256, span);
    this.#size = other.#size;
    this.#fd = other.#fd;
    this.#path = other.#path;
    other.#fd = undefined;
    other.#path = undefined;
  }

  /** Closes the file but does not delete it: another process may need it. */
  release(): void {
    this.#path = undefined;
    this.clear();
  }

  /** Drops everything. */
  clear(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    if (this.#path !== undefined) rmSync(this.#path, { force: true });
    this.#fd = undefined;
    this.#path = undefined;
    this.#epoch++;
    this.#problem = undefined;
    this.#spans.clear();
    this.#batch = undefined;
    this.#batched = 0;
    this.#size = 0;
  }

  #open(): number {
    makeStateFolders(this.#state_dir);
    this.#path = join(
      stateFolders(this.#state_dir).looks,
      `${randomBytes(8).toString("hex")}@${ownProcess()}.contents`,
    );
    return openSync(this.#path, "ax+", 0o600);
  }

  #add(fd: number, content: Uint8Array): void {
    if (this.#batched + content.length > BATCH_BYTES) this.#flush(fd);
    if (content.length > BATCH_BYTES) {
      writeWhole(fd, content);
      return;
    }
    this.#batch ??= Buffer.allocUnsafeSlow(BATCH_BYTES);
    this.#batch.set(content, this.#batched);
    this.#batched += content.length;
  }

  #flush(fd: number): void {
    if (this.#batch === undefined || this.#batched === 0) return;
    writeWhole(fd, this.#batch.subarray(0, this.#batched));
    this.#batched = 0;
  }

  /** Contents in the file stay; pending ones are dropped. */
  #giveUp(error: unknown): void {
    if (!isSystemError(error)) throw error;
    const written = this.#size - this.#batched;
    for (const [sha256, { at, size }] of this.#spans) if (at + size > written) this.#spans.delete(sha256);
    this.#batched = 0;
    this.#size = written;
    this.#epoch++;
    this.#problem = reasonOf(error);
    // Nothing is written from now on, so a partial write at the end of the file does no harm.
  }
}
