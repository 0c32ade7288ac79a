import type { WorkspaceContext } from "../../policy/decide.ts";
import { isInside, pathFor } from "../../paths/inside.ts";
import { ToolError } from "../../protocol/errors.ts";
import { decodeKey } from "../search/keys.ts";
import type { CommandChanges, CommandLook } from "../../contract/command-changes.ts";
import { compareLooks } from "./compare-looks.ts";
import type { Difference, Differences } from "./compare-looks.ts";
import { describeChanges, isDoneBy } from "./describe-changes.ts";
import type { Described } from "./describe-changes.ts";
import type { FileChanger } from "../files/file-changer.ts";
import { describeTaken, findIntruders } from "./find-intruders.ts";
import { KeptContents } from "./kept-contents.ts";
import { statsOf } from "./list-folder.ts";
import { lookAtTree } from "./look-at-tree.ts";
import type { OthersChange, Recorded, RecordRequest } from "../files/record-change.ts";
import { reasonOf } from "../files/system-error.ts";
import type { Intruder, TakenBack } from "../files/take-back.ts";
import { isFileVersion } from "../../contract/versions.ts";
import { TouchedFiles } from "./touched-files.ts";
import type { TouchedFile } from "./touched-files.ts";
import type { TreeLook } from "./tree-entry.ts";
import { TREE_LIMITS } from "./tree-limits.ts";
import type { TreeLimits } from "./tree-limits.ts";

