import { constants, existsSync, lstatSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readRegular } from "../files/read-regular.ts";
import { decodeKey } from "../search/keys.ts";
import { statsOf } from "../watch/list-folder.ts";
import { FolderToRead } from "../watch/read-entry.ts";
import { joinKey } from "../watch/tree-entry.ts";
import type { Facts } from "../watch/tree-entry.ts";
import { ALL_DOUBTFUL, addDoubts, isDoubtful } from "./attributes.ts";
import type { Doubts } from "./attributes.ts";
import { doubtsBySettings } from "./conversions.ts";
import type { HoldOptions } from "./held-files.ts";
import { parseIndex } from "./index-file.ts";
import type { IndexedFile, IndexFile } from "./index-file.ts";
import { ObjectStore } from "./object-store.ts";

/** Above this it is not an index of files that people work with. */
const INDEX_BYTES = 512 << 20;

/** Longer than the kernel's clock for file times stands still. */
const RACY_MS = 20;

interface ReadIndex {
  readonly file: IndexFile;
  readonly bytes: Buffer;
  readonly stamp: string;
  readonly modified: number;
}

/** The working folder of a repository, and what git knows of its files. Git itself is not asked. */
export class WorkTree {
  readonly store: ObjectStore;
  readonly #gitKey: string;
  readonly #home: string;
  #index: ReadIndex | undefined;
  #isIndexRead = false;
  #stamp = "";
  #isSettled = false;
  /** The index that the first look of an earlier process found to be right. Undefined where there was none. */
  #verified: IndexFile | undefined;
  readonly #verifiedPath: string;
  /** Names whose entries are not in that one: their files are to be read. */
  readonly #unverified = new Set<string>();

