import { hash } from "node:crypto";
import { closeSync, constants, fstatSync, lstatSync, openSync } from "node:fs";
import type { BigIntStats } from "node:fs";
import { basename, dirname } from "node:path";
import type { FileBefore } from "../../contract/context.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import { judgePlace } from "../../policy/paths/check-path.ts";
import { ToolError } from "../../protocol/errors.ts";
import { AT_ONCE_BYTES, hashPieces, readSpan } from "./bytes.ts";
import { ConcurrentChangeError, realPathChanged } from "./concurrent-change.ts";
import type { OpenFolders } from "./folders.ts";
import { identityOf, kindOf } from "./handle.ts";
import { asToolError } from "./system-error.ts";

export interface TargetOptions {
  readonly folders: OpenFolders;
  readonly workspace: WorkspaceContext;
  readonly signal: AbortSignal;
  /** Larger files are not read into memory. */
  readonly edit_limit_bytes: number;
}

const MEBIBYTE = 1 << 20;

/** A file to be changed, as it was found. Its content is read on demand, once. */
export class Target implements FileBefore {
  readonly path: string;
  readonly real: string;
  /** The real path of its folder, and its name there. */
  readonly folder: string;
  readonly name: string;
  readonly stats: BigIntStats | undefined;
  readonly facts: FileBefore["facts"];
  readonly #options: TargetOptions;
  #content: Buffer | undefined;
  #sha256: string | undefined;

  constructor(path: string, real: string, options: TargetOptions) {
    this.path = path;
    this.real = real;
    this.folder = dirname(real);
    this.name = basename(real);
    this.#options = options;
    const refusal = judgePlace(real, options.workspace);
    if (refusal !== undefined)
      throw new ToolError(refusal.code, `Cannot change "${path}": ${refusal.reason}`, { path });
    const missing = options.folders.missing(this.folder, path);
    this.stats = missing.length > 0 ? undefined : this.#look();
    if (this.stats !== undefined) refuseOther(this.stats, path);
    this.facts = this.stats === undefined ? null : factsOf(this.stats);
  }

  get size(): number {
    return this.facts?.size ?? 0;
  }

  async read(): Promise<Buffer> {
    if (this.#content !== undefined) return this.#content;
    const { edit_limit_bytes } = this.#options;
    if (this.size > edit_limit_bytes) {
      throw new ToolError(
        "FileTooLarge",
        `Cannot load "${this.path}" into memory: it has ${this.size} bytes, and at most ${edit_limit_bytes} ` +
          `(${edit_limit_bytes / MEBIBYTE} MiB) can be edited; append to it, or change it with a command`,
        { path: this.path, size: this.size, limit_bytes: edit_limit_bytes },
      );
    }
    if (this.stats === undefined) return Buffer.alloc(0);
    const content = await this.use((fd) => readSpan(fd, { position: 0, length: this.size }, this.#options.signal));
    if (content.length !== this.size) throw new ConcurrentChangeError(this.path);
    return (this.#content = content);
  }

  async readEnd(length: number): Promise<Buffer> {
    if (this.stats === undefined) return Buffer.alloc(0);
    if (this.isInMemory) return (await this.read()).subarray(Math.max(0, this.size - length));
    const position = Math.max(0, this.size - length);
    return await this.use((fd) => readSpan(fd, { position, length: this.size - position }, this.#options.signal));
  }

  async sha256(): Promise<string | undefined> {
    if (this.stats === undefined) return undefined;
    if (this.isInMemory) {
      return (this.#sha256 ??= hash("sha256", await this.read(), "hex"));
    }
    return (this.#sha256 ??= (await this.use((fd) => hashPieces(fd, this.#options.signal))).digest("hex"));
  }

  /** Whether `read` needs no, or only little, additional memory. */
  get isInMemory(): boolean {
    return this.#content !== undefined || this.size <= Math.min(AT_ONCE_BYTES, this.#options.edit_limit_bytes);
  }

  /** Runs the work with the file that was found. Throws if it was replaced or never existed. */
  async use<T>(work: (fd: number) => Promise<T>): Promise<T> {
    const fd = this.#open();
    try {
      const stats = fstatSync(fd, { bigint: true });
      if (this.stats === undefined || identityOf(stats) !== identityOf(this.stats)) {
        throw new ConcurrentChangeError(this.path);
      }
      return await work(fd);
    } finally {
      closeSync(fd);
    }
  }

  /** A path to the file, or to another name in its folder. */
  at(name = this.name): string {
    return this.#options.folders.at(this.folder, name);
  }

  isUnchanged(): boolean {
    if (this.stats === undefined) return this.#look() === undefined;
    const now = this.#look();
    return now !== undefined && identityOf(now) === identityOf(this.stats);
  }

  #look(): BigIntStats | undefined {
    try {
      return lstatSync(this.at(), { bigint: true, throwIfNoEntry: false });
    } catch (error) {
      throw asToolError(error, this.path, "change");
    }
  }

  #open(): number {
    try {
      return openSync(this.at(), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT" || code === "ELOOP") throw new ConcurrentChangeError(this.path);
      throw asToolError(error, this.path, "read");
    }
  }
}

function factsOf(stats: BigIntStats): FileBefore["facts"] {
  return {
    kind: "file",
    size: Number(stats.size),
    modified_ms: Number(stats.mtimeMs),
    mode: Number(stats.mode & 0o7777n),
  };
}

/** Only regular files are changed. */
function refuseOther(stats: BigIntStats, path: string): void {
  const kind = kindOf(stats);
  if (kind === "file") return;
  if (kind === "link") throw realPathChanged(path);
  const what = kind === "directory" ? "a folder" : "not a regular file but a pipe, a socket or a device";
  throw new ToolError("InvalidArguments", `Cannot change "${path}": it is ${what}`, { path });
}
