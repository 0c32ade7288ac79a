import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { PlaceJudge } from "../../contract/processes.ts";
import type { UndoRecord } from "../../contract/undo-keeper.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { FileChanger } from "../files/file-changer.ts";
import { tryLockOnce, unlock } from "../system/lock-files.ts";
import { pause } from "../../protocol/pause.ts";
import { lifeOf } from "../system/process-owner.ts";
import { makeStateFolders, stateFolders } from "../system/state-folders.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import { isSystemError } from "../system/system-error.ts";
import { GitTrees } from "../git/git-trees.ts";
import { folderOf, keyOf, nameOf } from "../system/keys.ts";
import { findKilled } from "./command-turns.ts";
import type { CommandNote, KilledCommand } from "./command-turns.ts";
import { takeSnapshot } from "./take-snapshot.ts";
import { OpenedFolders } from "./opened-folders.ts";
import { SNAPSHOT_FILE, readSnapshot } from "./read-snapshot.ts";
import type { StoredSnapshot } from "./read-snapshot.ts";
import { settleCommand } from "./settle-command.ts";
import { TREE_LIMITS } from "../tree/tree-limits.ts";
import { changesOfOthers } from "./change-authors.ts";

interface RecoverPlace {
  readonly state_dir: string;
  readonly workspace: WorkspaceContext;
  /** Called only where something has to be recorded. */
  readonly loadChanger: () => Promise<FileChanger>;
}

interface RecoverOptions extends RecoverPlace {
  readonly changer: FileChanger;
}

const PAUSE_MS = 5;

/**
 * Records the changes of commands whose process was killed, so that they can be undone. Where they are unknown, the
 * record says so, and undo of the run fails with that reason. Never throws because of a single command.
 */
export async function recoverCommands(place: RecoverPlace): Promise<void> {
  const { state_dir } = place;
  makeStateFolders(state_dir);
  for (const killed of findKilled(state_dir)) {
    await recoverOnce(killed, { ...place, changer: await place.loadChanger() });
  }
  if (findKilled(state_dir).length === 0) removeSnapshots(stateFolders(state_dir).looks);
}

/** Processes that start at the same time wait for the one that recovers. */
async function recoverOnce(killed: KilledCommand, options: RecoverOptions): Promise<void> {
  const lock = join(stateFolders(options.state_dir).locks, `recover-${killed.id}`);
  const isLeft = (): boolean => findKilled(options.state_dir).some(({ id }) => id === killed.id);
  while (isLeft()) {
    if (tryLockOnce(lock)) {
      try {
        if (isLeft()) await recover(killed, options);
        return;
      } finally {
        unlock(lock);
      }
    }
    await pause(PAUSE_MS);
  }
}

async function recover(killed: KilledCommand, options: RecoverOptions): Promise<void> {
  const { command } = killed;
  // Without it the command had not begun, or was a background process, which cannot be undone.
  if (command !== undefined && !(await isRecorded(killed, command, options))) {
    const problem = await tryToSettle(killed, command, options);
    if (problem !== undefined) await recordUnknown(command, problem, options);
  }
  killed.forget();
}

/** Whether its changes were recorded already when it was killed. */
async function isRecorded(
  { from }: KilledCommand,
  command: CommandNote,
  { changer }: RecoverOptions,
): Promise<boolean> {
  const isOwn = ({ tool_call_id, by_command, ts }: UndoRecord): boolean =>
    by_command === true && tool_call_id === command.tool_call_id && Date.parse(ts) >= from;
  try {
    return (await changer.undoLog.find({ run_id: command.run_id })).some(isOwn);
  } catch (error) {
    if (error instanceof ToolError && error.code === "NotFound") return false;
    throw error;
  }
}

