import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";

export interface RotatingFileOptions {
  readonly path: string;
  /** A file that would grow beyond this size becomes `<path>.1`, the previous one `<path>.2`, and so on. */
  readonly maxBytes: number;
  /** Number of files kept, including the current one. */
  readonly kept: number;
}

const NEW_LINE = 10;

/** Appends lines to a file of bounded size. Only one process may write to it. */
export class RotatingFile {
  readonly #options: RotatingFileOptions;
  #fd: number | undefined;
  #bytes = 0;
  /** The file ends within a line: the disk was full, or the writer was killed. */
  #isCut = false;

  constructor(options: RotatingFileOptions) {
    this.#options = options;
  }

  /** Throws the file system error. The next line retries. */
  write(line: string): void {
    const text = Buffer.from(`${line}\n`);
    try {
      const fd = this.#fdFor(text.length);
      const whole = this.#isCut ? Buffer.concat([Buffer.from([NEW_LINE]), text]) : text;
      const written = writeSync(fd, whole);
      this.#bytes += written;
      this.#isCut = whole[written - 1] !== NEW_LINE;
      if (written < whole.length) throw Object.assign(new Error("No space left for the log line"), { code: "ENOSPC" });
    } catch (error) {
      this.close();
      throw error;
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #fdFor(bytes: number): number {
    // The file may have been deleted: writes to it would be lost.
    if (this.#fd !== undefined && fstatSync(this.#fd).nlink === 0) this.close();
    this.#fd ??= this.#open();
    if (this.#bytes === 0 || this.#bytes + bytes <= this.#options.maxBytes) return this.#fd;
    this.close();
    this.#rotate();
    this.#fd = this.#open();
    return this.#fd;
  }

  #open(): number {
    const { path } = this.#options;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const fd = openSync(path, "a+", 0o600);
    this.#bytes = fstatSync(fd).size;
    this.#isCut = this.#bytes > 0 && lastByte(fd, this.#bytes) !== NEW_LINE;
    return fd;
  }

  #rotate(): void {
    const { path, kept } = this.#options;
    for (let number = kept - 2; number >= 1; number--)
      if (existsSync(`${path}.${number}`)) renameSync(`${path}.${number}`, `${path}.${number + 1}`);
    renameSync(path, `${path}.1`);
  }
}

function lastByte(fd: number, size: number): number | undefined {
  const byte = Buffer.alloc(1);
  readSync(fd, byte, 0, 1, size - 1);
  return byte[0];
}
