import type { FilesChange } from "../../contract/context.ts";
import type { Clock } from "../../contract/host.ts";
import type {
  ChangedEntry,
  StoredRevert,
  RestoreResult,
  RestoreItem,
  RestoreRequest,
  UndoKeeper,
} from "../../contract/undo-keeper.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import { ToolError } from "../../protocol/errors.ts";
import { makeId } from "../../protocol/ids.ts";
import { ChangeAttempt } from "./change-attempt.ts";
import type { ChangeParts, ChangeRequest } from "./change-attempt.ts";
import { findDeclaredTouch } from "./change-plan.ts";
import type { ChangePlan } from "./change-plan.ts";
import { ChangeLogs } from "./change-log.ts";
import { ConcurrentChangeError } from "../system/concurrent-change.ts";
import { leaveLocks } from "../system/lock-files.ts";
import { PathLocks } from "../system/path-locks.ts";
import { pause } from "../../protocol/pause.ts";
import { recordExternalChanges } from "./external-changes.ts";
import type { ExternalChange, RecordedChanges, RecordRequest } from "./external-changes.ts";
import { recoverChanges } from "./recover-changes.ts";
import { restore } from "./restore.ts";
import { makeStateFolders, stateFolders } from "../system/state-folders.ts";
import { Syncs } from "../system/syncs.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import { isSystemError } from "../system/system-error.ts";
import { revertUnapproved } from "./revert-unapproved.ts";
import type { UnapprovedChange, RevertedChange, RevertOptions } from "./revert-unapproved.ts";
import { openContents } from "./content-reader.ts";
import { createUndoLog } from "./undo-log.ts";
import { UndoObjects } from "./undo-objects.ts";

export interface FileChangerOptions {
  readonly state_dir: string;
  readonly clock: Clock;
  /** Limits what undo may restore and what recovery may repair. */
  readonly workspace: WorkspaceContext;
  /** Maximum size of old content stored for undo, and of a file edited in memory. */
  readonly limit_bytes?: number;
}

/**
 * Changes files for all calls of a runtime. The caller runs `recoverChanges` before the first change, and closes it.
 */
export interface FileChanger extends UndoKeeper {
  /** Locks the paths, runs the plan and applies it; again if another process changed them. See `ToolFiles.change`. */
  applyPlan(request: ChangeRequest, paths: readonly string[], plan: ChangePlan): Promise<FilesChange>;
  /** Records file changes made by another process, so that they can be undone like our own. */
  record(request: RecordRequest, changes: readonly ExternalChange[]): Promise<RecordedChanges>;
  /** Restores or removes entries changed without the required approval. A failure is reported per entry, not thrown. */
  revertUnapproved(unapproved: readonly UnapprovedChange[], options: RevertOptions): Promise<readonly RevertedChange[]>;
  /** Notifies of each file before and after it changes, until the returned function is called. */
  watch(watcher: ChangeWatcher): () => void;
  /** Waits for changes in progress. */
  close(): Promise<void>;
}

interface ChangeWatcher {
  /** Real paths. */
  begins(reals: readonly string[]): void;
  ended(files: readonly ChangedEntry[]): void;
}

const LIMIT_BYTES = 64 << 20;

/** Each lock is a file. With or without a lock, every path is compared again right before it is restored. */
const MAX_LOCKED = 512;

/** How often a change is planned again because another process changed the files, before it fails. */
const MAX_TRIES = 8;

export function createFileChanger(options: FileChangerOptions): FileChanger {
  return new Changer(options);
}

class Changer implements FileChanger {
  readonly undoLog: FileChanger["undoLog"];
  readonly #options: FileChangerOptions;
  readonly #parts: ChangeParts;
  readonly #locks: PathLocks;
  readonly #running = new Set<Promise<unknown>>();
  readonly #watchers = new Set<ChangeWatcher>();
  #isReady = false;
  #isClosed = false;

  constructor(options: FileChangerOptions) {
    const { state_dir, clock, limit_bytes = LIMIT_BYTES } = options;
    const objects = new UndoObjects(state_dir);
    const isAlone = (): boolean => this.#running.size === 1;
    this.#options = options;
    this.#parts = { logs: new ChangeLogs(state_dir, clock), objects, clock, limit_bytes, isAlone };
    this.#locks = new PathLocks({ state_dir, recover: () => recoverChanges(state_dir, options.workspace) });
    this.undoLog = createUndoLog(state_dir, objects);
  }

