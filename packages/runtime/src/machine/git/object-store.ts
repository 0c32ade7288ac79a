import type { GitObjects, PinnedContent } from "../tree/tree-snapshot.ts";
import { hash, createHash } from "node:crypto";
import { closeSync, fstatSync, readFileSync, readSync } from "node:fs";
import { inflateSync, createInflate } from "node:zlib";
import { PinnedFiles } from "./pinned-files.ts";
import type { PinOptions } from "./pinned-files.ts";
import { PackFile } from "./pack-file.ts";
import { readPieces } from "../system/bytes.ts";

/** Maximum size of an object, which is read into memory. */
export const OBJECT_BYTES = 1 << 30;
/** Larger files of the store are returned as a descriptor. */
const AT_ONCE_BYTES = 8 << 20;
/** Maximum length of the header (type and size) of a loose object. */
const HEAD_BYTES = 64;

/**
 * The objects of one repository, held by hard links in the state folder: objects that a command deletes, prunes or
 * repacks remain available afterwards. Every read is verified against the object's hash, since a hard link does not
 * protect the content from being overwritten. The caller closes it.
 */
export class ObjectStore implements GitObjects {
  /** Key of its folder in the workspace, one character per byte. */
  readonly key: string;
  readonly #held: PinnedFiles;
  #packs: { readonly change: number; readonly files: readonly PackFile[] } | undefined;

  constructor(key: string, mirror: string) {
    this.key = key;
    this.#held = new PinnedFiles(key, mirror);
  }

  /** Holds all current objects. False if the store is too small to be worth it, or the deadline passed. */
  async hold(options: PinOptions): Promise<boolean> {
    return await this.#held.hold(options);
  }

  /** Takes over the objects that an earlier process held. */
  reopen(trailers: ReadonlyMap<string, Buffer>): void {
    this.#held.reopen(trailers);
  }

  /** Trailing hashes of files at the time they were held, by name. */
  get trailers(): PinnedFiles["trailers"] {
    return this.#held.trailers;
  }

  get isReady(): boolean {
    return this.#held.isReady;
  }

  /** Whether objects have disappeared since the previous scan. */
  get hasLost(): boolean {
    return this.#held.hasLost;
  }

  /** Names of the files held from one folder of the store. */
  namesIn(folder: string): ReadonlySet<string> {
    return this.#held.namesIn(folder);
  }

  has(oid: string): boolean {
    if (this.#isLoose(oid)) return true;
    const bytes = Buffer.from(oid, "hex");
    return this.#packFiles().some((pack) => pack.has(bytes));
  }

  oidOf(content: Uint8Array): string {
    return hash(this.algorithm, Buffer.concat([Buffer.from(`blob ${content.length}\0`), content]), "hex");
  }

  /** The content of the blob with this id. Undefined if it is missing, or does not match its id. */
  readBlob(oid: string, size: number): Buffer | undefined {
    try {
      const content = this.#readLoose(oid, size) ?? this.#readPacked(oid);
      return content?.length === size && this.oidOf(content) === oid ? content : undefined;
    } catch {
      return undefined; // damaged, as reported by zlib, the delta or the disk
    }
  }

  /** A file of the store. Undefined if its content has changed. */
  async readPinned(name: string, size: number): Promise<PinnedContent | undefined> {
    const fd = this.#held.open(name);
    if (fd === undefined) return undefined;
    let isGiven = false;
    try {
      if (fstatSync(fd).size !== size) return undefined;
      const trailer = this.#held.trailerOf(name);
      const oid = name.replace("/", "");
      if (trailer === undefined && size <= AT_ONCE_BYTES) return this.#verifyAtOnce(readAll(fd, size), oid);
      const sha256 =
        trailer === undefined
          ? await verifyLoose(fd, { algorithm: this.algorithm, oid })
          : await verifyTrailer(fd, { algorithm: this.algorithm, trailer });
      if (sha256 === undefined) return undefined;
      isGiven = size > AT_ONCE_BYTES;
      return isGiven ? { fd, sha256 } : { bytes: readAll(fd, size) };
    } finally {
      if (!isGiven) closeSync(fd);
    }
  }

  close(): void {
    for (const pack of this.#packs?.files ?? []) pack.close();
    this.#packs = undefined;
  }

  #verifyAtOnce(bytes: Buffer, oid: string): PinnedContent | undefined {
    try {
      return hash(this.algorithm, inflateSync(bytes, { maxOutputLength: OBJECT_BYTES }), "hex") === oid
        ? { bytes }
        : undefined;
    } catch {
      return undefined; // no longer a valid object
    }
  }

  /** The hash algorithm of git's object ids. */
  get algorithm(): string {
    return this.#held.hashBytes === 32 ? "sha256" : "sha1";
  }

  #readLoose(oid: string, size: number): Buffer | undefined {
    if (!this.#isLoose(oid)) return undefined;
    const path = this.#held.pathOf(`${oid.slice(0, 2)}/${oid.slice(2)}`);
    const object = inflateSync(readFileSync(path), { maxOutputLength: size + HEAD_BYTES });
    const head = object.indexOf(0);
    return object.toString("latin1", 0, head) === `blob ${size}` ? object.subarray(head + 1) : undefined;
  }

  #isLoose(oid: string): boolean {
    return this.#held.namesIn(oid.slice(0, 2)).has(oid.slice(2));
  }

