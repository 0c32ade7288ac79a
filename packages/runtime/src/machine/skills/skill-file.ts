import { hash, createHash } from "node:crypto";
import { closeSync, fstatSync } from "node:fs";
import { join } from "node:path";
import type { SkillFile } from "../../contract/skills.ts";
import { kindOf, openHandle, realPathOf } from "../files/handle.ts";
import { openFile } from "../files/open-file.ts";
import { isSystemError, reasonOf } from "../files/system-error.ts";

/** A clause that says why what really lies there may not be part of a skill. */
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
  /** Gets the content piece by piece. */
  readonly onPiece?: (piece: Buffer) => void;
  /** Told before anything is read. Throws where so much is too much. */
  readonly takeBytes?: (bytes: number) => void;
}

const PIECE_BYTES = 1 << 20;

/**
 * Reads a file of a skill through a descriptor, after asking the kernel where that leads: what was judged is what is
 * read. A link is good where its target is. Throws `UnusableFile`.
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
      throw new UnusableFile(kind === "directory" ? "it leads to a folder" : "it is not a regular file");
    takeBytes?.(stats.size);
    const file = inClauses(() => openFile(handle, path, signal));
    try {
      const sum = createHash("sha256");
      for (let at = 0; at < file.size;) {
        const piece = await file.read(at, PIECE_BYTES);
        if (piece.length === 0) throw new UnusableFile("it became shorter while it was read");
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
    const cause = (error as Error).cause ?? error; // openFile tells system errors in words of its own
    if (isSystemError(cause)) throw new UnusableFile(`it cannot be opened (${reasonOf(cause)})`, error);
    throw error;
  }
}

/** Of names, content and executable bits. The order of the files is part of it. */
export function digestOf(files: readonly SkillFile[]): string {
  return hash(
    "sha256",
    files.map(({ path, executable, sha256 }) => `${sha256} ${executable ? "x" : "-"} ${path}\0`).join(""),
  );
}
