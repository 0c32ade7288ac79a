import { closeSync, constants, fchmodSync, fchownSync, lchownSync, linkSync, lstatSync, mkdirSync } from "node:fs";
import { openSync, renameSync, rmdirSync, symlinkSync, unlinkSync } from "node:fs";
import type { FileVersion, LinkVersion, RestoreItem, Version } from "../../contract/undo.ts";
import { decodeKey, folderOf, keyOf, systemPath } from "../search/keys.ts";
import type { ChangeLog } from "./change-log.ts";
import { inodeOf, isSameButTouched } from "./entry-state.ts";
import type { EntryState } from "./entry-state.ts";
import { chmodEntry, identityOf } from "./handle.ts";
import type { KeptReader } from "./kept-reader.ts";
import type { KeyFolders } from "./key-folders.ts";
import { giveTo, removeNew } from "./new-files.ts";
import { findPartner, isToStandAlone } from "./restore-links.ts";
import { Syncs } from "./syncs.ts";
import { isSystemError, reasonOf } from "./system-error.ts";
import { isFileVersion, isSameContent } from "../../contract/versions.ts";

/** One path that is not as it was. */
export interface RestoreStep {
  readonly item: RestoreItem;
  readonly key: string;
  readonly now: EntryState;
}

export interface StepProblem {
  readonly key: string;
  readonly path: string;
  /** A clause. */
  readonly why: string;
  /** Others use the folder by now: it stays, and that is no failure. */
  readonly is_of_use: boolean;
}

export interface StepOptions {
  readonly folders: KeyFolders;
  readonly kept: KeptReader;
  readonly log: Pick<ChangeLog, "temporaryName">;
}

type Path = string | Buffer;

/** Descriptors that wait to be synced are open ones, and a process may have only so many. */
const MAX_WAITING = 128;
/** Others get a turn this often. */
const TURN_MS = 8;

/**
 * What is in the way goes first, innermost folders last; then folders, outermost first; then files and links, each in
 * one step; then the modes of folders, innermost first, since a closed one lets nobody in. What one step cannot do is
 * told and keeps no other from being done.
 */
export async function applySteps(steps: readonly RestoreStep[], options: StepOptions): Promise<readonly StepProblem[]> {
  const applying = new Applying(options);
  try {
    const isFolder = (version: Version | null): boolean => version?.kind === "folder";
    const inWay = steps.filter(({ item: { to }, now }) => !isFolder(now.version) && (to === null || isFolder(to)));
    const leaving = steps.filter(({ item: { to }, now }) => isFolder(now.version) && !isFolder(to));
    const made = steps.filter(({ item: { to }, now }) => isFolder(to) && !isFolder(now.version));
    const entries = steps.filter(({ item: { to } }) => to !== null && !isFolder(to));
    await applying.eachAt(inWay, (step, at) => applying.remove(step, at));
    await applying.eachAt(innermostFirst(leaving), (step, at) => applying.removeFolder(step, at));
    await applying.eachAt(innermostFirst(made).reverse(), (step, at) => applying.makeFolder(step, at));
    await applying.each(entries, (step) => applying.put(step));
    await applying.each(innermostFirst(steps), (step) => applying.setMode(step));
    for (const step of steps) await applying.link(step);
    for (const step of steps) applying.removeEmptied(step);
    await applying.sync();
    return applying.problems;
  } finally {
    applying.close();
  }
}

function innermostFirst(steps: readonly RestoreStep[]): RestoreStep[] {
  return [...steps].sort((one, other) => other.key.length - one.key.length);
}

/** The message is a clause. */
class CannotRestore extends Error {}

const CHANGED = "it was changed while the change was undone";
const NO_FOLDER = "its folder is missing, or something else took its place";

/** A folder that others have put files into. */
class IsOfUse extends CannotRestore {}

