import { hash } from "node:crypto";
import { constants, existsSync, fstatSync, ftruncateSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { AT_ONCE_BYTES, hashPieces, readPieces, readSpan, writeAll } from "../system/bytes.ts";
import { prunedFolders, stateFolders } from "../system/state-folders.ts";
import type { Syncs } from "../system/syncs.ts";
import { readOwnFile } from "../../own-files/read-own-file.ts";

const SHA256 = /^[0-9a-f]{64}$/;

export interface PutOptions {
  /** Collects descriptors that must be synced before the content counts as stored. */
  readonly syncs: Syncs;
  readonly signal: AbortSignal;
}

/**
 * Old contents that are too large for a pack, each stored once under its hash. They are written in place: two writers
 * of one hash write the same bytes, so they cannot conflict; a file torn by a crash fails the hash check and is
 * rewritten.
 */
export class UndoObjects {
  readonly #folder: string;
  /** Contents marked for removal: a change that came to rely on one meanwhile still finds it here. */
  readonly #condemned: string;

  constructor(state_dir: string) {
    this.#folder = stateFolders(state_dir).objects;
    this.#condemned = prunedFolders(state_dir).condemned;
  }

  async put(sha256: string, content: Uint8Array, options: PutOptions): Promise<void> {
    const fd = this.#open(sha256, options.syncs);
    const { size } = fstatSync(fd);
    if (size === content.length && (await holds(fd, sha256, options.signal))) return;
    await writeAll(fd, content, { position: 0, signal: options.signal });
    if (size > content.length) ftruncateSync(fd, content.length);
  }

  /** Like `put`, from an open file in constant memory. False if the file does not (or no longer) have this hash. */
  async putFile(sha256: string, from: number, options: PutOptions): Promise<boolean> {
    const { size } = fstatSync(from);
    const fd = this.#open(sha256, options.syncs);
    const there = fstatSync(fd).size;
    if (there === size && (await holds(fd, sha256, options.signal))) return true;
    let position = 0;
    for await (const piece of readPieces(from, options.signal)) {
      await writeAll(fd, piece, { position, signal: options.signal });
      position += piece.length;
    }
    if (there > position) ftruncateSync(fd, position);
    return await holds(fd, sha256, options.signal);
  }

  /** Undefined if it is not stored, or damaged. */
  read(sha256: string): Buffer | undefined {
    if (!SHA256.test(sha256)) return undefined;
    return readWhole(this.#pathOf(sha256), sha256) ?? readWhole(join(this.#condemned, sha256), sha256);
  }

  /** Path of the content. Undefined if it is not stored. */
  find(sha256: string): string | undefined {
    if (!SHA256.test(sha256)) return undefined;
    return [this.#pathOf(sha256), join(this.#condemned, sha256)].find((path) => existsSync(path));
  }

  #pathOf(sha256: string): string {
    return join(this.#folder, sha256.slice(0, 2), sha256);
  }

  #open(sha256: string, syncs: Syncs): number {
    const path = this.#pathOf(sha256);
    const folder = join(this.#folder, sha256.slice(0, 2));
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
    let fd: number;
    try {
      fd = openSync(path, flags, 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      syncs.add(openSync(this.#folder, "r"));
      fd = openSync(path, flags, 0o600);
    }
    syncs.add(fd);
    syncs.add(openSync(folder, "r"));
    return fd;
  }
}

function readWhole(path: string, sha256: string): Buffer | undefined {
  try {
    const content = readOwnFile(path);
    return hash("sha256", content, "hex") === sha256 ? content : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

async function holds(fd: number, sha256: string, signal: AbortSignal): Promise<boolean> {
  const { size } = fstatSync(fd);
  if (size > AT_ONCE_BYTES) return (await hashPieces(fd, signal)).digest("hex") === sha256;
  return hash("sha256", await readSpan(fd, { position: 0, length: size }, signal), "hex") === sha256;
}