  async applyPlan(request: ChangeRequest, paths: readonly string[], plan: ChangePlan): Promise<FilesChange> {
    return await this.#track(async () => {
      const touches = paths.map((path) => findDeclaredTouch(path, request.touches));
      const reals = touches.map(({ real }) => real);
      return await this.#holding(reals, request.signal, async () => {
        for (let tries = 1; ; tries++) {
          try {
            return await new ChangeAttempt(this.#parts, request).run(touches, plan);
          } catch (error) {
            if (!(error instanceof ConcurrentChangeError)) throw error;
            if (tries >= MAX_TRIES) throw staleAfter(tries, error);
            await pause(2 ** tries, { signal: request.signal });
          }
        }
      });
    });
  }

  async restore(request: RestoreRequest, items: readonly RestoreItem[]): Promise<RestoreResult> {
    const { state_dir, workspace } = this.#options;
    const parts = {
      ...this.#parts,
      workspace,
      openContents: openContents.bind(undefined, state_dir, this.#parts.objects),
    };
    const reals = items.map(({ real }) => real);
    return await this.#track(() => this.#holding(reals, request.signal, () => restore(parts, request, items)));
  }

  async keepRevert(kept: StoredRevert): Promise<string> {
    return await this.#track(() => keepRevert(this.#parts, kept));
  }

  async record(request: RecordRequest, changes: readonly ExternalChange[]): Promise<RecordedChanges> {
    return await this.#track(() => recordExternalChanges(this.#parts, request, changes));
  }

  async revertUnapproved(
    unapproved: readonly UnapprovedChange[],
    options: RevertOptions,
  ): Promise<readonly RevertedChange[]> {
    return await this.#track(() => revertUnapproved(this.#parts.logs, unapproved, options));
  }

  watch(watcher: ChangeWatcher): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#running);
    this.#parts.logs.close();
    if (this.#isReady) leaveLocks(stateFolders(this.#options.state_dir).locks);
  }

  /** Changes files while no other process with this state folder changes them. */
  async #holding<T extends { readonly files: readonly ChangedEntry[] }>(
    reals: readonly string[],
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T> {
    // Create the log before the locks: then every lock of a dead process has a log that says what is unfinished.
    const log = this.#parts.logs.enter();
    try {
      const changed = await this.#locks.hold(reals.length > MAX_LOCKED ? [] : reals, signal, async () => {
        for (const watcher of this.#watchers) watcher.begins(reals);
        return await work();
      });
      for (const watcher of this.#watchers) watcher.ended(changed.files);
      return changed;
    } finally {
      log.leave();
    }
  }

  async #track<T>(work: () => Promise<T>): Promise<T> {
    const { state_dir } = this.#options;
    if (this.#isClosed) throw new Error("Cannot change files: the runtime was closed");
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#running.add(promise);
    try {
      if (!this.#isReady) makeStateFolders(state_dir);
      this.#isReady = true;
      return await work();
    } catch (error) {
      throw isSystemError(error) ? stateFolderError(error, state_dir) : error;
    } finally {
      this.#running.delete(promise);
      resolve(undefined);
    }
  }
}

/** Errors about the files themselves already name them; any other error concerns the state folder. */
function stateFolderError(error: unknown, state_dir: string): ToolError {
  return new ToolError(
    "IOError",
    `Cannot change files: the state folder "${state_dir}" is unusable (${reasonOf(error)}); nothing was changed`,
    { state_dir, reason: (error as NodeJS.ErrnoException).code },
    error,
  );
}

function staleAfter(tries: number, error: ConcurrentChangeError): ToolError {
  const message = `Cannot change "${error.path}": another process changed it during each of ${tries} attempts`;
  return new ToolError("Stale", message, { path: error.path }, error);
}

/** Resolves when the data is durable. */
async function keepRevert({ logs, clock }: ChangeParts, kept: StoredRevert): Promise<string> {
  const { run_id, tool_call_id, tool, undo } = kept;
  const log = logs.enter();
  const now = clock();
  const undo_id = makeId("undo", now);
  const syncs = new Syncs();
  try {
    const ts = new Date(now).toISOString();
    log.append({ change: { undo_id, run_id, tool_call_id, ts, files: [], revert: { tool, undo } }, staged: [] });
    log.end(undo_id, "done");
    log.addTo(syncs);
    await syncs.run();
    return undo_id;
  } finally {
    syncs.close();
    log.leave();
  }
}
