import type { WorkspaceContext } from "../../policy/decide.ts";
import type { Command } from "../../contract/processes.ts";
import { decodeKey } from "../system/keys.ts";
import type { CommandChanges, ChangeDetection } from "../../contract/command-changes.ts";
import type { TouchedLookup } from "./describe-differences.ts";
import type { FileChanger } from "../files/file-changer.ts";
import { GitTrees } from "../git/git-trees.ts";
import { ContentStore } from "../tree/content-store.ts";
import { fingerprintFolders } from "./skipped-folders.ts";
import type { FolderFingerprints } from "./skipped-folders.ts";
import { takeSnapshot } from "./take-snapshot.ts";
import { contentsIn, laterContents } from "./compare-snapshots.ts";
import { OpenedFolders } from "./opened-folders.ts";
import { takeTurn } from "./command-turns.ts";
import type { CommandTurn } from "./command-turns.ts";
import { settleCommand } from "./settle-command.ts";
import { SnapshotStore } from "./snapshot-store.ts";
import { approvedPaths, changesOfOthers } from "./change-authors.ts";
import { isFileVersion } from "../../contract/versions.ts";
import { leftBy, TouchedFiles } from "./touched-files.ts";
import type { TouchedFile } from "./touched-files.ts";
import type { TreeSnapshot } from "../tree/tree-snapshot.ts";
import { TREE_LIMITS } from "../tree/tree-limits.ts";
import type { TreeLimits } from "../tree/tree-limits.ts";

interface CommandWatchOptions {
  readonly state_dir: string;
  readonly changer: FileChanger;
  readonly workspace: WorkspaceContext;
  /** Paths are shown relative to it. */
  readonly cwd: string;
  /** Commands of one session (such as a chat) may see each other's file names. Default: the run. */
  readonly session?: string | undefined;
  readonly limits?: Partial<TreeLimits>;
}

export interface WatchRequest {
  readonly run_id: string;
  readonly tool_call_id: string;
  /** Aborts the snapshot before the command; the snapshot after it always runs. */
  readonly signal: AbortSignal;
  /** Resolves when the start of the call is on the disk. Nothing is reverted or recorded before that. */
  readonly recorded: () => Promise<void>;
  /** The process outlives the call: its changes are listed, but cannot be undone. */
  readonly background?: boolean;
  /** Run-later files that the command may change. All others are read-only for it in a sandbox. */
  readonly opens?: Command["opens"];
  /** Paths that rules close to the command. Contents of hidden paths are neither read nor stored. */
  readonly closes?: Command["closes"];
  /** A user approved changes of run-later files or new files at closed paths: they are not reverted. */
  readonly confirmed?: boolean;
}

/** Detects what commands change below the roots. The caller closes it. */
export interface CommandWatch {
  before(request: WatchRequest): Promise<ChangeDetection>;
  /** Snapshots take less time from now on: the caller waits for many commands to end at once. */
  hurry(): void;
  close(): void;
}

/** Time limit of a hurried snapshot: enough for 50,000 known files. */
const HURRY_MS = 250;

export function createCommandWatch(options: CommandWatchOptions): CommandWatch {
  return new Watch(options);
}

/** A running command. */
interface Running {
  readonly turn: CommandTurn;
  readonly isBackground: boolean;
  /** Changes of other calls after this position are not its own, see `TouchedFiles`. */
  readonly position: number;
  /** The snapshot before the command, once it is complete. */
  before: TreeSnapshot | undefined;
  leftOut: FolderFingerprints;
  overlapped: boolean;
}

interface SnapshotPair {
  readonly before: TreeSnapshot;
  readonly after: TreeSnapshot;
  /** Position at which the snapshot after the command began, see `TouchedFiles`. */
  readonly position: number;
}

class Watch implements CommandWatch {
  readonly #options: CommandWatchOptions;
  #limits: TreeLimits;
  readonly #contents: ContentStore;
  readonly #stored: SnapshotStore;
  readonly #git: GitTrees;
  readonly #heavy = new Map<string, number>();
  readonly #running = new Set<Running>();
  readonly #touched = new TouchedFiles();
  /** Serializes commands that end at once: the second knows what the first reported. */
  #turn: Promise<unknown> = Promise.resolve();
  readonly #stopWatching: () => void;
  /** The latest snapshot: files unchanged since then are neither read nor stored again. */
  #latest: TreeSnapshot | undefined;