class Applying {
  readonly problems: StepProblem[] = [];
  readonly #options: StepOptions;
  readonly #syncs = new Syncs();
  readonly #failed = new Set<string>();
  readonly #changedFolders = new Set<string>();
  #turnMs = performance.now() + TURN_MS;

  constructor(options: StepOptions) {
    this.#options = options;
  }

  /** A step whose folder is missing has nothing to remove or to make there; the folder's own step has failed then. */
  async eachAt(steps: readonly RestoreStep[], work: (step: RestoreStep, at: Path) => void): Promise<void> {
    await this.each(steps, (step) => {
      const at = this.#options.folders.at(step.key);
      if (at !== undefined) work(step, at);
    });
  }

  async each(steps: readonly RestoreStep[], work: (step: RestoreStep) => void): Promise<void> {
    for (const step of steps) {
      if (!this.#failed.has(step.key)) this.#try(step, () => work(step));
      if (this.#syncs.count >= MAX_WAITING) await this.#syncs.run();
      if (performance.now() < this.#turnMs) continue;
      await new Promise(setImmediate);
      this.#turnMs = performance.now() + TURN_MS;
    }
  }

  remove({ now, key }: RestoreStep, at: Path): void {
    if (now.version === null) return;
    this.#assertSame(at, now);
    unlinkSync(at);
    this.#changedFolders.add(folderOf(key));
  }

  /** One that is still of use to others stays. */
  removeFolder({ key }: RestoreStep, at: Path): void {
    const { folders } = this.#options;
    try {
      folders.unlock(key);
      rmdirSync(at);
      folders.forget(key);
      this.#changedFolders.add(folderOf(key));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") return;
      if (code === "ENOTEMPTY" || code === "EEXIST") throw new IsOfUse("other files are in it");
      throw error;
    }
  }

  makeFolder({ key, item: { to } }: RestoreStep, at: Path): void {
    mkdirSync(at, { mode: 0o700 });
    if (to?.owner !== undefined) giveTo(() => lchownSync(at, to.owner?.user ?? 0, to.owner?.group ?? 0));
    this.#changedFolders.add(folderOf(key));
  }

  put({ item, now, key }: RestoreStep): void {
    if (item.to === null || item.to.kind === "folder" || item.to.kind === "other") return;
    // Only its mode differs, or which other names it has.
    if (isFileVersion(item.to) && isSameContent(item.to, now.version) && !isToStandAlone(item, now)) return;
    // Folders that nobody put on record are made as any program makes them.
    const at = this.#options.folders.makeAbove(key);
    if (at === undefined) throw new CannotRestore(NO_FOLDER);
    const { to } = item;
    this.#replace(key, at, (temporary) => {
      if (to.kind === "link") makeLink(temporary, to);
      else this.#writeFile(temporary, to);
      // Folders in the way are gone by now, and what was removed with them.
      if (now.version?.kind !== "folder") this.#assertSame(at, now);
    });
  }

  /** In one step: what `make` put at a temporary name takes the place of what is there. */
  #replace(key: string, at: Path, make: (temporary: Path) => void): void {
    const temporary = this.#temporaryFor(key);
    try {
      make(temporary);
      renameSync(temporary, at);
      this.#changedFolders.add(folderOf(key));
    } catch (error) {
      removeNew(temporary);
      throw error;
    }
  }

  setMode({ key, item: { to }, now }: RestoreStep): void {
    const { folders } = this.#options;
    if (to?.kind === "folder") folders.setMode(key, to.mode);
    else if (isFileVersion(to) && isSameContent(to, now.version)) {
      const at = folders.at(key);
      if (at !== undefined) chmodEntry(at, to.mode);
    }
  }