/** Why the changes of the command cannot be determined, as a clause. */
async function tryToSettle(
  killed: KilledCommand,
  command: CommandNote,
  options: RecoverOptions,
): Promise<string | undefined> {
  const { state_dir, workspace } = options;
  if (command.look === undefined) return "the previous state could not be stored";
  if (command.roots.join("\0") !== workspace.roots.join("\0")) return "the roots have changed since";
  const git = new GitTrees(state_dir, workspace.home);
  let stored: StoredSnapshot | undefined;
  try {
    stored = readSnapshot({ state_dir, name: command.look, id: killed.id, git });
    if (stored === undefined) return "the previous state is no longer stored";
    await settle({ killed, command, stored, git }, options);
    return undefined;
  } catch (error) {
    if (error instanceof ToolError) return error.message;
    if (isSystemError(error)) return `the previous state cannot be compared (${reasonOf(error)})`;
    if (error instanceof SyntaxError || error instanceof TypeError) return "its stored state is damaged";
    throw error;
  } finally {
    stored?.contents.release();
    git.close();
  }
}

interface SettleParts {
  readonly killed: KilledCommand;
  readonly command: CommandNote;
  readonly stored: StoredSnapshot;
  readonly git: GitTrees;
}

async function settle({ killed, command, stored, git }: SettleParts, options: RecoverOptions): Promise<void> {
  const { state_dir, changer } = options;
  const { run_id, tool_call_id, cwd, confirmed, opens, sandbox } = command;
  const workspace = { ...options.workspace, sandbox };
  const { snapshot: before, leftOut, contents } = stored;
  const closes = stored.closed.size === 0 ? {} : { closes: judgeOf(stored) };
  const opened = new OpenedFolders();
  try {
    const after = await takeSnapshot({
      workspace,
      limits: TREE_LIMITS,
      contents,
      heavy: new Map(),
      previous: before,
      isAfter: true,
      keeps: true,
      ...closes,
      git,
      isAlone: false,
      keepsPackages: false,
      signal: new AbortController().signal,
      opened,
    });
    // Other changes recorded since are not its own, including those of parallel calls of its run.
    const others = new Map(changesOfOthers(state_dir, { from: killed.from, run_id: "", before }));
    await settleCommand(
      { changer, workspace, cwd, contents, limits: TREE_LIMITS },
      {
        request: { run_id, tool_call_id, confirmed, ...(opens && { opens }), ...closes },
        before,
        after,
        leftOut,
        time: killed,
        touched: () => others,
        overlapped: killed.others.length > 0,
      },
    );
  } finally {
    opened.close();
  }
}

/** Paths that rules closed to the command when it began. Hidden ones were not examined. */
function judgeOf({ closed, snapshot }: StoredSnapshot): PlaceJudge {
  const isSeen = (key: string, isFolder: boolean): boolean => {
    if (isFolder) return snapshot.folders.has(key);
    const entry = snapshot.folders.get(folderOf(key))?.entries.get(nameOf(key));
    return entry?.sha256 !== undefined || entry?.git !== undefined;
  };
  const judge: PlaceJudge["judge"] = (real, isFolder) => {
    const key = keyOf(real);
    if (!closed.has(key)) return undefined;
    return isSeen(key, isFolder) ? "read_only" : "hide";
  };
  return { key: "stored", judge, forbids: () => false, mayCloseBelow: () => true };
}

async function recordUnknown(
  { run_id, tool_call_id }: CommandNote,
  problem: string,
  { changer }: RecoverOptions,
): Promise<void> {
  const why = `its process was killed while a command ran, and ${problem}`;
  await changer.record({ run_id, tool_call_id, by_command: true, lost: [{ path: ".", why }] }, []);
}

/** Snapshots of processes that are not visible, in other containers, are removed after this time. */
const UNSEEN_MS = 24 * 3_600_000;

/** Removes the snapshots of dead processes. */
function removeSnapshots(folder: string): void {
  for (const name of readdirSync(folder)) {
    const owner = SNAPSHOT_FILE.exec(name)?.groups?.["owner"];
    const life = owner === undefined ? "alive" : lifeOf(owner);
    const { mtimeMs = Infinity } = statSync(join(folder, name), { throwIfNoEntry: false }) ?? {};
    const isLeft = life === "gone" || (life === "unseen" && Date.now() - mtimeMs > UNSEEN_MS);
    if (isLeft) rmSync(join(folder, name), { force: true });
  }
}
