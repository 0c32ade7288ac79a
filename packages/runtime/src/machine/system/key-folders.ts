import { chmodSync, closeSync, constants, fstatSync, lstatSync, mkdirSync, openSync } from "node:fs";
import { judgePlace } from "../../policy/paths/check-path.ts";
import type { Places } from "../../policy/facts.ts";
import { decodeKey, folderOf, keyOf, nameOf, systemPath } from "./keys.ts";
import { openFolder, procPath, realBytesOf } from "./handle.ts";

/** Maximum number of descriptors open at a time. */
const MAX_OPEN = 256;
const O_PATH = 0o10000000;
/** More than enough: each round closes all folders that the previous round opened. */
const MAX_ROUNDS = 100;
/** The mode an owner needs to list a folder and change its entries. */
const OPEN_TO_OWNER = 0o700;

/**
 * Folders by the bytes of their real path, each opened and verified: inside a root, not off limits, not reached through
 * a link. Names are looked up relative to the open descriptor. A folder whose mode locks out its owner is made
 * accessible until `close`. The caller closes it.
 */
export class KeyFolders {
  readonly #places: Places;
  readonly #fds = new Map<string, number>();
  /** Original modes, restored at `close`. */
  readonly #unlocked = new Map<string, number>();

  constructor(places: Places) {
    this.#places = places;
  }

  /** The descriptor of a folder; undefined if it is missing, is not a folder, or was moved. */
  find(key: string): number | undefined {
    const known = this.#fds.get(key);
    if (known !== undefined) return known;
    if (judgePlace(decodeKey(key), this.#places) !== undefined) return undefined;
    const fd = this.#open(key);
    if (fd === undefined) return undefined;
    this.#makeRoom();
    this.#fds.set(key, fd);
    return fd;
  }

  /** Whether tools may access this path. */
  isOpen(key: string): boolean {
    return judgePlace(decodeKey(key), this.#places) === undefined;
  }

  /** A path to the name in its verified folder. Undefined if that folder does not exist. */
  at(key: string): string | Buffer | undefined {
    const fd = this.find(folderOf(key) || "/");
    if (fd !== undefined) return systemPath(`${procPath(fd)}/${nameOf(key)}`);
    // A root is addressed directly, because its parent is outside the roots.
    const own = this.#places.roots.some((root) => keyOf(root) === key) ? this.find(key) : undefined;
    return own === undefined ? undefined : `${procPath(own)}/.`;
  }

  /** Like `at`, but creates missing parent folders. Undefined if another kind of entry is in their place. */
  makeAbove(key: string): string | Buffer | undefined {
    const folder = folderOf(key);
    if (folder === "" || judgePlace(decodeKey(folder), this.#places) !== undefined) return undefined;
    if (this.find(folder) === undefined) {
      const at = this.makeAbove(folder);
      if (at === undefined || lstatSync(at, { throwIfNoEntry: false }) !== undefined) return undefined;
      mkdirSync(at);
    }
    return this.at(key);
  }

  /** Makes a folder writable for its owner until `close`. False if it already is, or if that fails. */
  unlock(key: string): boolean {
    const fd = this.find(key);
    if (fd === undefined || this.#unlocked.has(key)) return false;
    const mode = fstatSync(fd).mode & 0o7777;
    if ((mode & OPEN_TO_OWNER) === OPEN_TO_OWNER) return false;
    chmodSync(procPath(fd), mode | OPEN_TO_OWNER);
    this.#unlocked.set(key, mode);
    return true;
  }

  /** The mode restored at `close`. Undefined if the folder's mode was not changed. */
  lockedMode(key: string): number | undefined {
    return this.#unlocked.get(key);
  }

  /** Sets a folder's final mode after all changes inside it. */
  setMode(key: string, mode: number): void {
    const fd = this.find(key);
    this.#unlocked.delete(key);
    if (fd !== undefined) chmodSync(procPath(fd), mode);
  }

  /** Call this for a removed folder. */
  forget(key: string): void {
    this.#unlocked.delete(key);
    this.#drop(key);
  }

  close(): void {
    // Reaching a folder that is no longer open may unlock its parents again; the next round locks those.
    for (let round = 0; this.#unlocked.size > 0 && round < MAX_ROUNDS; round++) {
      // Innermost first: a locked folder makes its subfolders inaccessible.
      const inside = [...this.#unlocked].sort(([one], [other]) => other.length - one.length);
      for (const [key, mode] of inside) this.setMode(key, mode);
    }
    for (const fd of this.#fds.values()) closeSync(fd);
    this.#fds.clear();
  }

  #open(key: string): number | undefined {
    const fd = unlessMissing(() => this.#openClosed(key));
    if (fd === undefined) return undefined;
    if (realBytesOf(fd) !== key) {
      closeSync(fd);
      return undefined;
    }
    this.#letEnter(key, fd);
    return fd;
  }

  /** Opens a folder even if its mode, or that of a parent, locks out the owner. */
  #openClosed(key: string): number {
    try {
      return openFolder(systemPath(key));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
    }
    this.#openToOwner(key);
    return openFolder(systemPath(key));
  }

  /** In a folder that can be listed but not entered, entries cannot be examined. */
  #letEnter(key: string, fd: number): void {
    const { mode, uid } = fstatSync(fd);
    if ((mode & 0o100) !== 0 || uid === 0 || uid !== process.getuid?.() || this.#unlocked.has(key)) return;
    chmodSync(procPath(fd), (mode & 0o7777) | OPEN_TO_OWNER);
    this.#unlocked.set(key, mode & 0o7777);
  }

  /** Parents first: subfolders of a folder that cannot be entered are inaccessible. */
  #openToOwner(key: string): void {
    const above = folderOf(key);
    if (above !== "" && judgePlace(decodeKey(above), this.#places) === undefined) this.unlock(above);
    const fd = openSync(systemPath(key), O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    try {
      const mode = fstatSync(fd).mode & 0o7777;
      if (realBytesOf(fd) !== key || (mode & OPEN_TO_OWNER) === OPEN_TO_OWNER) return;
      chmodSync(procPath(fd), mode | OPEN_TO_OWNER);
      this.#unlocked.set(key, mode);
    } finally {
      closeSync(fd);
    }
  }

  #drop(key: string): void {
    const fd = this.#fds.get(key);
    if (fd !== undefined) closeSync(fd);
    this.#fds.delete(key);
  }

  #makeRoom(): void {
    if (this.#fds.size < MAX_OPEN) return;
    const [oldest] = this.#fds.keys();
    if (oldest !== undefined) this.#drop(oldest);
  }
}

/** Undefined if the folder does not exist. */
function unlessMissing(open: () => number): number | undefined {
  try {
    return open();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP") return undefined;
    throw error;
  }
}
