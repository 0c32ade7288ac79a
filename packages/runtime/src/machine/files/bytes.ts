import { createHash } from "node:crypto";
import type { Hash } from "node:crypto";
import { fstatSync, read, readSync, write, writeSync } from "node:fs";

/** Above this, reading and writing goes through the thread pool, a piece at a time, so that others get their turn. */
export const AT_ONCE_BYTES = 1 << 20;

export interface Span {
  readonly position: number;
  readonly length: number;
  /** Where to put the bytes. Left out: into a new buffer. */
  readonly into?: Buffer | undefined;
}

/** The bytes of a span, or fewer where the file ends. */
export async function readSpan(fd: number, { position, length, into }: Span, signal: AbortSignal): Promise<Buffer> {
  const bytes = into?.subarray(0, length) ?? Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    signal.throwIfAborted();
    const rest = { offset: filled, length: Math.min(length - filled, AT_ONCE_BYTES), position: position + filled };
    const count = length <= AT_ONCE_BYTES ? readSync(fd, bytes, rest) : await readPiece(fd, bytes, rest);
    if (count === 0) break;
    filled += count;
  }
  return filled === length ? bytes : bytes.subarray(0, filled);
}

/** Writes all of it at the position, or throws: a full disk may take only a part, and says so at the next piece. */
export async function writeAll(
  fd: number,
  bytes: Uint8Array,
  at: { position: number; signal: AbortSignal },
): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    at.signal.throwIfAborted();
    const rest = {
      offset: written,
      length: Math.min(bytes.length - written, AT_ONCE_BYTES),
      position: at.position + written,
    };
    written +=
      bytes.length <= AT_ONCE_BYTES
        ? writeSync(fd, bytes, rest.offset, rest.length, rest.position)
        : await writePiece(fd, bytes, rest);
  }
}

/** Adds all of it at the end of a file that was opened for that, or throws. */
export function writeWhole(fd: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written);
}

/** Reads a file to its end in pieces. What a piece holds is good until the next one is asked for. */
export async function* readPieces(fd: number, signal: AbortSignal): AsyncIterable<Buffer> {
  const { size } = fstatSync(fd);
  // One byte more than a small file has, so that its end is found at once: many of them are read one after the other.
  const isSmall = size > 0 && size < AT_ONCE_BYTES;
  const buffer = Buffer.allocUnsafe(isSmall ? size + 1 : AT_ONCE_BYTES);
  for (let position = 0; ;) {
    signal.throwIfAborted();
    const piece = { offset: 0, length: buffer.length, position };
    const count = isSmall ? readSync(fd, buffer, piece) : await readPiece(fd, buffer, piece);
    if (count === 0) return;
    position += count;
    yield buffer.subarray(0, count);
  }
}

/** Of a file of any size, in constant memory. Not closed yet: more can be added to it. */
export async function hashPieces(fd: number, signal: AbortSignal): Promise<Hash> {
  const sum = createHash("sha256");
  for await (const piece of readPieces(fd, signal)) sum.update(piece);
  return sum;
}

interface Piece {
  readonly offset: number;
  readonly length: number;
  readonly position: number;
}

function readPiece(fd: number, buffer: Buffer, piece: Piece): Promise<number> {
  return new Promise((resolve, reject) => {
    read(fd, buffer, piece, (error, count) => (error === null ? resolve(count) : reject(error)));
  });
}

function writePiece(fd: number, bytes: Uint8Array, { offset, length, position }: Piece): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, offset, length, position, (error, count) => (error === null ? resolve(count) : reject(error)));
  });
}
