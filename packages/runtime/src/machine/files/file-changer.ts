import type { Changed } from "../../contract/context.ts";
import type { Clock } from "../../contract/host.ts";
import type {
  ChangedEntry,
  KeptRevert,
  Restored,
  RestoreItem,
  RestoreRequest,
  UndoKeeper,
} from "../../contract/undo.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import { ToolError } from "../../protocol/errors.ts";
import { makeId } from "../../protocol/ids.ts";
import type { ChangeParts, ChangeRequest } from "./attempt.ts";
import { changeOnce, declaredFor } from "./change-once.ts";
import type { Plan, Wish } from "./change-once.ts";
import { ChangeLogs } from "./change-log.ts";
import { ChangedMeanwhile } from "./changed-meanwhile.ts";
import { leaveLocks } from "./lock-files.ts";
import { PathLocks } from "./path-locks.ts";
import { pause } from "./pause.ts";
import { recordChange } from "./record-change.ts";
import type { OthersChange, Recorded, RecordRequest } from "./record-change.ts";
import { recoverChanges } from "./recover.ts";
import { restore } from "./restore.ts";
import { makeStateFolders, stateFolders } from "./state-folders.ts";
import { Syncs } from "./syncs.ts";
import { isSystemError, reasonOf } from "./system-error.ts";
import { takeBack } from "./take-back.ts";
import type { Intruder, TakenBack, TakeBackOptions } from "./take-back.ts";
import { openKept } from "./kept-reader.ts";
import { createUndoLog } from "./undo-log.ts";
import { UndoObjects } from "./undo-objects.ts";

export interface FileChangerOptions {
  readonly state_dir: string;
  readonly clock: Clock;
  /** What undo may restore, and a recovery put in order. */
  readonly workspace: WorkspaceContext;
  /** The largest old content that is kept for undo, and the largest file that is edited in memory. */
  readonly limit_bytes?: number;
}

/** Changes files for all calls of a runtime. The caller runs `recoverChanges` before the first change, and closes it. */
export interface FileChanger extends UndoKeeper {
  /** See `ToolFiles.change`. */
  change(request: ChangeRequest, paths: readonly string[], plan: Plan): Promise<Changed>;
  /** Puts on record what somebody else did to files, so that it is taken back like a change of ours. */
  record(request: RecordRequest, changes: readonly OthersChange[]): Promise<Recorded>;
  /** Puts back, or removes, what nobody may change unasked. Never throws for one of them: what went wrong is told. */
  takeBack(intruders: readonly Intruder[], options: TakeBackOptions): Promise<readonly TakenBack[]>;
  /** Tells of every file that is about to change and of what became of it, until the function that it gives is called. */
  watch(watcher: ChangeWatcher): () => void;
  /** Waits for changes that are under way. */
  close(): Promise<void>;
}

interface ChangeWatcher {
  /** Real paths. */
  begins(reals: readonly string[]): void;
  ended(files: readonly ChangedEntry[]): void;
}

const LIMIT_BYTES = 64 << 20;

/** A lock costs a file. Each path is compared again right before it is restored, with or without one. */
const MAX_LOCKED = 512;

/** How often a change is planned anew because somebody else changed the files, before that is told. */
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

  async change(request: ChangeRequest, paths: readonly string[], plan: Plan): Promise<Changed> {
    return await this.#track(async () => {
      const wanted = paths.map((path) => declaredFor(path, request.touches));
      const reals = wanted.map(({ real }) => real);
      return await this.#holding(reals, request.signal, () => tryToChange(this.#parts, request, { wanted, plan }));
    });
  }

  async restore(request: RestoreRequest, items: readonly RestoreItem[]): Promise<Restored> {
    const { state_dir, workspace } = this.#options;
    const parts = { ...this.#parts, workspace, openKept: openKept.bind(undefined, state_dir, this.#parts.objects) };
    const reals = items.map(({ real }) => real);
    return await this.#track(() => this.#holding(reals, request.signal, () => restore(parts, request, items)));
  }

  async keepRevert(kept: KeptRevert): Promise<string> {
    return await this.#track(() => keepRevert(this.#parts, kept));
  }

  async record(request: RecordRequest, changes: readonly OthersChange[]): Promise<Recorded> {
    return await this.#track(() => recordChange(this.#parts, request, changes));
  }

  async takeBack(intruders: readonly Intruder[], options: TakeBackOptions): Promise<readonly TakenBack[]> {
    return await this.#track(() => takeBack(this.#parts.logs, intruders, options));
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

  /** Changes files while nobody else who works with this state folder does. */
  async #holding<T extends { readonly files: readonly ChangedEntry[] }>(
    reals: readonly string[],
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T> {
    // The log comes first: where there is a lock of a dead process, there is the log that says what it left.
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
      throw isSystemError(error) ? stateTrouble(error, state_dir) : error;
    } finally {
      this.#running.delete(promise);
      resolve(undefined);
    }
  }
}

/** What concerns the files themselves is told with their names; the rest is the runtime's own. */
function stateTrouble(error: unknown, state_dir: string): ToolError {
  return new ToolError(
    "IOError",
    `Cannot change files: the state folder "${state_dir}" cannot be worked with (${reasonOf(error)}), so nothing was changed`,
    { state_dir, reason: (error as NodeJS.ErrnoException).code },
    error,
  );
}

async function tryToChange(parts: ChangeParts, request: ChangeRequest, wish: Wish): Promise<Changed> {
  for (let tries = 1; ; tries++) {
    try {
      return await changeOnce(parts, request, wish);
    } catch (error) {
      if (!(error instanceof ChangedMeanwhile)) throw error;
      if (tries >= MAX_TRIES) {
        throw new ToolError(
          "Stale",
          `Cannot change "${error.path}": somebody else changed it each of the ${tries} times that it was tried`,
          { path: error.path },
          error,
        );
      }
      await pause(2 ** tries, request.signal);
    }
  }
}

/** On the disk when this is done. */
async function keepRevert({ logs, clock }: ChangeParts, kept: KeptRevert): Promise<string> {
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
