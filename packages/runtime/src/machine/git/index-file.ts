const HEADER_BYTES = 12;
/** In an entry, times, device, inode, mode, owner and size precede the hash; flags follow it. */
const FACTS_BYTES = 40;
const EXTENDED = 0x4000;

/** Facts that git records when it reads or writes a file, with the object id of its content. */
export interface IndexedFile {
  /** In milliseconds, as in `fs.Stats`. */
  readonly touched: number;
  readonly modified: number;
  /** The lower 32 bits. */
  readonly inode: number;
  readonly size: number;
  readonly isExecutable: boolean;
  /** In hex. */
  readonly oid: string;
}

/** A git index: versions 2 to 4, SHA-1 or SHA-256. */
export interface IndexFile {
  readonly hashBytes: number;
  /** Contains only some of the entries; the others are in a shared index. */
  readonly isSplit: boolean;
  /**
   * The tree that `git commit` would write, in hex; null if entries changed since it was cached. Left out: not cached.
   */
  readonly tree?: string | null;
  /** Names with one character per byte. */
  names(): Iterable<string>;
  /** Undefined if the file is untracked, marked as not to be compared, in conflict, or not a regular file. */
  find(name: string): IndexedFile | undefined;
}

/** Undefined if it is not a valid index. */
export function parseIndex(bytes: Buffer): IndexFile | undefined {
  if (bytes.length < HEADER_BYTES || bytes.toString("latin1", 0, 4) !== "DIRC") return undefined;
  const header = { version: bytes.readUInt32BE(4), count: bytes.readUInt32BE(8) };
  if (header.version < 2 || header.version > 4) return undefined;
  return withHash(bytes, { ...header, hashBytes: 20 }) ?? withHash(bytes, { ...header, hashBytes: 32 });
}

interface IndexShape {
  readonly version: number;
  readonly count: number;
  readonly hashBytes: number;
}

function withHash(bytes: Buffer, shape: IndexShape): IndexFile | undefined {
  const found = findEntries(bytes, shape);
  if (found === undefined) return undefined;
  const { hashBytes } = shape;
  const tree = readTree(findExtension(bytes, { at: found.end, hashBytes, name: "TREE" }), hashBytes);
  return {
    hashBytes,
    isSplit: findExtension(bytes, { at: found.end, hashBytes, name: "link" }) !== undefined,
    ...(tree === undefined ? {} : { tree }),
    names: () => found.entries.keys(),
    find(name) {
      const at = found.entries.get(name);
      return at === undefined ? undefined : readEntry(bytes, at, hashBytes);
    },
  };
}

interface FoundEntries {
  /** Offset of each entry. */
  readonly entries: ReadonlyMap<string, number>;
  readonly end: number;
}

function findEntries(bytes: Buffer, { version, count, hashBytes }: IndexShape): FoundEntries | undefined {
  const entries = new Map<string, number>();
  let previous = "";
  let at = HEADER_BYTES;
  for (let entry = 0; entry < count; entry++) {
    const flagsAt = at + FACTS_BYTES + hashBytes;
    if (flagsAt + 2 > bytes.length || !isMode(bytes.readUInt32BE(at + 24))) return undefined;
    const extended = version > 2 && (bytes.readUInt16BE(flagsAt) & EXTENDED) !== 0;
    const nameAt = flagsAt + (extended ? 4 : 2);
    const kept = version === 4 ? readOffset(bytes, nameAt) : { value: previous.length, next: nameAt };
    const end = bytes.indexOf(0, kept.next);
    if (end === -1 || kept.value > previous.length) return undefined;
    previous = previous.slice(0, previous.length - kept.value) + bytes.toString("latin1", kept.next, end);
    entries.set(previous, at);
    // Entries are padded to a multiple of eight, except in version 4.
    at = version === 4 ? end + 1 : at + (((end - at) >> 3) + 1) * 8;
  }
  return { entries, end: at };
}

/** Regular file, link, submodule, or the folder of a sparse index. */
function isMode(mode: number): boolean {
  return [0o100000, 0o120000, 0o160000, 0o040000].includes(mode & 0o170000) && mode >>> 16 === 0;
}

/** How many bytes of the previous name are dropped: seven bits per byte, as in git packs. */
function readOffset(bytes: Buffer, start: number): { readonly value: number; readonly next: number } {
  let byte = bytes[start] ?? 0;
  let value = byte & 0x7f;
  let next = start + 1;
  while ((byte & 0x80) !== 0) {
    byte = bytes[next] ?? 0;
    value = ((value + 1) << 7) | (byte & 0x7f);
    next++;
  }
  return { value, next };
}

interface Extensions {
  readonly at: number;
  readonly hashBytes: number;
  readonly name: string;
}

function findExtension(bytes: Buffer, { at, hashBytes, name }: Extensions): Buffer | undefined {
  for (let next = at; next + 8 <= bytes.length - hashBytes; next += 8 + bytes.readUInt32BE(next + 4)) {
    if (bytes.toString("latin1", next, next + 4) === name)
      return bytes.subarray(next + 8, next + 8 + bytes.readUInt32BE(next + 4));
  }
  return undefined;
}

/** The first row is the root tree: an empty name, the number of entries (-1: unknown), of subtrees, and the hash. */
function readTree(rows: Buffer | undefined, hashBytes: number): string | null | undefined {
  const end = rows?.indexOf("\n") ?? -1;
  const [, count] = /^\0(-1|\d+) \d+$/.exec(rows?.toString("latin1", 0, Math.max(0, end)) ?? "") ?? [];
  if (rows === undefined || count === undefined) return undefined;
  return count === "-1" ? null : rows.toString("hex", end + 1, end + 1 + hashBytes);
}

/** Flag bits: assume-unchanged, extended, stage (conflict). */
const SPECIAL = 0x8000 | EXTENDED | 0x3000;

function readEntry(bytes: Buffer, at: number, hashBytes: number): IndexedFile | undefined {
  const mode = bytes.readUInt32BE(at + 24);
  const isPlain = (bytes.readUInt16BE(at + FACTS_BYTES + hashBytes) & SPECIAL) === 0;
  if (!isPlain || (mode & 0o170000) !== 0o100000) return undefined;
  const timeAt = (offset: number): number =>
    bytes.readUInt32BE(at + offset) * 1000 + bytes.readUInt32BE(at + offset + 4) / 1e6;
  return {
    touched: timeAt(0),
    modified: timeAt(8),
    inode: bytes.readUInt32BE(at + 20),
    size: bytes.readUInt32BE(at + 36),
    isExecutable: (mode & 0o100) !== 0,
    oid: bytes.toString("hex", at + FACTS_BYTES, at + FACTS_BYTES + hashBytes),
  };
}
