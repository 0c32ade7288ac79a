import { createHash } from "node:crypto";
import type { Hash } from "node:crypto";
import { fstatSync, read, readSync, write, writeSync } from "node:fs";

/** Larger reads and writes go through the thread pool in chunks, so that they do not block the event loop. */
export const AT_ONCE_BYTES = 1 << 20;

export interface Span {
  readonly position: number;
  readonly length: number;
  /** Destination buffer. Default: a new one. */
  readonly into?: Buffer | undefined;
}

/** The bytes of a span, or fewer at the end of the file. */
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

/**
 * Writes all bytes at the position, or throws. A full disk may accept a part and report the error on the next write.
 */
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

/** Appends all bytes to a file opened for appending, or throws. */
export function writeWhole(fd: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written);
}

/** Reads a file in chunks. A chunk is valid only until the next one is requested: the buffer is reused. */
export async function* readPieces(fd: number, signal: AbortSignal): AsyncIterable<Buffer> {
  const { size } = fstatSync(fd);
  // One byte more than the size of a small file, so that the first read also finds its end: often many are read in a
  // row.
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

/** Hashes a file of any size in constant memory. The hash is not finalized, so the caller can update it further. */
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
