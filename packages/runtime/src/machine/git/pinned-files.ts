import { closeSync, constants, existsSync, lstatSync, mkdirSync, openSync, readdirSync } from "node:fs";
import { readSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isSystemError } from "../system/system-error.ts";
import { systemPath } from "../system/keys.ts";
import { statsOf } from "../tree/list-folder.ts";
import { FolderToRead } from "../tree/read-entry.ts";
import { factsOf, isYoungAt, joinKey } from "../tree/tree-snapshot.ts";
import { pinFile } from "./pin-file.ts";

export interface PinOptions {
  /** A store is held from this many loose objects, or bytes. Files of smaller stores are stored like all others. */
  readonly minFiles: number;
  readonly minBytes: number;
  /** Deadline, in terms of `performance.now()`. */
  readonly untilMs: number;
  /** No other command needs files that are no longer in the store. */
  readonly isAlone: boolean;
  /** Called often, to yield to the event loop. Throws if the scan was aborted. */
  readonly yieldIfDue: () => Promise<void> | undefined;
}

/** One folder of the store, at the time it was held. */
interface PinnedFolder {
  /** Stamp of the folder in the store; undefined if it changed so recently that another change might go unnoticed. */
  readonly stamp: string | undefined;
  /** Names in the store; the mirror contains at least these. */
  readonly names: ReadonlySet<string>;
  readonly bytes: number;
}

export interface Trailer {
  readonly inode: number;
  readonly bytes: Buffer;
}

/** A file beside the mirror that names its store, one character per byte. */
export const ORIGIN = "of";

const LOOSE_FOLDER = /^[0-9a-f]{2}$/;
const LOOSE = /^(?:[0-9a-f]{38}|[0-9a-f]{62})$/;
/** These files all end with a hash of the preceding content. */
const PACKED = /^(?:pack-[0-9a-f]+\.(?:pack|idx|rev|bitmap|mtimes)|multi-pack-index)$/;
const SHA256 = /^(?:pack-[0-9a-f]{64}\.|[0-9a-f]{62}$)/;
const NONE: ReadonlySet<string> = new Set();

