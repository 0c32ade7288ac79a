import { createHash, hash } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { openOwnFile, runPath, syncFolder } from "@autonous/runtime/internal";

/** A file that came with a task, stored in the folder of its run. */
export interface KeptFile {
  readonly sha256: string;
  readonly bytes: number;
}

export interface KeptPlace {
  readonly state_dir: string;
  readonly run_id: string;
  /** Number of the file within its task. */
  readonly id: string;
}

/** Writes a file piece by piece. The caller must call `keep` or `drop`, and `drop` also if `keep` failed. */
export interface KeptWriter {
  write(piece: Uint8Array): void;
  /** Flushes the file to disk under its final name. */
  keep(): KeptFile;
  drop(): void;
}

const FOLDER = "received";

/** Overwrites what an earlier attempt had written. */
export function openKept(place: KeptPlace): KeptWriter {
  const run = runPath(place.state_dir, place.run_id);
  const folder = join(run, FOLDER);
  const path = keptPath(place);
  const unnamed = `${path}.part`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
  const fd = openOwnFile(unnamed, flags, 0o600);
  const digest = createHash("sha256");
  let bytes = 0;
  let isOpen = true;
  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    closeSync(fd);
  };
  return {
    write(piece) {
      for (let written = 0; written < piece.length;) written += writeSync(fd, piece, written);
      digest.update(piece);
      bytes += piece.length;
    },
    keep() {
      fsyncSync(fd);
      close();
      renameSync(unnamed, path);
      syncFolder(folder);
      syncFolder(run);
      return { sha256: digest.digest("hex"), bytes };
    },
    drop() {
      close();
      rmSync(unnamed, { force: true });
    },
  };
}

/** Undefined if the file is missing or was changed. */
export function readKept(place: KeptPlace, { sha256, bytes }: KeptFile): Buffer | undefined {
  let fd: number;
  try {
    fd = openOwnFile(keptPath(place), constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const content = fstatSync(fd).size === bytes ? readFileSync(fd) : undefined;
    return content !== undefined && hash("sha256", content, "hex") === sha256 ? content : undefined;
  } finally {
    closeSync(fd);
  }
}

export function dropKept(place: KeptPlace): void {
  rmSync(keptPath(place), { force: true });
}

function keptPath({ state_dir, run_id, id }: KeptPlace): string {
  return join(runPath(state_dir, run_id), FOLDER, id);
}
