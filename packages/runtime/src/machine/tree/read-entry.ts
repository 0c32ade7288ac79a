import { createHash, hash } from "node:crypto";
import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, readSync } from "node:fs";
import { systemPath } from "../system/keys.ts";
import { readPieces } from "../system/bytes.ts";
import { openFolder, procPath, realBytesOf } from "../system/handle.ts";
import { isSystemError } from "../system/system-error.ts";
import { haveSameFacts, factsOf } from "./tree-snapshot.ts";
import type { Facts } from "./tree-snapshot.ts";

/** A folder that is opened and verified at the first read in it. The caller closes it. */
export class FolderToRead {
  readonly #key: string;
  #fd: number | undefined;

  constructor(key: string) {
    this.#key = key;
  }

  /** A path to a name in the opened folder, even if the folder's own path was replaced. Undefined where it is gone. */
  at(name: string): string | Buffer | undefined {
    this.#fd ??= openAt(this.#key);
    return this.#fd === undefined ? undefined : systemPath(`${procPath(this.#fd)}/${name}`);
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}

function openAt(key: string): number | undefined {
  let fd: number;
  try {
    fd = openFolder(systemPath(key));
  } catch {
    return undefined; // gone, replaced or not readable for us
  }
  if (realBytesOf(fd) === key) return fd;
  closeSync(fd);
  return undefined;
}

const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const MAX_TRIES = 3;

export interface ReadOptions {
  readonly folder: FolderToRead;
  readonly name: string;
  /** The state that the snapshot found. */
  readonly facts: Facts;
}

export interface ReadEntry {
  /** The state while it was read. */
  readonly facts: Facts;
  /** Undefined where it cannot be read, or keeps changing. */
  readonly sha256: string | undefined;
}

interface KeepOptions extends ReadOptions {
  readonly limit_bytes: number;
  /** Receives the content; the buffer is reused for the next file. */
  readonly onContent: (sha256: string, content: Buffer) => void;
}

/** Reads a file whose facts are the same before and after, so that they match the content. */
export function readContent(options: KeepOptions): ReadEntry {
  let { facts } = options;
  for (let tries = 0; tries < MAX_TRIES && facts.kind === "file" && facts.size <= options.limit_bytes; tries++) {
    const content = readOnce({ ...options, facts });
    if (content !== undefined) {
      const sha256 = hash("sha256", content, "hex");
      options.onContent(sha256, content);
      return { facts, sha256 };
    }
    const now = factsNow(options);
    if (now === undefined || haveSameFacts(now, facts)) break; // gone, or not readable for us
    facts = now;
  }
  return { facts, sha256: undefined };
}

const SMALL_BYTES = 64 << 10;

/** The text of a small file such as `.gitignore`. Undefined where it cannot be read, or is not a small file. */
export function readSmall(key: string, name: string): string | undefined {
  const folder = new FolderToRead(key);
  let text: string | undefined;
  const onContent = (_: string, content: Buffer): void => void (text = content.toString("utf8"));
  try {
    const facts = factsNow({ folder, name });
    if (facts !== undefined) readContent({ folder, name, facts, limit_bytes: SMALL_BYTES, onContent });
  } finally {
    folder.close();
  }
  return text;
}

let scratch = Buffer.alloc(0);

/** Undefined where it could not be read, or does not match the facts. */
function readOnce({ folder, name, facts }: ReadOptions): Buffer | undefined {
  const fd = openIn(folder, name);
  if (fd === undefined) return undefined;
  try {
    if (scratch.length < facts.size) scratch = Buffer.allocUnsafeSlow(Math.max(facts.size, 1 << 20));
    const count = readFully(fd, scratch, facts.size);
    return count === facts.size && haveSameFacts(factsOf(fstatSync(fd)), facts)
      ? scratch.subarray(0, count)
      : undefined;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return undefined; // a broken disk, or not a file any more
  } finally {
    closeSync(fd);
  }
}

export interface HashedEntry extends ReadEntry {
  /** Git's object ID of the content. */
  readonly oid?: string;
}

/** The same for a file that is too large to be stored, in constant memory. `algorithm` is that of a repository. */
export async function hashContent(
  { folder, name, facts }: ReadOptions,
  algorithm: string | undefined,
): Promise<HashedEntry> {
  const fd = openIn(folder, name);
  if (fd === undefined) return { facts, sha256: undefined };
  const isSame = (): boolean => haveSameFacts(factsOf(fstatSync(fd)), facts);
  try {
    if (!isSame()) return { facts, sha256: undefined };
    const own = createHash("sha256");
    const gits = algorithm === undefined ? undefined : createHash(algorithm).update(`blob ${facts.size}\0`);
    for await (const piece of readPieces(fd, new AbortController().signal)) {
      own.update(piece);
      gits?.update(piece);
    }
    if (!isSame()) return { facts, sha256: undefined };
    const oid = gits?.digest("hex");
    return { facts, sha256: own.digest("hex"), ...(oid === undefined ? {} : { oid }) };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return { facts, sha256: undefined };
  } finally {
    closeSync(fd);
  }
}

function openIn(folder: FolderToRead, name: string): number | undefined {
  const path = folder.at(name);
  try {
    return path === undefined ? undefined : openSync(path, FLAGS);
  } catch {
    return undefined; // gone, a link by now, or not readable for us
  }
}

function factsNow({ folder, name }: Pick<ReadOptions, "folder" | "name">): Facts | undefined {
  const path = folder.at(name);
  try {
    return path === undefined ? undefined : factsOf(lstatSync(path));
  } catch {
    return undefined; // gone, or not visible for us
  }
}

function readFully(fd: number, buffer: Buffer, size: number): number {
  let filled = 0;
  while (filled < size) {
    const count = readSync(fd, buffer, filled, size - filled, filled);
    if (count === 0) break;
    filled += count;
  }
  return filled;
}

/** Target of a link, one character per byte. Undefined where it is not a link any more. */
export function readTarget(folder: FolderToRead, name: string): string | undefined {
  const path = folder.at(name);
  if (path === undefined) return undefined;
  try {
    return readlinkSync(path, "latin1");
  } catch {
    return undefined;
  }
}
