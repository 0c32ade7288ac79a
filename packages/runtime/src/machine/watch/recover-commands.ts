import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { PlaceJudge } from "../../contract/processes.ts";
import type { UndoRecord } from "../../contract/undo.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { FileChanger } from "../files/file-changer.ts";
import { tryLockAnew, unlock } from "../files/lock-files.ts";
import { pause } from "../files/pause.ts";
import { lifeOf } from "../files/process-owner.ts";
import { makeStateFolders, stateFolders } from "../files/state-folders.ts";
import { isSystemError, reasonOf } from "../files/system-error.ts";
import { GitTrees } from "../git/git-trees.ts";
import { folderOf, keyOf, nameOf } from "../search/keys.ts";
import { findKilled } from "./command-turns.ts";
import type { CommandNote, KilledCommand } from "./command-turns.ts";
import { lookAtTree } from "./look-at-tree.ts";
import { OpenedFolders } from "./opened-folders.ts";
import { LOOK_FILE, readStoredLook } from "./read-stored-look.ts";
import type { StoredLook } from "./read-stored-look.ts";
import { settleCommand } from "./settle-command.ts";
import { TREE_LIMITS } from "./tree-limits.ts";
import { changesOfOthers } from "./whose-changes.ts";

interface RecoverPlace {
  readonly state_dir: string;
  readonly workspace: WorkspaceContext;
  /** Called where there is something to record. */
  readonly loadChanger: () => Promise<FileChanger>;
}

interface RecoverOptions extends RecoverPlace {
  readonly changer: FileChanger;
}

const PAUSE_MS = 5;

/**
 * Puts on record what commands changed whose process was killed, so that it can be undone. Where that is not known any
 * more the record says so, and undo of the run fails with it. Never throws for one of them.
 */
export async function recoverCommands(place: RecoverPlace): Promise<void> {
  const { state_dir } = place;
  makeStateFolders(state_dir);
  for (const killed of findKilled(state_dir)) {
    await recoverOnce(killed, { ...place, changer: await place.loadChanger() });
  }
  if (findKilled(state_dir).length === 0) removeLooks(stateFolders(state_dir).looks);
}

/** Processes that start at the same time wait for the one that recovers. */
async function recoverOnce(killed: KilledCommand, options: RecoverOptions): Promise<void> {
  const lock = join(stateFolders(options.state_dir).locks, `recover-${killed.id}`);
  const isLeft = (): boolean => findKilled(options.state_dir).some(({ id }) => id === killed.id);
  while (isLeft()) {
    if (tryLockAnew(lock)) {
      try {
        if (isLeft()) await recover(killed, options);
        return;
      } finally {
        unlock(lock);
      }
    }
    await pause(PAUSE_MS, new AbortController().signal);
  }
}

async function recover(killed: KilledCommand, options: RecoverOptions): Promise<void> {
  const { command } = killed;
  // Without it the command had not begun, or it was one in the background, which cannot be undone.
  if (command !== undefined && !(await isRecorded(killed, command, options))) {
    const problem = await tryToSettle(killed, command, options);
    if (problem !== undefined) await recordUnknown(command, problem, options);
  }
  killed.forget();
}

/** It was killed when what it changed was on record already. */
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
  if (command.look === undefined) return "what was there before could not be stored";
  if (command.roots.join("\0") !== workspace.roots.join("\0")) return "the roots are other ones by now";
  const git = new GitTrees(state_dir, workspace.home);
  let stored: StoredLook | undefined;
  try {
    stored = readStoredLook({ state_dir, name: command.look, id: killed.id, git });
    if (stored === undefined) return "what was there before is not stored any more";
    await settle({ killed, command, stored, git }, options);
    return undefined;
  } catch (error) {
    if (error instanceof ToolError) return error.message;
    if (isSystemError(error)) return `what was there before cannot be compared (${reasonOf(error)})`;
    if (error instanceof SyntaxError || error instanceof TypeError) return "what was stored of it is damaged";
    throw error;
  } finally {
    stored?.contents.release();
    git.close();
  }
}

interface Settling {
  readonly killed: KilledCommand;
  readonly command: CommandNote;
  readonly stored: StoredLook;
  readonly git: GitTrees;
}

async function settle({ killed, command, stored, git }: Settling, options: RecoverOptions): Promise<void> {
  const { state_dir, changer } = options;
  const { run_id, tool_call_id, cwd, confirmed, opens, sandbox } = command;
  const workspace = { ...options.workspace, sandbox };
  const { look: before, leftOut, contents } = stored;
  const closes = stored.closed.size === 0 ? {} : { closes: judgeOf(stored) };
  const opened = new OpenedFolders();
  try {
    const after = await lookAtTree({
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
function judgeOf({ closed, look }: StoredLook): PlaceJudge {
  const isSeen = (key: string, isFolder: boolean): boolean => {
    if (isFolder) return look.folders.has(key);
    const entry = look.folders.get(folderOf(key))?.entries.get(nameOf(key));
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

/** Looks of processes that cannot be seen, those of other containers, are of no use any more after this time. */
const UNSEEN_MS = 24 * 3_600_000;

/** Of processes that are gone. */
function removeLooks(folder: string): void {
  for (const name of readdirSync(folder)) {
    const owner = LOOK_FILE.exec(name)?.groups?.["owner"];
    const life = owner === undefined ? "alive" : lifeOf(owner);
    const { mtimeMs = Infinity } = statSync(join(folder, name), { throwIfNoEntry: false }) ?? {};
    const isLeft = life === "gone" || (life === "unseen" && Date.now() - mtimeMs > UNSEEN_MS);
    if (isLeft) rmSync(join(folder, name), { force: true });
  }
}
