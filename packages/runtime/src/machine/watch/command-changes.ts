import type { WorkspaceContext } from "../../policy/decide.ts";
import type { Command } from "../../contract/processes.ts";
import { decodeKey } from "../search/keys.ts";
import type { CommandChanges, CommandLook } from "../../contract/command-changes.ts";
import type { Touched } from "./describe-changes.ts";
import type { FileChanger } from "../files/file-changer.ts";
import { GitTrees } from "../git/git-trees.ts";
import { KeptContents } from "./kept-contents.ts";
import { markLeftOut } from "./left-out.ts";
import type { LeftOutMarks } from "./left-out.ts";
import { lookAtTree } from "./look-at-tree.ts";
import { contentsIn, laterContents } from "./look-contents.ts";
import { OpenedFolders } from "./opened-folders.ts";
import { takeTurn } from "./command-turns.ts";
import type { CommandTurn } from "./command-turns.ts";
import { settleCommand } from "./settle-command.ts";
import { StoredLooks } from "./stored-looks.ts";
import { agreedTo, changesOfOthers } from "./whose-changes.ts";
import { isFileVersion } from "../../contract/versions.ts";
import { leftBy, TouchedFiles } from "./touched-files.ts";
import type { TouchedFile } from "./touched-files.ts";
import type { TreeLook } from "./tree-entry.ts";
import { TREE_LIMITS } from "./tree-limits.ts";
import type { TreeLimits } from "./tree-limits.ts";

interface CommandWatchOptions {
  readonly state_dir: string;
  readonly changer: FileChanger;
  readonly workspace: WorkspaceContext;
  /** Paths are shown relative to it. */
  readonly cwd: string;
  /** Whose commands may learn of each other's files, such as those of a chat. Default: those of a run. */
  readonly session?: string | undefined;
  readonly limits?: Partial<TreeLimits>;
}

export interface WatchRequest {
  readonly run_id: string;
  readonly tool_call_id: string;
  /** Heeded while looking before the command; what it changed is looked for in any case. */
  readonly signal: AbortSignal;
  /** Resolves when the start of the call is on the disk. Nothing is taken back or put on record before that. */
  readonly recorded: () => Promise<void>;
  /** It goes on after the call: what changes is listed, and cannot be undone. */
  readonly background?: boolean;
  /** What of the files that run later the command may change. All others are read-only for it in a sandbox. */
  readonly opens?: Command["opens"];
  /** What rules close to it. Contents of what they hide are neither read nor kept. */
  readonly closes?: Command["closes"];
  /** A person agreed that it changes files that run later, or makes files that are closed: they are left as they are. */
  readonly confirmed?: boolean;
}

/** Finds out what commands do to the files below the roots. The caller closes it. */
export interface CommandWatch {
  before(request: WatchRequest): Promise<CommandLook>;
  /** Looks take less time from now on: somebody waits for the end of many commands at once. */
  hurry(): void;
  close(): void;
}

/** In a hurry: enough for 50,000 files that are known. */
const HURRY_MS = 250;

export function createCommandWatch(options: CommandWatchOptions): CommandWatch {
  return new Watch(options);
}

/** A command that runs. */
interface Running {
  readonly turn: CommandTurn;
  readonly isBackground: boolean;
  /** What other calls do to files after this is not its own, see `TouchedFiles`. */
  readonly position: number;
  /** What it began with, once that was looked at. */
  before: TreeLook | undefined;
  leftOut: LeftOutMarks;
  overlapped: boolean;
}

interface BothLooks {
  readonly before: TreeLook;
  readonly after: TreeLook;
  /** When the look after began, see `TouchedFiles`. */
  readonly position: number;
}

class Watch implements CommandWatch {
  readonly #options: CommandWatchOptions;
  #limits: TreeLimits;
  readonly #contents: KeptContents;
  readonly #stored: StoredLooks;
  readonly #git: GitTrees;
  readonly #heavy = new Map<string, number>();
  readonly #running = new Set<Running>();
  readonly #touched = new TouchedFiles();
  /** Of two commands that end at once, the second finds what the first told. */
  #turn: Promise<unknown> = Promise.resolve();
  readonly #stopWatching: () => void;
  /** What has not changed since is neither read nor kept again. */
  #latest: TreeLook | undefined;

