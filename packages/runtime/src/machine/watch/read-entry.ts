import { createHash, hash } from "node:crypto";
import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, readSync } from "node:fs";
import { systemPath } from "../search/keys.ts";
import { readPieces } from "../files/bytes.ts";
import { openFolder, procPath, realBytesOf } from "../files/handle.ts";
import { isSystemError } from "../files/system-error.ts";
import { areSame, factsOf } from "./tree-entry.ts";
import type { Facts } from "./tree-entry.ts";

/** A folder that is opened when something in it is first read, and verified then. The caller closes it. */
export class FolderToRead {
  readonly #key: string;
  #fd: number | undefined;

  constructor(key: string) {
    this.#key = key;
  }

  /** Leads to a name in the folder itself, whatever its path leads to by now. Undefined where it is not there any more. */
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
    return undefined; // gone, replaced or closed to us: there is nothing to be read in it
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
  /** As the look found it. */
  readonly facts: Facts;
}

export interface ReadEntry {
  /** As it was while it was read. */
  readonly facts: Facts;
  /** Undefined where it cannot be read, or keeps changing. */
  readonly sha256: string | undefined;
}

interface KeepOptions extends ReadOptions {
  readonly limit_bytes: number;
  /** Gets the content, good until the next one is read. */
  readonly onContent: (sha256: string, content: Buffer) => void;
}

/** Reads a file whose facts are the same before and after, so that they stand for what was read. */
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
    if (now === undefined || areSame(now, facts)) break; // gone, or not ours to read
    facts = now;
  }
  return { facts, sha256: undefined };
}

const SMALL_BYTES = 64 << 10;

/** The text of a small file such as `.gitignore`. Undefined where it cannot be read, or is none. */
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

/** Undefined where it could not be read, or is another file than the facts are of. */
function readOnce({ folder, name, facts }: ReadOptions): Buffer | undefined {
  const fd = openIn(folder, name);
  if (fd === undefined) return undefined;
  try {
    if (scratch.length < facts.size) scratch = Buffer.allocUnsafeSlow(Math.max(facts.size, 1 << 20));
    const count = readFully(fd, scratch, facts.size);
    return count === facts.size && areSame(factsOf(fstatSync(fd)), facts) ? scratch.subarray(0, count) : undefined;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return undefined; // a broken disk, or no file any more
  } finally {
    closeSync(fd);
  }
}

export interface HashedEntry extends ReadEntry {
  /** The name that git has for the content. */
  readonly oid?: string;
}

/** The same for a file that is too large to be kept, in constant memory. `algorithm` is the one of a repository. */
export async function hashContent(
  { folder, name, facts }: ReadOptions,
  algorithm: string | undefined,
): Promise<HashedEntry> {
  const fd = openIn(folder, name);
  if (fd === undefined) return { facts, sha256: undefined };
  const isSame = (): boolean => areSame(factsOf(fstatSync(fd)), facts);
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
    return undefined; // gone, a link by now, or not ours to read
  }
}

function factsNow({ folder, name }: Pick<ReadOptions, "folder" | "name">): Facts | undefined {
  const path = folder.at(name);
  try {
    return path === undefined ? undefined : factsOf(lstatSync(path));
  } catch {
    return undefined; // gone, or not ours to know of
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

/** Where a link leads, one character a byte. Undefined where it is none any more. */
export function readTarget(folder: FolderToRead, name: string): string | undefined {
  const path = folder.at(name);
  if (path === undefined) return undefined;
  try {
    return readlinkSync(path, "latin1");
  } catch {
    return undefined;
  }
}