  constructor(options: CommandWatchOptions) {
    this.#options = options;
    this.#limits = { ...TREE_LIMITS, ...options.limits };
    this.#contents = new ContentStore(options.state_dir);
    this.#stored = new SnapshotStore(options.state_dir, this.#contents);
    this.#git = new GitTrees(options.state_dir, options.workspace.home);
    this.#stopWatching = options.changer.watch({
      begins: (reals) => this.#touch(reals.map((real) => [real, undefined])),
      ended: (files) => this.#touch(files.map(({ real, after }) => [real, isFileVersion(after) ? after.sha256 : null])),
    });
  }

  async before(request: WatchRequest): Promise<ChangeDetection> {
    this.#makeRoom();
    const { state_dir, session = request.run_id, workspace } = this.#options;
    const { background = false, signal } = request;
    const turn = await takeTurn(state_dir, { session, background, signal, agreed: approvedPaths(request, workspace) });
    const own: Running = {
      turn,
      isBackground: request.background === true,
      position: this.#touched.position,
      before: undefined,
      leftOut: new Map(),
      overlapped: this.#running.size > 0,
    };
    for (const other of this.#running) other.overlapped = true;
    this.#running.add(own);
    const drop = (): void => {
      turn.end();
      this.#running.delete(own);
      if (this.#running.size === 0) this.#touched.clear();
    };
    try {
      if (turn.isAlone()) this.#git.sweep();
      const before = await this.#scan(request, this.#latest, { turn });
      own.before = before;
      own.leftOut = await fingerprintFolders(before);
      await this.#store(request, own, before);
      return { after: () => this.#inTurn(() => this.#after(request, own, before)).finally(drop), drop };
    } catch (error) {
      drop();
      throw error;
    }
  }

  /** Stores the snapshot, so that the next start can find the changes if this process is killed. */
  async #store(request: WatchRequest, { turn, leftOut }: Running, before: TreeSnapshot): Promise<void> {
    const { run_id, tool_call_id, background, closes, opens, confirmed = false } = request;
    const { cwd, workspace } = this.#options;
    if (background === true) return;
    const isOnly = this.#running.size === 1;
    const look = await this.#stored.store(before, { id: turn.id, leftOut, closes, isOnly });
    const { roots, sandbox } = workspace;
    turn.note({ run_id, tool_call_id, cwd, roots, sandbox, confirmed, ...(opens && { opens }), ...(look && { look }) });
  }

  hurry(): void {
    this.#limits = { ...this.#limits, look_ms: Math.min(this.#limits.look_ms, HURRY_MS) };
  }

  close(): void {
    this.#stopWatching();
    this.#stored.close();
    this.#contents.clear();
    this.#git.close();
  }

  /**
   * Drops stored contents of files that are long gone. Commands that run for hours need only the stored contents of
   * run-later files.
   */
  #makeRoom(): void {
    if (!this.#contents.isLarge && this.#contents.problem === undefined) return;
    const needed = new Set(this.#latest === undefined ? [] : contentsIn(this.#latest));
    for (const { isBackground, before } of this.#running) {
      if (!isBackground || before === undefined) return;
      for (const sha256 of laterContents(before)) needed.add(sha256);
    }
    if (this.#contents.isMostlyWaste(needed)) this.#contents.keepOnly(needed);
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {}); // reported to the caller of this turn
    return await result;
  }

  /** Tells all other running commands about these files. */
  #touch(files: readonly TouchedFile[], by?: Running): void {
    const others = [...this.#running].filter((each) => each !== by);
    if (others.length > 0) this.#touched.add(files, () => others.map(({ before }) => before));
  }

  async #scan(
    { background, signal, closes, opens }: WatchRequest,
    previous: TreeSnapshot | undefined,
    { opened, turn }: { readonly opened?: OpenedFolders; readonly turn?: CommandTurn },
  ): Promise<TreeSnapshot> {
    const { workspace } = this.#options;
    const isAfter = opened !== undefined;
    const snapshot = await takeSnapshot({
      workspace,
      limits: this.#limits,
      contents: this.#contents,
      heavy: this.#heavy,
      previous,
      isAfter,
      opened,
      keeps: background !== true,
      ...(closes === undefined ? {} : { closes }),
      keepsPackages: workspace.sandbox !== "none" && opens?.later !== true && (opens?.paths ?? []).length === 0,
      git: this.#git,
      isAlone: turn?.isAlone() === true,
      // Its changes have to be known, even if the command was aborted.
      signal: isAfter ? new AbortController().signal : signal,
    });
    if (previous === undefined && background !== true) this.#git.finish();
    // A snapshot that read nothing would force the next one to read everything.
    if (background !== true) this.#latest = snapshot;
    return snapshot;
  }

  async #after(request: WatchRequest, own: Running, before: TreeSnapshot): Promise<CommandChanges> {
    const { position } = this.#touched;
    const opened = new OpenedFolders();
    try {
      const after = await this.#scan(request, before, { opened });
      await request.recorded();
      return await this.#settle(request, own, { before, after, position });
    } finally {
      opened.close();
    }
  }

  async #settle(
    request: WatchRequest,
    own: Running,
    { before, after, position }: SnapshotPair,
  ): Promise<CommandChanges> {
    const parts = { ...this.#options, contents: this.#contents, limits: this.#limits };
    const settled = await settleCommand(parts, {
      request,
      before,
      after,
      leftOut: own.leftOut,
      time: { from: own.turn.from, others: own.turn.others() },
      touched: (count) => this.#touchedSince(own, request, { before, count }),
      overlapped: own.overlapped,
    });
    // Files touched since the snapshot differ from what it saw.
    const newer = this.#touched.since(position);
    this.#touch(
      settled.own.flatMap(leftBy).filter(([real]) => !newer.has(real)),
      own,
    );
    this.#touch(
      settled.reverted
        .filter(({ outcome }) => outcome !== "stays")
        .map(({ entry }) => [decodeKey(entry.key), entry.before?.sha256 ?? null]),
      own,
    );
    return settled.changes;
  }

  /** Changes of other calls since the command began: of this runtime, and of others that share the state folder. */
  #touchedSince(
    { position, turn }: Running,
    { run_id }: WatchRequest,
    { before, count }: { readonly before: TreeSnapshot; readonly count: number },
  ): TouchedLookup {
    const near = this.#touched.since(position);
    if (count === 0) return near;
    const far = new Map(changesOfOthers(this.#options.state_dir, { from: turn.from, run_id, before }));
    return {
      has: (real) => near.has(real) || far.has(real),
      get: (real) => (near.has(real) ? near.get(real) : far.get(real)),
    };
  }
}