interface CommandWatchOptions {
  readonly state_dir: string;
  readonly changer: FileChanger;
  readonly workspace: WorkspaceContext;
  /** What paths are told relative to. */
  readonly cwd: string;
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

const MAX_LEFT_OUT = 20;
/** In a hurry: enough for 50,000 files that are known. */
const HURRY_MS = 250;

export function createCommandWatch(options: CommandWatchOptions): CommandWatch {
  return new Watch(options);
}

/** A command that runs. */
interface Running {
  readonly isBackground: boolean;
  /** What other calls do to files after this is not its own, see `TouchedFiles`. */
  readonly position: number;
  /** What it began with, once that was looked at. */
  before: TreeLook | undefined;
  overlapped: boolean;
}

class Watch implements CommandWatch {
  readonly #options: CommandWatchOptions;
  #limits: TreeLimits;
  readonly #contents: KeptContents;
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
    this.#stopWatching = options.changer.watch({
      begins: (reals) => this.#touch(reals.map((real) => [real, undefined])),
      ended: (files) => this.#touch(files.map(({ real, after }) => [real, isFileVersion(after) ? after.sha256 : null])),
    });
  }

  async before(request: WatchRequest): Promise<CommandLook> {
    this.#makeRoom();
    const own: Running = {
      isBackground: request.background === true,
      position: this.#touched.position,
      before: undefined,
      overlapped: this.#running.size > 0,
    };
    for (const other of this.#running) other.overlapped = true;
    this.#running.add(own);
    const drop = (): void => {
      this.#running.delete(own);
      if (this.#running.size === 0) this.#touched.clear();
    };
    try {
      const before = await this.#look(request, this.#latest);
      own.before = before;
      return { after: () => this.#inTurn(() => this.#after(request, own, before)).finally(drop), drop };
    } catch (error) {
      drop();
      throw error;
    }
  }

  hurry(): void {
    this.#limits = { ...this.#limits, look_ms: Math.min(this.#limits.look_ms, HURRY_MS) };
  }

  close(): void {
    this.#stopWatching();
    this.#contents.clear();
  }

  /** Commands that run for hours need no more of what is kept than files that run later. */
  #makeRoom(): void {
    if (!this.#contents.isLarge && this.#contents.problem === undefined) return;
    const needed = new Set<string>();
    for (const { isBackground, before } of this.#running) {
      if (!isBackground || before === undefined) return;
      for (const sha256 of laterContents(before)) needed.add(sha256);
    }
    this.#contents.keepOnly(needed);
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {}); // told to whose turn it is
    return await result;
  }

  /** Of use to the commands that run, other than the one that tells it. */
  #touch(files: readonly TouchedFile[], by?: Running): void {
    const others = [...this.#running].filter((each) => each !== by);
    if (others.length > 0) this.#touched.add(files, () => others.map(({ before }) => before));
  }

  async #look(
    { background, signal }: WatchRequest,
    previous: TreeLook | undefined,
    isAfter = false,
  ): Promise<TreeLook> {
    const { workspace } = this.#options;
    const look = await lookAtTree({
      workspace,
      limits: this.#limits,
      contents: this.#contents,
      heavy: this.#heavy,
      previous,
      isAfter,
      keeps: background !== true,
      // Whatever ended the command, what it did has to be known.
      signal: isAfter ? new AbortController().signal : signal,
    });
    // One that read nothing would have the next one read all of it.
    if (background !== true) this.#latest = look;
    return look;
  }

  async #after(request: WatchRequest, own: Running, before: TreeLook): Promise<CommandChanges> {
    const { workspace, cwd } = this.#options;
    const { position } = this.#touched;
    const after = await this.#look(request, before, true);
    await request.recorded();
    const found = compareLooks(before, after);
    const touched = this.#touched.since(own.position);
    // What another call did is told by that one.
    const differences = found.entries.filter(({ key, after: now }) => !isDoneBy(touched, decodeKey(key), now));
    const intruders =
      request.confirmed === true
        ? []
        : findIntruders(differences, { ...found, before, after, roots: workspace.roots, contents: this.#contents });
    const taken = await this.#takeBack(
      intruders.filter(({ key }) => !touched.has(decodeKey(key))),
      found,
    );
    const takenKeys = new Set(taken.map(({ intruder }) => intruder.key));
    const isThere = ({ key, after: now }: Difference): boolean =>
      now?.kind !== "directory" || statsOf(key) !== undefined;
    const rest = differences.filter((each) => !takenKeys.has(each.key) && (taken.length === 0 || isThere(each)));
    const told = await this.#record(
      request,
      describeChanges(rest, { ...this.#describing(request), touched, before, after }),
    );
    // What was touched since the look is not as it was seen.
    const newer = this.#touched.since(position);
    this.#touch(
      rest.flatMap(leftBy).filter(([real]) => !newer.has(real)),
      own,
    );
    this.#touch(
      taken
        .filter(({ outcome }) => outcome !== "stays")
        .map(({ intruder }) => [decodeKey(intruder.key), intruder.before?.sha256 ?? null]),
      own,
    );
    const leftOut = [...after.left_out].sort(([one], [other]) => (one < other ? -1 : 1));
    return {
      ...told,
      taken_back: taken.map((each) => describeTaken(each, { workspace, cwd })),
      left_out: leftOut.slice(0, MAX_LEFT_OUT).map(([key, why]) => ({ path: pathFor(decodeKey(key), cwd), why })),
      left_out_more: Math.max(0, leftOut.length - MAX_LEFT_OUT),
      overlapped: own.overlapped,
      bytes_written: rest.reduce((bytes, difference) => bytes + bytesOf(difference), 0),
    };
  }

  #describing({ background }: WatchRequest) {
    const { cwd } = this.#options;
    return { cwd, contents: this.#contents, limits: this.#limits, keeps: background !== true };
  }

  async #takeBack(intruders: readonly Intruder[], { folders_made }: Differences): Promise<readonly TakenBack[]> {
    if (intruders.length === 0) return [];
    const { changer, workspace } = this.#options;
    const rootOf = (key: string): string => innermost(workspace.roots, decodeKey(key));
    try {
      return await changer.takeBack(intruders, { contents: this.#contents, folders_made, rootOf });
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      return intruders.map((intruder) => ({ intruder, outcome: "stays", problem: error.message }));
    }
  }

  /** What cannot be put on record is told as what cannot be undone: the command has run, and what it did is to be known. */
  async #record(request: WatchRequest, described: readonly Described[]) {
    const undos = described.flatMap(({ undo }) => (undo === undefined ? [] : [undo]));
    const lost = described.flatMap(({ change: { path, why_not } }) =>
      why_not === undefined ? [] : [{ path, why: why_not }],
    );
    const {
      undo_id,
      files,
      problem = "its old content is not there any more",
    } = await this.#tryToRecord(recordOf(request, lost), undos);
    const recorded = new Set(files.map(({ real }) => real));
    const listed = described.filter(({ isListed }) => isListed);
    const told = listed.map(({ change }) =>
      change.undoable && !recorded.has(change.real) ? { ...change, undoable: false, why_not: problem } : change,
    );
    return { files: told, ...(undo_id === undefined ? {} : { undo_id }) };
  }

  async #tryToRecord(request: RecordRequest, undos: readonly OthersChange[]): Promise<Recorded & { problem?: string }> {
    if (undos.length === 0) return { undo_id: undefined, files: [] };
    try {
      return await this.#options.changer.record(request, undos);
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      const reason = reasonOf(error.cause ?? error);
      return { undo_id: undefined, files: [], problem: `what takes it back could not be kept (${reason})` };
    }
  }
}

/** As many as a record should name. */
const MAX_LOST = 100;

function recordOf({ run_id, tool_call_id }: WatchRequest, lost: NonNullable<RecordRequest["lost"]>): RecordRequest {
  const own = { run_id, tool_call_id, by_command: true as const };
  if (lost.length === 0) return own;
  return { ...own, lost: lost.slice(0, MAX_LOST), lost_more: Math.max(0, lost.length - MAX_LOST) };
}

function bytesOf({ before, after }: Difference): number {
  if (after?.kind !== "file") return 0;
  return before?.sha256 !== undefined && before.sha256 === after.sha256 ? 0 : after.size;
}

/** What a command left, as far as that can be told from what others leave. */
function leftBy({ key, after }: Difference): readonly TouchedFile[] {
  if (after !== undefined && after.sha256 === undefined) return [];
  return [[decodeKey(key), after?.sha256 ?? null]];
}

function laterContents({ folders }: TreeLook): readonly string[] {
  return [...folders.values()].flatMap(({ entries }) =>
    [...entries.values()].flatMap(({ place, sha256 }) => (place === "later" && sha256 !== undefined ? [sha256] : [])),
  );
}

function innermost(roots: readonly string[], real: string): string {
  return roots
    .filter((root) => isInside(root, real))
    .reduce((one, other) => (other.length > one.length ? other : one), "/");
}
