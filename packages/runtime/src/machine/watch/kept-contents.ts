import { hash, randomBytes } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeWhole } from "../files/bytes.ts";
import { ownProcess } from "../files/process-owner.ts";
import { makeStateFolders, stateFolders } from "../files/state-folders.ts";
import { isSystemError, reasonOf } from "../files/system-error.ts";

export interface Span {
  readonly at: number;
  readonly size: number;
}

/** Small files are written together: a system call for each would cost more than its bytes do. */
const BATCH_BYTES = 1 << 20;

/**
 * What is kept is forgotten as a whole when it grows beyond this and no command runs: most of it is of files that are
 * long gone by then. There is an end to it in any case, at twice as much.
 */
const MAX_BYTES = 512 << 20;

/**
 * What files held before a command, each content once. It is needed only until the command is over: what was changed is
 * copied to the log of changes then, the rest never has to reach the disk. It is a file of this process, so that the next
 * start finds it where the process was killed while a command ran, see `StoredLooks`. The caller clears it.
 */
export class KeptContents {
  readonly #state_dir: string;
  readonly #spans = new Map<string, Span>();
  /** What is not written yet: the first `#batched` bytes of it. */
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

  /** What a process that is gone had kept. Throws what the system says. */
  static reopen(state_dir: string, path: string, spans: ReadonlyMap<string, Span>): KeptContents {
    const contents = new KeptContents(state_dir);
    contents.#fd = openSync(path, "a+");
    contents.#path = path;
    contents.#size = fstatSync(contents.#fd).size;
    for (const [sha256, span] of spans) contents.#spans.set(sha256, span);
    return contents;
  }

  /** The file; undefined while nothing is kept. */
  get path(): string | undefined {
    return this.#path;
  }

  /** Where each content is, in the order in which they were kept. Of use as long as `epoch` is the same. */
  get spans(): ReadonlyMap<string, Span> {
    return this.#spans;
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** Hands all that is kept to the system, where it outlasts this process. */
  flush(): void {
    try {
      if (this.#fd !== undefined) this.#flush(this.#fd);
    } catch (error) {
      this.#giveUp(error);
    }
  }

  /** Why nothing more can be kept, as a clause; undefined where it can. */
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

  /** False where it cannot be: a full disk is no reason not to run a command, but is told. */
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

  /** Undefined where it is not kept. */
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

  /** Whether forgetting all but these would free so much that it is worth copying them. */
  isMostlyWaste(wanted: Iterable<string>): boolean {
    let waste = this.#size;
    for (const sha256 of new Set(wanted)) waste -= this.#spans.get(sha256)?.size ?? 0;
    return this.#problem !== undefined || waste >= MAX_BYTES / 4;
  }

  /** Forgets everything but these. */
  keepOnly(wanted: Iterable<string>): void {
    const kept = [...wanted];
    const old = new KeptContents(this.#state_dir);
    old.#takeOver(this);
    this.clear();
    for (const sha256 of kept) {
      const content = old.read(sha256);
      if (content !== undefined) this.keep(sha256, content);
    }
    old.clear();
  }

  #takeOver(other: KeptContents): void {
    other.flush();
    for (const [sha256, span] of other.#spans) this.#spans.set(sha256, span);
    this.#size = other.#size;
    this.#fd = other.#fd;
    this.#path = other.#path;
    other.#fd = undefined;
    other.#path = undefined;
  }

  /** Closes the file, and leaves it for others. */
  release(): void {
    this.#path = undefined;
    this.clear();
  }

  /** Forgets everything. */
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

  /** What is in the file stays; what was not written yet is forgotten. */
  #giveUp(error: unknown): void {
    if (!isSystemError(error)) throw error;
    const written = this.#size - this.#batched;
    for (const [sha256, { at, size }] of this.#spans) if (at + size > written) this.#spans.delete(sha256);
    this.#batched = 0;
    this.#size = written;
    this.#epoch++;
    this.#problem = reasonOf(error);
    // Nothing is written from now on, so that what half a write left at its end does no harm.
  }
}
