import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

/** A segment of a log: the file `<id>.<start>.log` contains the output from position `start` on. */
interface Segment {
  readonly path: string;
  readonly start: number;
}

const NEW = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Writes output of any length and retains its end: at least half of the limit, at most all of it. */
export class LogWriter {
  readonly #options: { readonly folder: string; readonly id: string; readonly limit_bytes: number };
  #fd: number;
  #start = 0;
  #length = 0;
  #isCut = false;

  constructor(options: { readonly folder: string; readonly id: string; readonly limit_bytes: number }) {
    this.#options = options;
    this.#fd = this.#open(0);
  }

  /** Whether writing failed: nothing was written after that. */
  get isCut(): boolean {
    return this.#isCut;
  }

  add(piece: Uint8Array): void {
    if (this.#isCut) return;
    try {
      this.#write(piece);
    } catch {
      this.#isCut = true; // reported with the command's outcome; not the command's fault
    }
  }

  #write(piece: Uint8Array): void {
    const half = Math.ceil(this.#options.limit_bytes / 2);
    for (let at = 0; at < piece.length;) {
      if (this.#length >= half) this.#startNext();
      const written = writeSync(this.#fd, piece, at, Math.min(piece.length - at, half - this.#length));
      at += written;
      this.#length += written;
    }
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** Removes the file instead if it is empty. */
  discard(): void {
    const { folder, id } = this.#options;
    this.close();
    for (const { path } of segmentsOf(folder, id)) unlinkSync(path);
  }

  #startNext(): void {
    const { folder, id } = this.#options;
    closeSync(this.#fd);
    for (const { path, start } of segmentsOf(folder, id)) if (start < this.#start) unlinkSync(path);
    this.#start += this.#length;
    this.#length = 0;
    this.#fd = this.#open(this.#start);
  }

  #open(start: number): number {
    const { folder, id } = this.#options;
    return openSync(join(folder, `${id}.${start}.log`), NEW, 0o600);
  }
}

export interface LogPart {
  readonly output: Buffer;
  readonly skipped: number;
  readonly position: number;
}

/** Reads a limited number of bytes of a log from a position on. The writer may be gone. */
export function readLog(
  { folder, id }: { readonly folder: string; readonly id: string },
  { position, limit_bytes }: { readonly position: number; readonly limit_bytes: number },
): LogPart {
  const segments = segmentsOf(folder, id);
  const first = Math.max(position, segments[0]?.start ?? 0);
  const parts: Buffer[] = [];
  let at = first;
  for (const { path, start } of segments) {
    const room = first + limit_bytes - at;
    if (room <= 0 || at < start) break;
    const part = readPart(path, at - start, room);
    parts.push(part);
    at += part.length;
  }
  // A position beyond the end belongs to another log: keep it, so that later output is not taken for older.
  return { output: Buffer.concat(parts), skipped: first - position, position: at };
}

function readPart(path: string, offset: number, length: number): Buffer {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const size = Math.max(0, Math.min(length, fstatSync(fd).size - offset));
    const bytes = Buffer.alloc(size);
    const read = size === 0 ? 0 : readSync(fd, bytes, 0, size, offset);
    return bytes.subarray(0, read);
  } finally {
    closeSync(fd);
  }
}

/** The end position of a log. */
export function logEnd(folder: string, id: string): number {
  const last = segmentsOf(folder, id).at(-1);
  return last === undefined ? 0 : last.start + statSync(last.path).size;
}

function segmentsOf(folder: string, id: string): readonly Segment[] {
  const prefix = `${id}.`;
  return readdirSync(folder)
    .filter((name) => name.startsWith(prefix) && /^\d+\.log$/.test(name.slice(prefix.length)))
    .map((name) => ({ path: join(folder, name), start: Number.parseInt(name.slice(prefix.length), 10) }))
    .sort((one, other) => one.start - other.start);
}