  #readPacked(oid: string): Buffer | undefined {
    const bytes = Buffer.from(oid, "hex");
    for (const pack of this.#packFiles()) {
      const object = pack.read(bytes);
      if (object !== undefined) return object.type === "blob" ? object.content : undefined;
    }
    return undefined;
  }

  #packFiles(): readonly PackFile[] {
    const { packsChange, packs } = this.#held;
    if (this.#packs?.change === packsChange) return this.#packs.files;
    this.close();
    const files = packs.flatMap((name) => {
      try {
        return [new PackFile(this.#held.pathOf(name), { hashBytes: this.#held.hashBytes, limit: OBJECT_BYTES })];
      } catch {
        return []; // without a readable index nothing can be found in it
      }
    });
    this.#packs = { change: packsChange, files };
    return files;
  }
}

function readAll(fd: number, size: number): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  for (let filled = 0; filled < size;) {
    const count = readSync(fd, bytes, filled, size - filled, filled);
    if (count === 0) return bytes.subarray(0, filled);
    filled += count;
  }
  return bytes;
}

interface LooseOptions {
  readonly algorithm: string;
  readonly oid: string;
}

/** The SHA-256 of a file with a loose git object; undefined if the object does not match its id. */
async function verifyLoose(fd: number, { algorithm, oid }: LooseOptions): Promise<string | undefined> {
  const file = createHash("sha256");
  const object = createHash(algorithm);
  const inflate = createInflate();
  const done = new Promise<boolean>((resolve) => {
    inflate.on("data", (piece: Buffer) => object.update(piece));
    inflate.on("end", () => resolve(true));
    inflate.on("error", () => resolve(false));
  });
  for await (const piece of readPieces(fd, new AbortController().signal)) {
    file.update(piece);
    // Copied, because the chunk's buffer is reused for the next read.
    if (!inflate.write(Buffer.from(piece))) await Promise.race([drained(inflate), done]);
    if (inflate.destroyed) return undefined;
  }
  inflate.end();
  return (await done) && object.digest("hex") === oid ? file.digest("hex") : undefined;
}

function drained(stream: NodeJS.EventEmitter): Promise<void> {
  return new Promise((resolve) => {
    stream.once("drain", resolve);
  });
}

interface TrailerOptions {
  readonly algorithm: string;
  /** The trailing hash of the file when it was first seen. */
  readonly trailer: Buffer;
}

/** The SHA-256 of a file that ends with a hash of its preceding content; undefined if that is missing or different. */
async function verifyTrailer(fd: number, { algorithm, trailer }: TrailerOptions): Promise<string | undefined> {
  const file = createHash("sha256");
  const body = createHash(algorithm);
  const bodyBytes = fstatSync(fd).size - trailer.length;
  let seen = 0;
  const end: Buffer[] = [];
  for await (const piece of readPieces(fd, new AbortController().signal)) {
    file.update(piece);
    const inBody = Math.max(0, Math.min(piece.length, bodyBytes - seen));
    body.update(piece.subarray(0, inBody));
    end.push(Buffer.from(piece.subarray(inBody)));
    seen += piece.length;
  }
  return Buffer.concat(end).equals(trailer) && body.digest().equals(trailer) ? file.digest("hex") : undefined;
}