  /** `key` is its real path, one character per byte. */
  constructor(key: string, { mirror, home }: { readonly mirror: string; readonly home: string }) {
    this.#gitKey = joinKey(key, ".git");
    this.#home = home;
    this.#verifiedPath = join(mirror, "..", "index");
    this.store = new ObjectStore(joinKey(this.#gitKey, "objects"), mirror);
  }

  /** For each look. False where git's objects are not held, so that nothing can rely on them. */
  async begin(options: HoldOptions): Promise<boolean> {
    this.#isIndexRead = false;
    const isHeld = await this.store.hold(options);
    const { ino, mtimeMs, ctimeMs } = statsOf(joinKey(this.#gitKey, "index")) ?? { ino: 0, mtimeMs: 0, ctimeMs: 0 };
    const stamp = `${ino}:${mtimeMs}:${ctimeMs}`;
    this.#isSettled = isHeld && stamp === this.#stamp && !this.store.hasLost;
    this.#stamp = isHeld ? stamp : "";
    this.#unverified.clear();
    if (isHeld && existsSync(this.#verifiedPath)) this.#verified ??= parseIndex(readFileSync(this.#verifiedPath));
    return isHeld;
  }

  /** Git has nothing that it did not have at the look before. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  doubts(): Doubts {
    return doubtsBySettings({ gitdir: decodeKey(this.#gitKey), home: this.#home });
  }

  /** Whether git knows a file of this name. */
  tracks(name: string): boolean {
    return this.#readIndex()?.file.find(name) !== undefined;
  }

  /**
   * The object that holds what the file holds, by the times that git noted when it read or wrote it. Undefined where
   * anything differs, or the file changed in the same instant as the index, so that a later change may not show.
   */
  find(name: string, facts: Facts): string | undefined {
    const index = this.#readIndex();
    const known = index?.file.find(name);
    if (index === undefined || known === undefined) return undefined;
    const isSame =
      known.size === facts.size &&
      known.modified === facts.modified &&
      known.touched === facts.touched &&
      known.inode === facts.inode % 2 ** 32 &&
      known.isExecutable === ((facts.mode & 0o100) !== 0);
    const isRacy = Math.max(known.modified, known.touched) >= index.modified - RACY_MS;
    if (!isSame || isRacy || !this.store.has(known.oid)) return undefined;
    if (this.#verified === undefined || areEqual(this.#verified.find(name), known)) return known.oid;
    this.#unverified.add(name);
    return undefined;
  }

  /** A file was read, and holds what the object of this name holds. */
  confirm(name: string, oid: string | undefined): void {
    if (oid === this.#readIndex()?.file.find(name)?.oid) this.#unverified.delete(name);
  }

  /**
   * After the first look of a process. What the index says then is believed by the next process: entries that a command
   * wrote meanwhile are not, until their files were read.
   */
  finish(): void {
    const index = this.#readIndex();
    if (index === undefined || this.#unverified.size > 0 || !this.store.isReady) return;
    if (existsSync(this.#verifiedPath) && readFileSync(this.#verifiedPath).equals(index.bytes)) return;
    writeFileSync(`${this.#verifiedPath}.new`, index.bytes, { mode: 0o600 });
    renameSync(`${this.#verifiedPath}.new`, this.#verifiedPath);
  }

  close(): void {
    this.store.close();
    this.#index = undefined;
  }

  /** Once per look, where it is needed. */
  #readIndex(): ReadIndex | undefined {
    if (this.#isIndexRead) return this.#index;
    this.#isIndexRead = true;
    const folder = new FolderToRead(this.#gitKey);
    try {
      const path = folder.at("index");
      this.#index = path === undefined ? undefined : readIndex(path, this.#index);
    } catch {
      this.#index = undefined; // no index, or it is being written: then nothing is known by it
    } finally {
      folder.close();
    }
    return this.#index;
  }
}

function readIndex(path: string | Buffer, known: ReadIndex | undefined): ReadIndex | undefined {
  const stats = lstatSync(path);
  const stamp = `${stats.ino}:${stats.size}:${stats.mtimeMs}:${stats.ctimeMs}`;
  if (known?.stamp === stamp) return known;
  if (!stats.isFile() || stats.size > INDEX_BYTES) return undefined;
  const bytes = readRegular(path, INDEX_BYTES, constants.O_NOFOLLOW);
  if (bytes === undefined) return undefined;
  const file = parseIndex(bytes);
  const after = lstatSync(path);
  const isSame = after.ino === stats.ino && after.mtimeMs === stats.mtimeMs && after.size === stats.size;
  return file === undefined || file.isSplit || !isSame ? undefined : { file, bytes, stamp, modified: stats.mtimeMs };
}

function areEqual(one: IndexedFile | undefined, other: IndexedFile): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** What a repository knows of the files in a folder. */
export interface GitKnowledge {
  /** Where in the working folder of a repository it is, if git may have their contents. */
  readonly place?: GitPlace | undefined;
  /** It is one of those that git keeps objects in: which of them are held. */
  readonly held?: { readonly store: ObjectStore; readonly folder: string; readonly names: ReadonlySet<string> };
}

/** Where in a working folder something lies, and what is doubtful there. */
export interface GitPlace {
  readonly tree: WorkTree;
  /** Of names: empty, or it ends in "/". */
  readonly prefix: string;
  readonly doubts: Doubts;
}

/** The object that surely holds what a file holds, without reading the file. */
export function findBlob({ tree, prefix, doubts }: GitPlace, name: string, facts: Facts): string | undefined {
  return isDoubtful(doubts, name) ? undefined : tree.find(prefix + name, facts);
}

/** The place of a folder, given that of the folder above it. */
export function enterFolder(above: GitPlace, name: string): GitPlace {
  return { ...above, prefix: `${above.prefix}${name}/` };
}

/** `text` is undefined where it cannot be read. */
export function withAttributes(place: GitPlace, text: string | undefined): GitPlace {
  return { ...place, doubts: text === undefined ? ALL_DOUBTFUL : addDoubts(place.doubts, text) };
}

/** What a repository knows of the files in a folder. */
export function knowledgeOf(place: GitPlace | undefined): GitKnowledge {
  if (place?.prefix.startsWith(".git/") !== true) return { place };
  const [, folder] = /^\.git\/objects\/([^/]+)\/$/.exec(place.prefix) ?? [];
  return folder === undefined
    ? {}
    : { held: { store: place.tree.store, folder, names: place.tree.store.namesIn(folder) } };
}
