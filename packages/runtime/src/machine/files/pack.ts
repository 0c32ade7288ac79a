import { closeSync, fstatSync, ftruncateSync, openSync, readSync, unlinkSync } from "node:fs";
import { hash } from "node:crypto";
import { join } from "node:path";
import { writeWhole } from "../system/bytes.ts";
import { stateFolders } from "../system/state-folders.ts";
import type { Syncs } from "../system/syncs.ts";
import { openOwnFile } from "../../own-files/read-own-file.ts";

/** Position of a content in the pack of a log. */
export interface Packed {
  readonly sha256: string;
  readonly at: number;
  readonly size: number;
}

/** Contents up to this size are packed: for a small content, a separate file costs more than its bytes. */
export const PACKED_BYTES = 64 << 10;

export function packPath(state_dir: string, id: string): string {
  return join(stateFolders(state_dir).packs, `${id}.pack`);
}

/** Small old contents of one log, concatenated in one file. The log records their positions. */
export class Pack {
  readonly #state_dir: string;
  readonly #id: string;
  /** Contents that the log mentions; those in `#synced` are durable. */
  readonly #referred = new Map<string, Packed>();
  readonly #synced = new Set<string>();
  #fd: number | undefined;
  #isNameSynced = false;
  #size = 0;

  constructor(state_dir: string, id: string) {
    this.#state_dir = state_dir;
    this.#id = id;
  }

  get size(): number {
    return this.#size;
  }

  /** Each content is stored once. It counts as stored when the log mentions it and both are durable. */
  keep(sha256: string, content: Uint8Array): Packed {
    const known = this.#referred.get(sha256);
    if (known !== undefined) return known;
    const fd = (this.#fd ??= openSync(packPath(this.#state_dir, this.#id), "ax+", 0o600));
    const at = this.#size;
    try {
      writeWhole(fd, content);
    } catch (error) {
      ftruncateSync(fd, at);
      throw error;
    }
    this.#size += content.length;
    return { sha256, at, size: content.length };
  }

  /** Notes that the log refers to these contents. */
  refer(packed: readonly Packed[]): void {
    for (const each of packed) this.#referred.set(each.sha256, each);
  }

  addTo(syncs: Syncs, packed: readonly Packed[]): void {
    if (this.#fd === undefined || packed.every(({ sha256 }) => this.#synced.has(sha256))) return;
    if (!this.#isNameSynced) syncs.add(openSync(stateFolders(this.#state_dir).packs, "r"));
    syncs.addLog(this.#fd);
  }

  markSynced(packed: readonly Packed[]): void {
    if (packed.length > 0) this.#isNameSynced = true;
    for (const { sha256 } of packed) this.#synced.add(sha256);
  }

  close(isOfUse: boolean): void {
    if (this.#fd === undefined) return;
    closeSync(this.#fd);
    if (!isOfUse) unlinkSync(packPath(this.#state_dir, this.#id));
  }
}

/** Undefined if it is missing or damaged. */
export function readPacked(state_dir: string, id: string, { sha256, at, size }: Packed): Buffer | undefined {
  let fd: number;
  try {
    fd = openOwnFile(packPath(state_dir, id));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    if (fstatSync(fd).size < at + size) return undefined;
    const content = Buffer.alloc(size);
    readSync(fd, content, 0, size, at);
    return hash("sha256", content, "hex") === sha256 ? content : undefined;
  } finally {
    closeSync(fd);
  }
}
