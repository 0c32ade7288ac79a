import { createHash, hash } from "node:crypto";
import { closeSync, readSync, writeSync } from "node:fs";
import { parseLines } from "./change-log.ts";
import { packPath } from "./pack.ts";
import type { Packed } from "./pack.ts";
import { findLogs, readLog } from "./undo-logs.ts";
import type { UndoObjects } from "./undo-objects.ts";
import { openOwnFile } from "../../own-files/read-own-file.ts";

/** Reads old contents by their hash. The caller closes it. */
export interface ContentReader {
  has(sha256: string): boolean;
  /** Undefined if it is not stored, or damaged. */
  read(sha256: string): Buffer | undefined;
  /** Writes the content to a file in chunks. False if it is not stored, or damaged. */
  writeTo(sha256: string, fd: number): boolean;
  close(): void;
}

interface Place {
  readonly path: string;
  readonly at: number;
  /** Undefined: to the end of the file. */
  readonly size: number | undefined;
}

const PIECE_BYTES = 1 << 20;

/** Looks all hashes up at once, so that each log is read only once. */
export function openContents(state_dir: string, objects: UndoObjects, hashes: ReadonlySet<string>): ContentReader {
  const places = new Map<string, Place>();
  for (const sha256 of hashes) {
    const path = objects.find(sha256);
    if (path !== undefined) places.set(sha256, { path, at: 0, size: undefined });
  }
  findPacked(state_dir, hashes, places);
  const fds = new Map<string, number>();
  const open = (path: string): number => {
    const fd = fds.get(path) ?? openOwnFile(path);
    fds.set(path, fd);
    return fd;
  };
  function writeTo(sha256: string, onPiece: (piece: Buffer) => void): boolean {
    const place = places.get(sha256);
    if (place === undefined) return false;
    const fd = open(place.path);
    const sum = createHash("sha256");
    const piece = Buffer.allocUnsafe(Math.min(place.size ?? PIECE_BYTES, PIECE_BYTES));
    for (let done = 0; done < (place.size ?? Infinity);) {
      const count = readSync(fd, piece, 0, Math.min(piece.length, (place.size ?? Infinity) - done), place.at + done);
      if (count === 0) break;
      sum.update(piece.subarray(0, count));
      onPiece(piece.subarray(0, count));
      done += count;
    }
    return sum.digest("hex") === sha256;
  }
  return {
    has: (sha256) => places.has(sha256),
    read(sha256) {
      const pieces: Buffer[] = [];
      return writeTo(sha256, (piece) => pieces.push(Buffer.from(piece))) ? Buffer.concat(pieces) : undefined;
    },
    writeTo: (sha256, fd) =>
      writeTo(sha256, (piece) => {
        for (let written = 0; written < piece.length;) written += writeSync(fd, piece, written);
      }),
    close() {
      for (const fd of fds.values()) closeSync(fd);
      fds.clear();
    },
  };
}

/** Newest logs first, until all are found. */
function findPacked(state_dir: string, hashes: ReadonlySet<string>, places: Map<string, Place>): void {
  const wanted = new Set([...hashes].filter((sha256) => !places.has(sha256)));
  for (const log of findLogs(state_dir)) {
    if (wanted.size === 0) return;
    for (const line of parseLines(readLog(state_dir, log))) {
      for (const packed of "change" in line ? (line.packed ?? []) : []) {
        if (!wanted.has(packed.sha256) || !isWhole(packPath(state_dir, log.id), packed)) continue;
        places.set(packed.sha256, { path: packPath(state_dir, log.id), at: packed.at, size: packed.size });
        wanted.delete(packed.sha256);
      }
    }
  }
}

/** A damaged copy does not hide an intact one in an older log. */
function isWhole(path: string, { sha256, at, size }: Packed): boolean {
  let fd: number;
  try {
    fd = openOwnFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
  try {
    const content = Buffer.alloc(size);
    return readSync(fd, content, 0, size, at) === size && hash("sha256", content, "hex") === sha256;
  } finally {
    closeSync(fd);
  }
}
