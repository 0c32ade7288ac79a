import { hash, createHash } from "node:crypto";
import { closeSync, fstatSync } from "node:fs";
import { join } from "node:path";
import type { SkillFile } from "../../contract/skills.ts";
import { kindOf, openHandle, realPathOf } from "../system/handle.ts";
import { openFile } from "../system/open-file.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import { isSystemError } from "../system/system-error.ts";

/** Why the file at this real path may not be part of a skill, as a clause. */
export type Judge = (real: string) => string | undefined;

/** Why a file of a skill cannot be read, as a clause. */
export class UnusableFile extends Error {
  constructor(why: string, cause?: unknown) {
    super(why, cause === undefined ? undefined : { cause });
    this.name = "UnusableFile";
  }
}

export interface ReadOptions {
  readonly judge: Judge;
  readonly signal: AbortSignal;
  /** Receives the content in chunks. */
  readonly onPiece?: (piece: Buffer) => void;
  /** Called with the size before anything is read. Throws if it exceeds a limit. */
  readonly takeBytes?: (bytes: number) => void;
}

const PIECE_BYTES = 1 << 20;

/**
 * Reads a file of a skill through a descriptor whose real path the kernel reported: the file that was checked is the
 * file that is read. A link is allowed if its target is. Throws `UnusableFile`.
 */
export async function readSkillFile(folder: string, path: string, options: ReadOptions): Promise<SkillFile> {
  const { judge, signal, onPiece, takeBytes } = options;
  const handle = inClauses(() => openHandle(join(folder, path)));
  try {
    const why = judge(realPathOf(handle));
    if (why !== undefined) throw new UnusableFile(why);
    const stats = fstatSync(handle);
    const kind = kindOf(stats);
    if (kind !== "file")
      throw new UnusableFile(kind === "directory" ? "it points to a folder" : "it is not a regular file");
    takeBytes?.(stats.size);
    const file = inClauses(() => openFile(handle, path, signal));
    try {
      const sum = createHash("sha256");
      for (let at = 0; at < file.size;) {
        const piece = await file.read(at, PIECE_BYTES);
        if (piece.length === 0) throw new UnusableFile("it was truncated while being read");
        sum.update(piece);
        onPiece?.(piece);
        at += piece.length;
      }
      return { path, bytes: file.size, executable: (stats.mode & 0o111) !== 0, sha256: sum.digest("hex") };
    } finally {
      file.close();
    }
  } finally {
    closeSync(handle);
  }
}

function inClauses<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    const cause = (error as Error).cause ?? error; // openFile wraps system errors
    if (isSystemError(cause)) throw new UnusableFile(`it cannot be opened (${reasonOf(cause)})`, error);
    throw error;
  }
}

/** Covers names, contents, executable bits and the order of the files. */
export function digestOf(files: readonly SkillFile[]): string {
  return hash(
    "sha256",
    files.map(({ path, executable, sha256 }) => `${sha256} ${executable ? "x" : "-"} ${path}\0`).join(""),
  );
}