  /** Makes a file one with its other names again, in one step. */
  async link(step: RestoreStep): Promise<void> {
    const { key, item } = step;
    const { folders } = this.#options;
    if (!isFileVersion(item.to) || item.to.linked === undefined || this.#failed.has(key)) return;
    const partner = await findPartner(key, item.to, folders);
    if (partner === undefined) return;
    this.#try(step, () => {
      const at = folders.at(key);
      if (at === undefined) throw new CannotRestore(NO_FOLDER);
      this.#replace(key, at, (temporary) => {
        linkSync(partner.at, temporary);
        if (inodeOf(lstatSync(temporary, { bigint: true })) !== partner.inode) throw new CannotRestore(CHANGED);
      });
    });
  }

  /** Folders that a file tool made for a file go with it, where nothing else is in them. */
  removeEmptied({ item }: RestoreStep): void {
    if (item.to !== null) return;
    for (const folder of item.folders) {
      const key = keyOf(folder);
      const at = item.real.startsWith(`${folder}/`) ? this.#options.folders.at(key) : undefined;
      if (at === undefined) return;
      try {
        rmdirSync(at);
        this.#options.folders.forget(key);
        this.#changedFolders.add(folderOf(key));
      } catch {
        return; // not empty, so it is of use
      }
    }
  }

  async sync(): Promise<void> {
    await this.#syncs.run();
    for (const key of this.#changedFolders) {
      const fd = this.#options.folders.find(key || "/");
      if (fd !== undefined) this.#syncs.addOpen(fd);
      if (this.#syncs.count >= MAX_WAITING) await this.#syncs.run();
    }
    await this.#syncs.run();
  }

  close(): void {
    this.#syncs.close();
  }

  #try({ key, item }: RestoreStep, work: () => void): void {
    const fail = (why: string, is_of_use = false): void => {
      this.#failed.add(key);
      this.problems.push({ key, path: item.path, why, is_of_use });
    };
    try {
      this.#withAccess(key, work);
    } catch (error) {
      if (error instanceof CannotRestore) return fail(error.message, error instanceof IsOfUse);
      if (!isSystemError(error)) throw error;
      fail(reasonOf(error));
    }
  }

  /** A folder whose owner may not change it is opened for the time being. */
  #withAccess(key: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if ((code !== "EACCES" && code !== "EPERM") || !this.#options.folders.unlock(folderOf(key) || "/")) throw error;
      work();
    }
  }

  #assertSame(at: Path, { identity, file, version }: EntryState): void {
    const stats = lstatSync(at, { bigint: true, throwIfNoEntry: false });
    const now = stats === undefined ? null : identityOf(stats);
    if (now === identity) return;
    // Its time is our own where another name of the file went before it, or where it had to be opened to be read.
    const isOwnTime = isFileVersion(version) && ((file?.links ?? 1) > 1 || (version.mode & 0o400) === 0);
    if (!isOwnTime || !isSameButTouched(now, identity)) throw new CannotRestore(CHANGED);
  }

  /** In its own folder, so that it is on the same file system. */
  #temporaryFor(key: string): Path {
    const folder = folderOf(key);
    const name = this.#options.log.temporaryName(decodeKey(folder), "tmp");
    const at = this.#options.folders.at(`${folder}/${name}`);
    if (at === undefined) throw new CannotRestore(NO_FOLDER);
    return at;
  }

  #writeFile(temporary: Path, { sha256, mode, owner }: FileVersion): void {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const fd = openSync(temporary, flags, 0o600);
    let isWaiting = false;
    try {
      if (!this.#options.kept.writeTo(sha256, fd)) throw new CannotRestore("its old content is damaged");
      if (owner !== undefined) giveTo(() => fchownSync(fd, owner.user, owner.group));
      fchmodSync(fd, mode);
      this.#syncs.add(fd);
      isWaiting = true;
    } finally {
      if (!isWaiting) closeSync(fd);
    }
  }
}

function makeLink(temporary: Path, { target, owner }: LinkVersion): void {
  symlinkSync(systemPath(target), temporary);
  if (owner !== undefined) giveTo(() => lchownSync(temporary, owner.user, owner.group));
}