  constructor(options: CommandWatchOptions) {
    this.#options = options;
    this.#limits = { ...TREE_LIMITS, ...options.limits };
    this.#contents = new KeptContents(options.state_dir);
    this.#stored = new StoredLooks(options.state_dir, this.#contents);
    this.#git = new GitTrees(options.state_dir, options.workspace.home);
    this.#stopWatching = options.changer.watch({
      begins: (reals) => this.#touch(reals.map((real) => [real, undefined])),
      ended: (files) => this.#touch(files.map(({ real, after }) => [real, isFileVersion(after) ? after.sha256 : null])),
    });
  }

  async before(request: WatchRequest): Promise<CommandLook> {
    this.#makeRoom();
    const { state_dir, session = request.run_id, workspace } = this.#options;
    const { background = false, signal } = request;
    const turn = await takeTurn(state_dir, { session, background, signal, agreed: agreedTo(request, workspace) });
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
      const before = await this.#look(request, this.#latest, { turn });
      own.before = before;
      own.leftOut = await markLeftOut(before);
      await this.#store(request, own, before);
      return { after: () => this.#inTurn(() => this.#after(request, own, before)).finally(drop), drop };
    } catch (error) {
      drop();
      throw error;
    }
  }

  /** So that what the command changes is known to the next start, should this process be killed. */
  async #store(request: WatchRequest, { turn, leftOut }: Running, before: TreeLook): Promise<void> {
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
   * Forgets contents of files that are long gone. Commands that run for hours need no more of what is kept than files
   * that run later.
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

  /** Of use to the commands that run, other than the one that tells it. */
  #touch(files: readonly TouchedFile[], by?: Running): void {
    const others = [...this.#running].filter((each) => each !== by);
    if (others.length > 0) this.#touched.add(files, () => others.map(({ before }) => before));
  }

  async #look(
    { background, signal, closes, opens }: WatchRequest,
    previous: TreeLook | undefined,
    { opened, turn }: { readonly opened?: OpenedFolders; readonly turn?: CommandTurn },
  ): Promise<TreeLook> {
    const { workspace } = this.#options;
    const isAfter = opened !== undefined;
    const look = await lookAtTree({
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
      // Whatever ended the command, what it did has to be known.
      signal: isAfter ? new AbortController().signal : signal,
    });
    if (previous === undefined && background !== true) this.#git.finish();
    // One that read nothing would have the next one read all of it.
    if (background !== true) this.#latest = look;
    return look;
  }

  async #after(request: WatchRequest, own: Running, before: TreeLook): Promise<CommandChanges> {
    const { position } = this.#touched;
    const opened = new OpenedFolders();
    try {
      const after = await this.#look(request, before, { opened });
      await request.recorded();
      return await this.#tell(request, own, { before, after, position });
    } finally {
      opened.close();
    }
  }

  async #tell(request: WatchRequest, own: Running, { before, after, position }: BothLooks): Promise<CommandChanges> {
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
    // What was touched since the look is not as it was seen.
    const newer = this.#touched.since(position);
    this.#touch(
      settled.own.flatMap(leftBy).filter(([real]) => !newer.has(real)),
      own,
    );
    this.#touch(
      settled.taken
        .filter(({ outcome }) => outcome !== "stays")
        .map(({ intruder }) => [decodeKey(intruder.key), intruder.before?.sha256 ?? null]),
      own,
    );
    return settled.changes;
  }

  /** What other calls did since the command began: of this runtime, and of others that share the state folder. */
  #touchedSince(
    { position, turn }: Running,
    { run_id }: WatchRequest,
    { before, count }: { readonly before: TreeLook; readonly count: number },
  ): Touched {
    const near = this.#touched.since(position);
    if (count === 0) return near;
    const far = new Map(changesOfOthers(this.#options.state_dir, { from: turn.from, run_id, before }));
    return {
      has: (real) => near.has(real) || far.has(real),
      get: (real) => (near.has(real) ? near.get(real) : far.get(real)),
    };
  }
}
