import { rmdirSync, unlinkSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { FilesChange, FileChange } from "../../contract/context.ts";
import type { Clock } from "../../contract/host.ts";
import type { ChangedFile } from "../../contract/undo-keeper.ts";
import type { ResolvedTouch, WorkspaceContext } from "../../policy/decide.ts";
import { ToolError } from "../../protocol/errors.ts";
import { makeId } from "../../protocol/ids.ts";
import type { ChangeLog, ChangeLogs } from "./change-log.ts";
import { ConcurrentChangeError } from "../system/concurrent-change.ts";
import { asBefore, checkPlan } from "./change-plan.ts";
import type { ChangePlan } from "./change-plan.ts";
import { commitFiles, PartialChangeError } from "./commit.ts";
import type { CommitFile } from "./commit.ts";
import { OpenFolders } from "../system/folders.ts";
import type { Packed } from "./pack.ts";
import { changedFileOf, stage } from "./stage.ts";
import type { Staged } from "./stage.ts";
import { Syncs } from "../system/syncs.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import { convertSystemError, isSystemError } from "../system/system-error.ts";
import { Target } from "../system/target.ts";
import type { UndoObjects } from "./undo-objects.ts";

export interface ChangeParts {
  readonly logs: ChangeLogs;
  readonly objects: UndoObjects;
  readonly clock: Clock;
  readonly limit_bytes: number;
  /** Whether this process is making no other change. */
  readonly isAlone: () => boolean;
}

/** Who changes files, and what that call was allowed to touch. */
export interface ChangeRequest {
  readonly run_id: string;
  readonly tool_call_id: string;
  readonly touches: readonly ResolvedTouch[];
  readonly workspace: WorkspaceContext;
  readonly signal: AbortSignal;
  /** Resolves when the start of the call is durably recorded. No file changes before that. */
  readonly recorded: () => Promise<void>;
}

/** Descriptors waiting for fsync stay open, and the number of open descriptors per process is limited. */
const MAX_WAITING = 128;

/**
 * One attempt at a change whose paths are locked: examine, plan, stage, record, sync, commit. A failure before the
 * commit leaves the files unchanged and no temporary files.
 */
export class ChangeAttempt {
  readonly #parts: ChangeParts;
  readonly #request: ChangeRequest;
  readonly #folders: OpenFolders;
  readonly #log: ChangeLog;
  readonly #syncs = new Syncs();
  readonly #undo_id: string;
  readonly #staged: { readonly file: Staged; readonly made: readonly string[] }[] = [];
  /** Temporary files and backups that may exist. */
  readonly #temporaryFiles: { readonly target: Target; readonly name: string }[] = [];
  readonly #packed: Packed[] = [];
  readonly #createdFolders: string[] = [];
  /** Folders to remove together with a file, innermost first. */
  readonly #foldersToRemove: { readonly target: Target; readonly folders: readonly string[] }[] = [];
  /** The log contains the change, so its outcome must be logged too. */
  #isRecorded = false;
  #isCommitted = false;

  constructor(parts: ChangeParts, request: ChangeRequest) {
    this.#parts = parts;
    this.#request = request;
    this.#folders = new OpenFolders(request.workspace);
    this.#log = parts.logs.enter();
    this.#undo_id = makeId("undo", parts.clock()); // made after the log's id: see `findRecords`
  }

  /** Call it once. Throws `ConcurrentChangeError` if the change must be attempted again. */
  async run(touches: readonly ResolvedTouch[], plan: ChangePlan): Promise<FilesChange> {
    try {
      const targets = touches.map(({ path, real }) => this.#examine(path, real));
      const planned = checkPlan(await plan(targets.map(asBefore)), targets, this.#request.touches);
      for (const { target, change } of planned) await this.#stage(target, change);
      return await this.#commit();
    } catch (error) {
      this.#cleanUp(error);
      throw error;
    } finally {
      this.#close();
    }
  }

  #examine(path: string, real: string): Target {
    const { workspace, signal } = this.#request;
    return new Target(path, real, {
      folders: this.#folders,
      workspace,
      signal,
      edit_limit_bytes: this.#parts.limit_bytes,
    });
  }

  async #stage(target: Target, change: FileChange): Promise<void> {
    const { objects, limit_bytes } = this.#parts;
    try {
      const made = "remove" in change ? [] : this.#createFolders(target);
      const file = await stage(target, change, {
        log: this.#log,
        objects,
        syncs: this.#syncs,
        signal: this.#request.signal,
        keep_limit_bytes: limit_bytes,
        packed: this.#packed,
        onTemporary: (target, name) => this.#temporaryFiles.push({ target, name }),
      });
      if (file !== undefined) this.#staged.push({ file, made });
      if (file !== undefined && "remove" in change)
        this.#foldersToRemove.push({ target, folders: change.folders ?? [] });
      if (this.#syncs.count >= MAX_WAITING) await this.#syncs.run();
    } catch (error) {
      throw convertSystemError(error, target.path, "change");
    }
  }

  /** Commits the change. After the commit only recording the outcome can still fail. */
  async #commit(): Promise<FilesChange> {
    if (this.#staged.length === 0) return { files: [], undo_id: undefined };
    const committing = this.#committing();
    const files = this.#staged.map(({ file, made }) => changedFileOf(file, made));
    await this.#record(committing, files);
    this.#request.signal.throwIfAborted();
    commitFiles(committing, this.#folders);
    this.#isCommitted = true;
    const problem = await this.#syncFolders(committing);
    for (const { target, backup } of committing) if (backup !== null) removeIfExists(target, backup);
    this.#removeEmptied();
    this.#log.end(this.#undo_id, "done");
    if (problem !== undefined) throw this.#notDurable(files, problem);
    const isKept = files.some(({ not_kept }) => not_kept !== true);
    return { files, undo_id: isKept ? this.#undo_id : undefined };
  }

  /** Removes what this attempt created. What cannot be removed now is recorded and swept after this process ends. */
  #cleanUp(error: unknown): void {
    if (error instanceof PartialChangeError) this.#log.markPartial();
    if (this.#isCommitted || error instanceof PartialChangeError) return;
    for (const { target, name } of this.#temporaryFiles) removeIfExists(target, name);
    for (const folder of this.#createdFolders.toReversed()) this.#removeFolder(folder, folder);
    if (this.#isRecorded) this.#log.end(this.#undo_id, "failed");
  }

  #close(): void {
    this.#syncs.close();
    this.#folders.close();
    this.#log.leave();
  }

  #createFolders({ folder, path }: Target): string[] {
    const missing = this.#folders.missing(folder, path);
    if (missing.length === 0) return [];
    this.#isRecorded = true;
    this.#log.append({ making: missing, undo_id: this.#undo_id });
    const made: string[] = [];
    for (const each of missing) {
      if (!this.#folders.make(each, path)) continue;
      made.push(each);
      this.#createdFolders.push(each);
    }
    if (this.#folders.find(folder, path) === undefined) throw new ConcurrentChangeError(path);
    return made;
  }

  /** Best effort, after the commit: a folder that still contains something stays. */
  #removeEmptied(): void {
    for (const { target, folders } of this.#foldersToRemove) {
      for (const folder of folders) {
        if (!target.real.startsWith(`${folder}/`) || !this.#removeFolder(folder, target.path)) break;
      }
    }
  }

  #removeFolder(folder: string, path: string): boolean {
    try {
      if (this.#folders.find(dirname(folder), path) === undefined) return false;
      rmdirSync(this.#folders.at(dirname(folder), basename(folder)));
      return true;
    } catch {
      return false; // not empty, or not writable
    }
  }

  /** A single file changes atomically; only with several files a rollback may be needed. */
  #committing(): CommitFile[] {
    const isAlone = this.#staged.length === 1;
    return this.#staged.map(({ file }) => {
      const backup = isAlone || file.before === null ? null : this.#log.temporaryName(file.target.folder, "old");
      if (backup !== null) this.#temporaryFiles.push({ target: file.target, name: backup });
      return { ...file, backup };
    });
  }

  async #record(committing: readonly CommitFile[], files: readonly ChangedFile[]): Promise<void> {
    const { run_id, tool_call_id } = this.#request;
    const ts = new Date(this.#parts.clock()).toISOString();
    const staged = committing.map(({ target, after_inode, backup }) => ({
      before_inode: target.stats === undefined ? null : String(target.stats.ino),
      after_inode,
      backup,
    }));
    this.#isRecorded = true;
    try {
      const change = { undo_id: this.#undo_id, run_id, tool_call_id, ts, files };
      await this.#log.store({ change, staged, packed: this.#packed }, this.#syncs);
      await this.#request.recorded();
    } catch (error) {
      throw convertSystemError(error, files[0]?.path ?? "", "change");
    }
  }

  async #syncFolders(committing: readonly CommitFile[]): Promise<unknown> {
    const folders = new Set(committing.map(({ target }) => target.folder));
    for (const folder of this.#createdFolders) folders.add(folder).add(dirname(folder));
    const syncs = new Syncs();
    for (const folder of folders) {
      const fd = this.#folders.fdOf(folder);
      if (fd !== undefined) syncs.addOpen(fd);
    }
    try {
      // The thread pool about doubles the latency on a fast disk; that pays off only if other changes can run
      // meanwhile.
      if (this.#parts.isAlone()) syncs.runAtOnce();
      else await syncs.run();
    } catch (error) {
      return error;
    }
  }

  #notDurable(files: readonly ChangedFile[], problem: unknown): unknown {
    if (!isSystemError(problem)) return problem;
    const names = files.map(({ path }) => `"${path}"`).join(", ");
    return new ToolError(
      "IOError",
      `Changed ${names}, but fsync of the folder failed (${reasonOf(problem)}): a power loss may revert it`,
      { undo_id: this.#undo_id, paths: files.map(({ path }) => path) },
      problem,
    );
  }
}

function removeIfExists(target: Target, name: string): void {
  try {
    unlinkSync(target.at(name));
  } catch {
    // Not created yet, or already renamed into place. A file that cannot be removed is swept after this process ends.
  }
}
