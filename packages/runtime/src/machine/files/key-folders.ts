import { chmodSync, closeSync, constants, fstatSync, lstatSync, mkdirSync, openSync } from "node:fs";
import { judgePlace } from "../../policy/check-path.ts";
import type { Places } from "../../policy/facts.ts";
import { decodeKey, folderOf, keyOf, nameOf, systemPath } from "../search/keys.ts";
import { openFolder, procPath, realBytesOf } from "./handle.ts";

/** Descriptors that are held open at a time. */
const MAX_OPEN = 256;
const O_PATH = 0o10000000;
/** More than enough: each round closes all folders that the one before it opened. */
const MAX_ROUNDS = 100;
/** What its owner needs to list a folder and to change what is in it. */
const OPEN_TO_OWNER = 0o700;

/**
 * Folders by the bytes of their real path, each opened and verified: it lies in a root, is closed to nobody, and no link
 * led to it. Names are looked up in the open folder itself. A folder whose owner may not enter it is opened for as long
 * as this object lives. The caller closes it.
 */
export class KeyFolders {
  readonly #places: Places;
  readonly #fds = new Map<string, number>();
  /** Modes that folders get back. */
  readonly #unlocked = new Map<string, number>();

  constructor(places: Places) {
    this.#places = places;
  }

  /** The descriptor of a folder; undefined where it is missing, is not a folder, or lies elsewhere by now. */
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

  /** Whether tools may use what stands there. */
  isOpen(key: string): boolean {
    return judgePlace(decodeKey(key), this.#places) === undefined;
  }

  /** A path that leads to the name in its verified folder. Undefined where there is no such folder. */
  at(key: string): string | Buffer | undefined {
    const fd = this.find(folderOf(key) || "/");
    if (fd !== undefined) return systemPath(`${procPath(fd)}/${nameOf(key)}`);
    // A root is named by itself: what is above it is not ours.
    const own = this.#places.roots.some((root) => keyOf(root) === key) ? this.find(key) : undefined;
    return own === undefined ? undefined : `${procPath(own)}/.`;
  }

  /** The same, and makes the folders above it that are missing. Undefined where something else stands in their place. */
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

  /** Lets its owner change what is in a folder until `close`. False where that is so already, or cannot be done. */
  unlock(key: string): boolean {
    const fd = this.find(key);
    if (fd === undefined || this.#unlocked.has(key)) return false;
    const mode = fstatSync(fd).mode & 0o7777;
    if ((mode & OPEN_TO_OWNER) === OPEN_TO_OWNER) return false;
    chmodSync(procPath(fd), mode | OPEN_TO_OWNER);
    this.#unlocked.set(key, mode);
    return true;
  }

  /** The mode that a folder gets back at `close`. Undefined where it is not opened for the time being. */
  lockedMode(key: string): number | undefined {
    return this.#unlocked.get(key);
  }

  /** Gives a folder its mode when everything in it is done. */
  setMode(key: string, mode: number): void {
    const fd = this.find(key);
    this.#unlocked.delete(key);
    if (fd !== undefined) chmodSync(procPath(fd), mode);
  }

  /** To be called for a folder that is removed. */
  forget(key: string): void {
    this.#unlocked.delete(key);
    this.#drop(key);
  }

  close(): void {
    // To get at one that is no longer held open may take opening those above it, which are closed in the next round.
    for (let round = 0; this.#unlocked.size > 0 && round < MAX_ROUNDS; round++) {
      // Innermost first: a folder that is closed again hides those in it.
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

  /** Also where it, or a folder above it, is closed to its owner. */
  #openClosed(key: string): number {
    try {
      return openFolder(systemPath(key));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
    }
    this.#openToOwner(key);
    return openFolder(systemPath(key));
  }

  /** One that may be listed but not entered hides what its names stand for. */
  #letEnter(key: string, fd: number): void {
    const { mode, uid } = fstatSync(fd);
    if ((mode & 0o100) !== 0 || uid === 0 || uid !== process.getuid?.() || this.#unlocked.has(key)) return;
    chmodSync(procPath(fd), (mode & 0o7777) | OPEN_TO_OWNER);
    this.#unlocked.set(key, mode & 0o7777);
  }

  /** The folders above it first: one that cannot be entered hides those in it. */
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

/** Undefined where there is no such folder. */
function unlessMissing(open: () => number): number | undefined {
  try {
    return open();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP") return undefined;
    throw error;
  }
}
