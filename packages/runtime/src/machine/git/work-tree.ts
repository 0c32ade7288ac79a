import { constants, existsSync, lstatSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, dirname, resolve } from "node:path";
import { readRegular } from "../system/read-regular.ts";
import { decodeKey } from "../system/keys.ts";
import { statsOf } from "../tree/list-folder.ts";
import { FolderToRead } from "../tree/read-entry.ts";
import { joinKey } from "../tree/tree-snapshot.ts";
import type { Facts } from "../tree/tree-snapshot.ts";
import { ALL_DOUBTFUL, addDoubts, isDoubtful, NO_DOUBTS } from "./attributes.ts";
import type { ConversionDoubts } from "./attributes.ts";
import type { PinOptions } from "./pinned-files.ts";
import { parseIndex } from "./index-file.ts";
import type { IndexedFile, IndexFile } from "./index-file.ts";
import { ObjectStore } from "./object-store.ts";
import { parseGitConfig } from "../../policy/git/git-config.ts";

/** No realistic work tree has a larger index. */
const INDEX_BYTES = 512 << 20;

/** Longer than one tick of the kernel's clock for file times. */
const RACY_MS = 20;

interface ReadIndex {
  readonly file: IndexFile;
  readonly bytes: Buffer;
  readonly stamp: string;
  readonly modified: number;
}

/** The work tree of a repository, with the file facts from git's index. Does not run git. */
export class WorkTree {
  readonly store: ObjectStore;
  readonly #gitKey: string;
  readonly #home: string;
  #index: ReadIndex | undefined;
  #isIndexRead = false;
  #stamp = "";
  #isSettled = false;
  /** The index that the first scan of an earlier process verified. Undefined if none did. */
  #verified: IndexFile | undefined;
  readonly #verifiedPath: string;
  /** Names whose entries are not in the verified index: their files must be read. */
  readonly #unverified = new Set<string>();

  /** `key` is its real path, one character per byte. */
  constructor(key: string, { mirror, home }: { readonly mirror: string; readonly home: string }) {
    this.#gitKey = joinKey(key, ".git");
    this.#home = home;
    this.#verifiedPath = join(mirror, "..", "index");
    this.store = new ObjectStore(joinKey(this.#gitKey, "objects"), mirror);
  }

  /** Call this for each scan. False if git's objects are not held, so that nothing can rely on them. */
  async begin(options: PinOptions): Promise<boolean> {
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

  /** The index is unchanged since the previous scan, and no objects have disappeared. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  doubts(): ConversionDoubts {
    return doubtsBySettings({ gitdir: decodeKey(this.#gitKey), home: this.#home });
  }

  /** Whether git tracks a file of this name. */
  tracks(name: string): boolean {
    return this.#readIndex()?.file.find(name) !== undefined;
  }

  /**
   * The object with the file's content, according to the times that git recorded when it read or wrote the file.
   * Undefined if anything differs, or if the file changed at the same time as the index, so that a later change might
   * go unnoticed.
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

  /** Records that a file was read and has the content of this object. */
  confirm(name: string, oid: string | undefined): void {
    if (oid === this.#readIndex()?.file.find(name)?.oid) this.#unverified.delete(name);
  }

  /**
   * Call this after the first scan of a process. The next process trusts the index as of now, but not entries that a
   * command wrote meanwhile, until their files were read.
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

  /** At most once per scan. */
  #readIndex(): ReadIndex | undefined {
    if (this.#isIndexRead) return this.#index;
    this.#isIndexRead = true;
    const folder = new FolderToRead(this.#gitKey);
    try {
      const path = folder.at("index");
      this.#index = path === undefined ? undefined : readIndex(path, this.#index);
    } catch {
      this.#index = undefined; // missing, or being written: no facts available
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

/** What a repository can provide for the files in a folder. */
export interface GitKnowledge {
  /** The folder's position in a work tree, if git may have the contents of its files. */
  readonly place?: GitPlace | undefined;
  /** Set for a folder of git's object store: which objects are held. */
  readonly held?: { readonly store: ObjectStore; readonly folder: string; readonly names: ReadonlySet<string> };
}

/** A position in a work tree, with the doubts that apply there. */
export interface GitPlace {
  readonly tree: WorkTree;
  /** Prefix of names: empty, or ends in "/". */
  readonly prefix: string;
  readonly doubts: ConversionDoubts;
}

/** The object that is certain to have a file's content, found without reading the file. */
export function findBlob({ tree, prefix, doubts }: GitPlace, name: string, facts: Facts): string | undefined {
  return isDoubtful(doubts, name) ? undefined : tree.find(prefix + name, facts);
}

/** The place of a folder, given the place of its parent. */
export function enterFolder(above: GitPlace, name: string): GitPlace {
  return { ...above, prefix: `${above.prefix}${name}/` };
}

/** `text` is undefined if the attributes file cannot be read. */
export function withAttributes(place: GitPlace, text: string | undefined): GitPlace {
  return { ...place, doubts: text === undefined ? ALL_DOUBTFUL : addDoubts(place.doubts, text) };
}

/** What a repository can provide for the files in a folder. */
export function knowledgeOf(place: GitPlace | undefined): GitKnowledge {
  if (place?.prefix.startsWith(".git/") !== true) return { place };
  const [, folder] = /^\.git\/objects\/([^/]+)\/$/.exec(place.prefix) ?? [];
  return folder === undefined
    ? {}
    : { held: { store: place.tree.store, folder, names: place.tree.store.namesIn(folder) } };
}

const MAX_CONFIGS = 64;
const MAX_BYTES = 1 << 20;
const OFF = /^(?:false|no|off|0|)$/i;

interface GitFolders {
  /** The repository's git folder. */
  readonly gitdir: string;
  readonly home: string;
}

/**
 * Doubts caused by git's configuration and by attributes outside the work tree. Conditional includes are always
 * included; their conditions are not evaluated.
 */
function doubtsBySettings({ gitdir, home }: GitFolders): ConversionDoubts {
  const configHome = process.env["XDG_CONFIG_HOME"] ?? join(home, ".config");
  const waiting = [
    join(gitdir, "config"),
    join(gitdir, "config.worktree"),
    join(home, ".gitconfig"),
    join(configHome, "git/config"),
    "/etc/gitconfig",
  ];
  const attributes = [join(gitdir, "info/attributes"), join(configHome, "git/attributes"), "/etc/gitattributes"];
  const read = new Set<string>();
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    if (read.has(next)) continue;
    if (read.add(next).size > MAX_CONFIGS) return ALL_DOUBTFUL;
    const text = readText(next);
    const settings = text === undefined ? undefined : parseGitConfig(text);
    if (settings === undefined) return ALL_DOUBTFUL;
    for (const { key, value = "true" } of settings) {
      if (key === "core.autocrlf" && !OFF.test(value)) return ALL_DOUBTFUL;
      const path = resolve(dirname(next), value.replace(/^~(?=\/)/, home));
      if (key === "core.attributesfile") attributes.push(path);
      if (/^include(?:if\..*)?\.path$/s.test(key)) waiting.push(path);
    }
  }
  return attributes.reduce((doubts, path) => {
    const text = readText(path);
    return text === undefined ? ALL_DOUBTFUL : addDoubts(doubts, text);
  }, NO_DOUBTS);
}

/** One character per byte; empty if the file is missing. Undefined if it cannot be read. */
function readText(path: string): string | undefined {
  try {
    return readRegular(path, MAX_BYTES)?.toString("latin1");
  } catch (error) {
    return ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "") ? "" : undefined;
  }
}
