import { closeSync, constants, fchmodSync, fchownSync, lchownSync, linkSync, lstatSync, mkdirSync } from "node:fs";
import { openSync, renameSync, rmdirSync, symlinkSync, unlinkSync } from "node:fs";
import type { FileVersion, LinkVersion, RestoreItem, Version } from "../../contract/undo-keeper.ts";
import { decodeKey, folderOf, keyOf, systemPath } from "../system/keys.ts";
import type { ChangeLog } from "./change-log.ts";
import { inodeOf, isSameButTouched } from "./entry-state.ts";
import type { EntryState } from "./entry-state.ts";
import { chmodEntry, identityOf } from "../system/handle.ts";
import type { ContentReader } from "./content-reader.ts";
import type { KeyFolders } from "../system/key-folders.ts";
import { chownIfPermitted, removeIfExists } from "../system/handle.ts";
import { findPartner, isToStandAlone } from "./restore-links.ts";
import { Syncs } from "../system/syncs.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import { isSystemError } from "../system/system-error.ts";
import { isFileVersion, isSameContent } from "../../contract/versions.ts";

/** One path that differs from its old state. */
export interface RestoreStep {
  readonly item: RestoreItem;
  readonly key: string;
  readonly now: EntryState;
}

export interface StepProblem {
  readonly key: string;
  readonly path: string;
  /** A clause for a message. */
  readonly why: string;
  /** The folder now contains other files: it stays, which does not count as a failure. */
  readonly in_use: boolean;
}

export interface StepOptions {
  readonly folders: KeyFolders;
  readonly kept: ContentReader;
  readonly log: Pick<ChangeLog, "temporaryName">;
}

type Path = string | Buffer;

/** Descriptors waiting for fsync stay open, and the number of open descriptors per process is limited. */
const MAX_WAITING = 128;
/** Yields to the event loop at this interval. */
const TURN_MS = 8;

/**
 * Order: remove obstructing entries, folders after their contents; create folders, outermost first; restore files and
 * links, each atomically; set folder modes, innermost first, since a restrictive mode could block access. A failed step
 * is reported and does not stop the others.
 */
export async function applySteps(steps: readonly RestoreStep[], options: StepOptions): Promise<readonly StepProblem[]> {
  const applying = new StepRunner(options);
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

/** The error message is a clause for another message. */
class RestoreError extends Error {}

const CHANGED = "it was changed during the undo";
const NO_FOLDER = "its folder is missing or was replaced";

/** A folder that contains files of other processes. */
class InUseError extends RestoreError {}

class StepRunner {
  readonly problems: StepProblem[] = [];
  readonly #options: StepOptions;
  readonly #syncs = new Syncs();
  readonly #failed = new Set<string>();
  readonly #changedFolders = new Set<string>();
  #turnMs = performance.now() + TURN_MS;

  constructor(options: StepOptions) {
    this.#options = options;
  }

  /** Skips a step whose folder is missing: the folder's own step has already failed. */
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

  /** A folder that still contains other files stays. */
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
      if (code === "ENOTEMPTY" || code === "EEXIST") throw new InUseError("other files are in it");
      throw error;
    }
  }

  makeFolder({ key, item: { to } }: RestoreStep, at: Path): void {
    mkdirSync(at, { mode: 0o700 });
    if (to?.owner !== undefined) chownIfPermitted(() => lchownSync(at, to.owner?.user ?? 0, to.owner?.group ?? 0));
    this.#changedFolders.add(folderOf(key));
  }

  put({ item, now, key }: RestoreStep): void {
    if (item.to === null || item.to.kind === "folder" || item.to.kind === "other") return;
    // Only its mode or its hard links differ.
    if (isFileVersion(item.to) && isSameContent(item.to, now.version) && !isToStandAlone(item, now)) return;
    // Parent folders without a record get the default mode.
    const at = this.#options.folders.makeAbove(key);
    if (at === undefined) throw new RestoreError(NO_FOLDER);
    const { to } = item;
    this.#replace(key, at, (temporary) => {
      if (to.kind === "link") makeLink(temporary, to);
      else this.#writeFile(temporary, to);
      // Obstructing folders and their contents were removed in an earlier step.
      if (now.version?.kind !== "folder") this.#assertSame(at, now);
    });
  }

  /** Atomic: `make` creates the entry at a temporary name, which then replaces the current one. */
  #replace(key: string, at: Path, make: (temporary: Path) => void): void {
    const temporary = this.#temporaryFor(key);
    try {
      make(temporary);
      renameSync(temporary, at);
      this.#changedFolders.add(folderOf(key));
    } catch (error) {
      removeIfExists(temporary);
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

  /** Makes a file a hard link of its other names again, atomically. */
  async link(step: RestoreStep): Promise<void> {
    const { key, item } = step;
    const { folders } = this.#options;
    if (!isFileVersion(item.to) || item.to.linked === undefined || this.#failed.has(key)) return;
    const partner = await findPartner(key, item.to, folders);
    if (partner === undefined) return;
    this.#try(step, () => {
      const at = folders.at(key);
      if (at === undefined) throw new RestoreError(NO_FOLDER);
      this.#replace(key, at, (temporary) => {
        linkSync(partner.at, temporary);
        if (inodeOf(lstatSync(temporary, { bigint: true })) !== partner.inode) throw new RestoreError(CHANGED);
      });
    });
  }

  /** Removes the folders that a file tool created for a file, if they are empty. */
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
        return; // not empty, so still in use
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
    const fail = (why: string, in_use = false): void => {
      this.#failed.add(key);
      this.problems.push({ key, path: item.path, why, in_use });
    };
    try {
      this.#withAccess(key, work);
    } catch (error) {
      if (error instanceof RestoreError) return fail(error.message, error instanceof InUseError);
      if (!isSystemError(error)) throw error;
      fail(reasonOf(error));
    }
  }

  /** Temporarily unlocks a folder whose mode denies its owner changes. */
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
    // The undo itself changed the ctime if it removed another hard link of the file, or had to make the file readable.
    const isOwnTime = isFileVersion(version) && ((file?.links ?? 1) > 1 || (version.mode & 0o400) === 0);
    if (!isOwnTime || !isSameButTouched(now, identity)) throw new RestoreError(CHANGED);
  }

  /** In the same folder, and so on the same file system. */
  #temporaryFor(key: string): Path {
    const folder = folderOf(key);
    const name = this.#options.log.temporaryName(decodeKey(folder), "tmp");
    const at = this.#options.folders.at(`${folder}/${name}`);
    if (at === undefined) throw new RestoreError(NO_FOLDER);
    return at;
  }

  #writeFile(temporary: Path, { sha256, mode, owner }: FileVersion): void {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const fd = openSync(temporary, flags, 0o600);
    let isWaiting = false;
    try {
      if (!this.#options.kept.writeTo(sha256, fd)) throw new RestoreError("its old content is damaged");
      if (owner !== undefined) chownIfPermitted(() => fchownSync(fd, owner.user, owner.group));
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
  if (owner !== undefined) chownIfPermitted(() => lchownSync(temporary, owner.user, owner.group));
}
