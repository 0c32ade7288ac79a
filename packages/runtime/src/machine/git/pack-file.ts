import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { inflateSync } from "node:zlib";
import { applyDelta } from "./delta.ts";

const MAGIC = 0xff744f63;
const FANOUT_AT = 8;
const NAMES_AT = FANOUT_AT + 256 * 4;
const FAR = 0x80000000;
/** Maximum length of an object header: type and size, then the base of a delta. */
const HEAD_BYTES = 64;
/** Size of the cache of delta bases: neighbors often share them. */
const CACHE_BYTES = 32 << 20;
const MAX_CHAIN = 4096;

export interface PackedObject {
  readonly type: string;
  readonly content: Buffer;
}

interface Head {
  readonly kind: number;
  readonly size: number;
  readonly dataAt: number;
  /** Offset of the base of a delta. */
  readonly base: number | undefined;
}

const TYPES: Readonly<Record<number, string | undefined>> = { 1: "commit", 2: "tree", 3: "blob", 4: "tag" };
const OFFSET_DELTA = 6;
const NAMED_DELTA = 7;

/** Thrown for a damaged or malicious pack. */
class BadPack extends Error {}

/** A git pack with a version 2 index. Contents are not verified here. The caller closes it. */
export class PackFile {
  readonly #index: Buffer;
  readonly #count: number;
  readonly #hashBytes: number;
  readonly #path: string;
  readonly #limit: number;
  readonly #cache = new Map<number, PackedObject>();
  #cached = 0;
  #fd: number | undefined;
  #ends: Float64Array | undefined;

  /** Throws system errors, and `BadPack` for another format. `limit` is the maximum size of an object in bytes. */
  constructor(path: string, { hashBytes, limit }: { readonly hashBytes: number; readonly limit: number }) {
    this.#path = path;
    this.#hashBytes = hashBytes;
    this.#limit = limit;
    this.#index = readFileSync(path.replace(/\.pack$/, ".idx"));
    if (this.#index.length < NAMES_AT || this.#index.readUInt32BE(0) !== MAGIC || this.#index.readUInt32BE(4) !== 2) {
      throw new BadPack(`"${path}" has no index of version 2`);
    }
    this.#count = this.#index.readUInt32BE(NAMES_AT - 4);
    if (this.#index.length < NAMES_AT + this.#count * (hashBytes + 8))
      throw new BadPack(`The index of "${path}" is truncated`);
  }

  has(oid: Buffer): boolean {
    return this.#find(oid) >= 0;
  }

  /** Undefined if the pack does not contain the object. Throws if it is damaged. */
  read(oid: Buffer): PackedObject | undefined {
    const at = this.#find(oid);
    return at < 0 ? undefined : this.#readAt(this.#offsetOf(at));
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
    this.#cache.clear();
    this.#cached = 0;
  }

  #find(oid: Buffer): number {
    const first = oid[0] ?? 0;
    let low = first === 0 ? 0 : this.#index.readUInt32BE(FANOUT_AT + (first - 1) * 4);
    let high = Math.min(this.#count, this.#index.readUInt32BE(FANOUT_AT + first * 4));
    while (low < high) {
      const middle = (low + high) >>> 1;
      const start = NAMES_AT + middle * this.#hashBytes;
      const order = this.#index.compare(oid, 0, this.#hashBytes, start, start + this.#hashBytes);
      if (order === 0) return middle;
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return -1;
  }

  #offsetOf(at: number): number {
    const near = NAMES_AT + this.#count * (this.#hashBytes + 4);
    const offset = this.#index.readUInt32BE(near + at * 4);
    if (offset < FAR) return offset;
    return Number(this.#index.readBigUInt64BE(near + this.#count * 4 + (offset - FAR) * 8));
  }

  #readAt(offset: number): PackedObject {
    const deltas: Buffer[] = [];
    let at = offset;
    let object = this.#cache.get(at);
    while (object === undefined) {
      const head = this.#headAt(at);
      const data = this.#inflate(at, head);
      const type = TYPES[head.kind];
      if (type !== undefined) object = this.#remember(at, { type, content: data });
      else {
        if (head.base === undefined || deltas.length >= MAX_CHAIN)
          throw new BadPack("A delta has no base, or its chain is too long");
        deltas.push(data);
        at = head.base;
        object = this.#cache.get(at);
      }
    }
    let { content } = object;
    for (const delta of deltas.reverse()) content = applyDelta(content, delta, this.#limit);
    return deltas.length === 0 ? object : this.#remember(offset, { type: object.type, content });
  }

  #headAt(offset: number): Head {
    const bytes = this.#readSpan(offset, HEAD_BYTES);
    let byte = bytes[0] ?? 0;
    const kind = (byte >> 4) & 7;
    let size = byte & 15;
    let next = 1;
    for (let factor = 16; (byte & 0x80) !== 0; factor *= 128) {
      byte = bytes[next++] ?? 0;
      size += (byte & 0x7f) * factor;
    }
    if (kind === NAMED_DELTA) {
      const base = this.#find(bytes.subarray(next, next + this.#hashBytes));
      if (base < 0) throw new BadPack("The base of a delta is not in the pack");
      return { kind, size, dataAt: next + this.#hashBytes, base: this.#offsetOf(base) };
    }
    if (kind !== OFFSET_DELTA) return { kind, size, dataAt: next, base: undefined };
    byte = bytes[next++] ?? 0;
    let back = byte & 0x7f;
    while ((byte & 0x80) !== 0) {
      byte = bytes[next++] ?? 0;
      back = (back + 1) * 128 + (byte & 0x7f);
    }
    // A base must come earlier, which rules out cycles.
    if (back <= 0 || back > offset) throw new BadPack("The base of a delta is outside the pack");
    return { kind, size, dataAt: next, base: offset - back };
  }

  #inflate(offset: number, { size, dataAt }: Head): Buffer {
    if (size > this.#limit) throw new BadPack("An object is too large");
    const data = inflateSync(this.#readSpan(offset, this.#endOf(offset) - offset).subarray(dataAt), {
      maxOutputLength: Math.max(1, size),
      chunkSize: Math.max(64, size),
    });
    if (data.length !== size) throw new BadPack("An object is truncated");
    return data;
  }

  /** Offset of the next object. */
  #endOf(offset: number): number {
    this.#ends ??= this.#findEnds();
    let [low, high] = [0, this.#ends.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#ends[middle] ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return this.#ends[low] ?? offset;
  }

  #findEnds(): Float64Array {
    const ends = new Float64Array(this.#count + 1);
    for (let at = 0; at < this.#count; at++) ends[at] = this.#offsetOf(at);
    ends[this.#count] = fstatSync(this.#open()).size - this.#hashBytes;
    return ends.sort();
  }

  #open(): number {
    return (this.#fd ??= openSync(this.#path, "r"));
  }

  #readSpan(position: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(Math.max(0, length));
    let filled = 0;
    while (filled < bytes.length) {
      const count = readSync(this.#open(), bytes, filled, bytes.length - filled, position + filled);
      if (count === 0) break;
      filled += count;
    }
    return bytes.subarray(0, filled);
  }

  #remember(offset: number, object: PackedObject): PackedObject {
    if (object.content.length > CACHE_BYTES / 8 || this.#cache.has(offset)) return object;
    this.#cache.set(offset, object);
    this.#cached += object.content.length;
    for (const [oldest, { content }] of this.#cache) {
      if (this.#cached <= CACHE_BYTES) break;
      this.#cache.delete(oldest);
      this.#cached -= content.length;
    }
    return object;
  }
}
