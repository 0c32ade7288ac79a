import type { WorkspaceContext } from "../../policy/decide.ts";
import { isInside } from "../../paths/inside.ts";
import { ToolError } from "../../protocol/errors.ts";
import { decodeKey } from "../search/keys.ts";
import type { CommandChanges } from "../../contract/command-changes.ts";
import { compareLooks } from "./compare-looks.ts";
import type { Differences } from "./compare-looks.ts";
import { describeChanges, isDoneBy, pathFor } from "./describe-changes.ts";
import type { Described } from "./describe-changes.ts";
import type { FileChanger } from "../files/file-changer.ts";
import { describeTaken, findIntruders } from "./find-intruders.ts";
import { KeptContents } from "./kept-contents.ts";
import { lookAtTree } from "./look-at-tree.ts";
import type { OthersChange, Recorded } from "../files/record-change.ts";
import { reasonOf } from "../files/system-error.ts";
import type { Intruder, TakenBack } from "../files/take-back.ts";
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
  /** The command is known to change nothing: then nothing is looked at. */
  readonly skip?: boolean;
  /** It goes on after the call: what changes is listed, and cannot be undone. */
  readonly background?: boolean;
  /** A person agreed that it changes files that run later, or makes files that are closed: they are left as they are. */
  readonly confirmed?: boolean;
}

interface Look {
  /** To be called once, when the command is over. */
  after(): Promise<CommandChanges>;
  /** Instead, where the command never ran. */
  drop(): void;
}

/** Finds out what commands do to the files below the roots. The caller closes it. */
export interface CommandWatch {
  before(request: WatchRequest): Promise<Look>;
  close(): void;
}

const MAX_LEFT_OUT = 20;

const NOTHING: CommandChanges = { files: [], taken_back: [], left_out: [], left_out_more: 0, overlapped: false };

export function createCommandWatch(options: CommandWatchOptions): CommandWatch {
  const watch = new Watch(options);
  return {
    async before(request) {
      return request.skip === true
        ? { after: () => Promise.resolve(NOTHING), drop: () => {} }
        : await watch.before(request);
    },
    close: () => watch.close(),
  };
}

/** A command that runs: what other calls do to files meanwhile, see `Touched`. */
interface Running {
  readonly touched: Map<string, string | null | undefined>;
  overlapped: boolean;
}

class Watch {
  readonly #options: CommandWatchOptions;
  readonly #limits: TreeLimits;
  readonly #contents: KeptContents;
  readonly #heavy = new Map<string, number>();
  readonly #running = new Set<Running>();
  readonly #stopWatching: () => void;
  /** What has not changed since is neither read nor kept again. */
  #latest: TreeLook | undefined;

  constructor(options: CommandWatchOptions) {
    this.#options = options;
    this.#limits = { ...TREE_LIMITS, ...options.limits };
    this.#contents = new KeptContents(options.state_dir);
    this.#stopWatching = options.changer.watch({
      begins: (reals) => this.#touch(reals.map((real) => [real, undefined])),
      ended: (files) => this.#touch(files.map(({ real, after }) => [real, after?.sha256 ?? null])),
    });
  }

  async before(request: WatchRequest): Promise<Look> {
    const isToClear = this.#contents.isLarge || this.#contents.problem !== undefined;
    if (isToClear && this.#running.size === 0) this.#contents.clear();
    const own: Running = { touched: new Map(), overlapped: this.#running.size > 0 };
    for (const other of this.#running) other.overlapped = true;
    this.#running.add(own);
    const drop = (): void => void this.#running.delete(own);
    try {
      const before = await this.#look(request, this.#latest);
      return { after: () => this.#after(request, own, before).finally(drop), drop };
    } catch (error) {
      drop();
      throw error;
    }
  }

  close(): void {
    this.#stopWatching();
    this.#contents.clear();
  }

  #touch(files: readonly (readonly [string, string | null | undefined])[], except?: Running): void {
    for (const other of this.#running) {
      if (other !== except) for (const [real, sha256] of files) other.touched.set(real, sha256);
    }
  }

  async #look(
    { background, signal }: WatchRequest,
    previous: TreeLook | undefined,
    isAfter = false,
  ): Promise<TreeLook> {
    const { workspace } = this.#options;
    this.#latest = await lookAtTree({
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
    return this.#latest;
  }

  async #after(request: WatchRequest, own: Running, before: TreeLook): Promise<CommandChanges> {
    const { workspace, cwd } = this.#options;
    const after = await this.#look(request, before, true);
    await request.recorded();
    const found = compareLooks(before, after);
    // What another call did is told by that one.
    const differences = found.entries.filter(({ key, after: now }) => !isDoneBy(own.touched, decodeKey(key), now));
    const intruders =
      request.confirmed === true ? [] : findIntruders(differences, { before, after, roots: workspace.roots });
    const taken = await this.#takeBack(
      intruders.filter(({ key }) => !own.touched.has(decodeKey(key))),
      found,
    );
    const takenKeys = new Set(taken.map(({ intruder }) => intruder.key));
    const rest = differences.filter(({ key }) => !takenKeys.has(key));
    const told = await this.#record(
      request,
      own,
      describeChanges(rest, { ...found, ...this.#describing(request, own), after }),
    );
    this.#touch(
      taken.map(({ intruder }) => [decodeKey(intruder.key), intruder.before?.sha256 ?? null]),
      own,
    );
    const leftOut = [...after.left_out].sort(([one], [other]) => (one < other ? -1 : 1));
    return {
      ...told,
      taken_back: taken.map((each) => describeTaken(each, { workspace, cwd })),
      left_out: leftOut.slice(0, MAX_LEFT_OUT).map(([key, why]) => ({ path: pathFor(decodeKey(key), cwd), why })),
      left_out_more: Math.max(0, leftOut.length - MAX_LEFT_OUT),
      overlapped: own.overlapped,
    };
  }

  #describing({ background }: WatchRequest, { touched }: Running) {
    const { cwd } = this.#options;
    return { cwd, contents: this.#contents, limits: this.#limits, keeps: background !== true, touched };
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
  async #record(request: WatchRequest, own: Running, described: readonly Described[]) {
    const undos = described.flatMap(({ undo }) => (undo === undefined ? [] : [undo]));
    const {
      undo_id,
      files,
      problem = "its old content is not there any more",
    } = await this.#tryToRecord(request, undos);
    this.#touch(
      files.map(({ real, after }) => [real, after?.sha256 ?? null]),
      own,
    );
    const recorded = new Set(files.map(({ real }) => real));
    const told = described.map(({ change }) =>
      change.undoable && !recorded.has(change.real) ? { ...change, undoable: false, why_not: problem } : change,
    );
    return { files: told, ...(undo_id === undefined ? {} : { undo_id }) };
  }

  async #tryToRecord(request: WatchRequest, undos: readonly OthersChange[]): Promise<Recorded & { problem?: string }> {
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

function innermost(roots: readonly string[], real: string): string {
  return roots
    .filter((root) => isInside(root, real))
    .reduce((one, other) => (other.length > one.length ? other : one), "/");
}