/** Hard links to all files of a git object store, under the same names; copies if hard links are not supported. */
export class PinnedFiles {
  readonly #key: string;
  readonly #mirror: string;
  readonly #folders = new Map<string, PinnedFolder>();
  readonly #trailers = new Map<string, Trailer>();
  #isReady = false;
  #hasLost = false;
  #packsChange = 0;
  #hashBytes = 20;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(key: string, mirror: string) {
    this.#key = key;
    this.#mirror = mirror;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  get hasLost(): boolean {
    return this.#hasLost;
  }

  /** Changes whenever the set of packs changes. */
  get packsChange(): number {
    return this.#packsChange;
  }

  /** Names of packs, relative to the store. */
  get packs(): readonly string[] {
    if (!this.#isReady) return [];
    const names = [...(this.#folders.get("pack")?.names ?? [])];
    return names.filter((name) => name.endsWith(".pack")).map((name) => join("pack", name));
  }

  /** The names in one folder of the store. */
  namesIn(folder: string): ReadonlySet<string> {
    return (this.#isReady ? this.#folders.get(folder)?.names : undefined) ?? NONE;
  }

  pathOf(name: string): string {
    return join(this.#mirror, name);
  }

  open(name: string): number | undefined {
    try {
      return openSync(this.pathOf(name), constants.O_RDONLY | constants.O_NOFOLLOW);
    } catch (error) {
      if (!isSystemError(error)) throw error;
      return undefined; // removed together with the state folder
    }
  }

  /** The trailing hash of a file at the time it was held; undefined for loose objects. */
  trailerOf(name: string): Buffer | undefined {
    return this.#trailers.get(name)?.bytes;
  }

  get trailers(): ReadonlyMap<string, Trailer> {
    return this.#trailers;
  }

  /** Takes over the mirror of an earlier process, with the trailers that it recorded. */
  reopen(trailers: ReadonlyMap<string, Buffer>): void {
    for (const name of existsSync(this.#mirror) ? readdirSync(this.#mirror) : []) {
      const names = new Set(readdirSync(join(this.#mirror, name)));
      this.#folders.set(name, { stamp: undefined, names, bytes: 0 });
      if ([...names].some((each) => SHA256.test(each))) this.#hashBytes = 32;
    }
    for (const [name, bytes] of trailers) this.#trailers.set(name, { inode: 0, bytes });
    this.#packsChange++;
    this.#isReady = true;
  }

  /** Hash length in names and trailers: 20 for SHA-1, 32 for SHA-256. */
  get hashBytes(): number {
    return this.#hashBytes;
  }

  /** Serialized: scans of parallel commands hold the same files. */
  async hold(options: PinOptions): Promise<boolean> {
    const result = this.#turn.then(() => this.#hold(options));
    this.#turn = result.catch(() => {}); // reported to the caller of this turn
    return await result;
  }

  async #hold(options: PinOptions): Promise<boolean> {
    this.#hasLost = false;
    const wasReady = this.#isReady;
    try {
      this.#isReady = await this.#holdAll(options);
    } catch (error) {
      if (!isSystemError(error)) throw error;
      this.#isReady = false; // disk full, or the store is being removed: its files are stored like others then
    }
    if (wasReady && !this.#isReady) this.#hasLost = true;
    return this.#isReady;
  }

  async #holdAll(options: PinOptions): Promise<boolean> {
    const top = readdirSync(systemPath(this.#key));
    const names = top.filter((name) => name === "pack" || LOOSE_FOLDER.test(name));
    const now = new Map<string, PinnedFolder>();
    for (const name of names) {
      await options.yieldIfDue();
      const folder = this.#look(name);
      if (folder !== undefined) now.set(name, folder);
    }
    const all = [...now.values()];
    const files = all.reduce((sum, each) => sum + each.names.size, 0);
    const isLarge = files >= options.minFiles || all.reduce((sum, each) => sum + each.bytes, 0) >= options.minBytes;
    if (!isLarge && !this.#isReady) return false;
    this.#hashBytes = all.some((each) => [...each.names].some((name) => SHA256.test(name))) ? 32 : 20;
    this.#noteOrigin();
    for (const [name, folder] of now) {
      const isHeld = this.#isReady && this.#folders.get(name) === folder;
      if (!isHeld && !(await this.#link(name, folder, options))) return false;
    }
    this.#forget(now, options.isAlone);
    return true;
  }

  /** Records the store of these files, so that a later sweep can remove them when the store is gone. */
  #noteOrigin(): void {
    const path = join(this.#mirror, "..", ORIGIN);
    if (existsSync(path)) return;
    mkdirSync(this.#mirror, { recursive: true, mode: 0o700 });
    writeFileSync(path, this.#key, { encoding: "latin1", mode: 0o600 });
  }

  /** Returns the identical object if the folder is unchanged. */
  #look(name: string): PinnedFolder | undefined {
    const nowMs = Date.now();
    const key = joinKey(this.#key, name);
    const stats = statsOf(key);
    if (stats?.isDirectory() !== true) return undefined;
    const facts = factsOf(stats);
    const stamp = isYoungAt(nowMs, facts) ? undefined : `${facts.inode}:${facts.modified}:${facts.touched}`;
    const known = this.#folders.get(name);
    if (stamp !== undefined && known?.stamp === stamp) return known;
    const pattern = name === "pack" ? PACKED : LOOSE;
    const names = readdirSync(systemPath(key)).filter((each) => pattern.test(each));
    // With more files the store counts as large in any case.
    const sized = name === "pack" || names.length < 64 ? names : [];
    const bytes = sized.reduce((sum, each) => sum + (statsOf(joinKey(key, each))?.size ?? 0), 0);
    return { stamp, names: new Set(names), bytes };
  }

  async #link(name: string, folder: PinnedFolder, options: PinOptions): Promise<boolean> {
    const mirror = join(this.#mirror, name);
    mkdirSync(mirror, { recursive: true, mode: 0o700 });
    const there = new Set(readdirSync(mirror));
    if (options.isAlone) {
      // Files that are no longer in the store are removed, to free their disk space.
      for (const each of there) if (!folder.names.has(each)) unlinkSync(join(mirror, each));
    }
    const from = new FolderToRead(joinKey(this.#key, name));
    try {
      for (const each of folder.names) {
        if (name === "pack" ? this.#isSamePack(each, there) : there.has(each)) continue;
        if (performance.now() > options.untilMs) return false;
        await options.yieldIfDue();
        const source = from.at(each);
        if (source === undefined) return false;
        rmSync(join(mirror, each), { force: true });
        if (!pinFile(source, join(mirror, each))) return false;
      }
    } finally {
      from.close();
    }
    if (name === "pack") this.#readTrailers(folder.names);
    const before = this.#folders.get(name)?.names ?? new Set();
    if ([...before].some((each) => !folder.names.has(each))) this.#hasLost = true;
    this.#folders.set(name, folder);
    return true;
  }

  /** Packs are few, and a repacked one may reuse the name of another. */
  #isSamePack(name: string, there: ReadonlySet<string>): boolean {
    if (!there.has(name)) return false;
    const held = lstatSync(join(this.#mirror, "pack", name));
    const stats = statsOf(joinKey(joinKey(this.#key, "pack"), name));
    if (stats === undefined || held.size !== stats.size) return false;
    return held.ino === stats.ino ? held.dev === stats.dev : held.dev !== stats.dev && held.mtimeMs === stats.mtimeMs;
  }

  #readTrailers(names: ReadonlySet<string>): void {
    this.#packsChange++;
    for (const each of names) {
      const name = join("pack", each);
      const fd = openSync(this.pathOf(name), "r");
      try {
        const { size, ino } = lstatSync(this.pathOf(name));
        if (this.#trailers.get(name)?.inode === ino) continue;
        const bytes = Buffer.alloc(this.#hashBytes);
        readSync(fd, bytes, 0, bytes.length, Math.max(0, size - bytes.length));
        this.#trailers.set(name, { inode: ino, bytes });
      } finally {
        closeSync(fd);
      }
    }
  }

  /** Releases folders that are no longer in the store. */
  #forget(now: ReadonlyMap<string, PinnedFolder>, isAlone: boolean): void {
    for (const name of [...this.#folders.keys()].filter((each) => !now.has(each))) {
      this.#folders.delete(name);
      this.#hasLost = true;
    }
    if (!isAlone) return;
    for (const folder of readdirSync(this.#mirror)) {
      if (!now.has(folder)) rmSync(join(this.#mirror, folder), { recursive: true, force: true });
    }
  }
}
